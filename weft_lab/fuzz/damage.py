"""Ways to harm one file of a state folder, and to change what a document says and seal it anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.kernels import checksum

__all__ = ["FORGED", "SIZE", "Edit", "harm"]

SIZE = 9
"""Bytes of an edit."""


@dataclass(frozen=True)
class Edit:
    """Which file, how, where in it, and with what."""

    file: int
    kind: int
    at: int
    with_: bytes

    @property
    def way(self) -> str:
        """Return the name of what is done."""
        return list(_WAYS)[self.kind % len(_WAYS)]


def harm(folder: Path, other: Path, edit: Edit) -> None:
    """Do one edit; `other` is the state of the same join on other rows."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".metrics.json"))
    if files:
        _WAYS[edit.way](files[edit.file % len(files)], files, other / ".", folder, edit)


def _written(file: Path, content: bytes) -> None:
    """Put another file in its place: the pages of the old one may still be mapped."""
    aside = file.with_name(".aside")
    aside.write_bytes(content)
    aside.rename(file)


def _flip(file: Path, _files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    data = bytearray(file.read_bytes())
    if data:
        data[edit.at % len(data)] ^= edit.with_[0] or 1
    _written(file, bytes(data))


def _cut(file: Path, _files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    data = file.read_bytes()
    _written(file, data[: edit.at % (len(data) + 1)])


def _insert(file: Path, _files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    data = file.read_bytes()
    at = edit.at % (len(data) + 1)
    _written(file, data[:at] + edit.with_ + data[at:])


def _fill(file: Path, _files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    """Write zeros, or a few bytes over and over, as a torn block of a disk would leave them."""
    data = file.read_bytes()
    at = edit.at % (len(data) + 1)
    stretch = len(data[at : at + 64])
    _written(file, data[:at] + (edit.with_ * 16)[:stretch] + data[at + stretch :])


def _remove(file: Path, _files: list[Path], _other: Path, _folder: Path, _edit: Edit) -> None:
    file.unlink()


def _copy(file: Path, files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    _written(file, files[edit.at % len(files)].read_bytes())


def _swap(file: Path, files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    twin = files[edit.at % len(files)]
    one, two = file.read_bytes(), twin.read_bytes()
    _written(file, two)
    _written(twin, one)


def _foreign(file: Path, _files: list[Path], other: Path, folder: Path, _edit: Edit) -> None:
    """Take the file of the same name from the other state."""
    twin = other / file.relative_to(folder)
    if twin.is_file():
        _written(file, twin.read_bytes())


def _foreign_folder(file: Path, _files: list[Path], other: Path, folder: Path, _edit: Edit) -> None:
    """Take the whole folder of a task, or of the plans, from the other state."""
    twin = other / file.parent.relative_to(folder)
    if twin.is_dir() and file.parent.parent.parent == folder:  # a whole state in place of another is whole
        shutil.rmtree(file.parent)
        shutil.copytree(twin, file.parent)


def _remove_folder(file: Path, _files: list[Path], _other: Path, folder: Path, _edit: Edit) -> None:
    if file.parent != folder:
        shutil.rmtree(file.parent)


def _older(file: Path, files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    """Take an earlier version of the same kind of file: a rollback of one file."""
    kin = [one for one in files if one.parent == file.parent and one.suffix == file.suffix]
    _written(file, kin[edit.at % len(kin)].read_bytes())


def _forge(file: Path, _files: list[Path], _other: Path, _folder: Path, edit: Edit) -> None:
    """Change a value of a document to one of another type, or take it out, and seal the document anew."""
    try:
        sealed = json.loads(file.read_bytes())
        body, version = sealed["body"], sealed["format"]
    except (ValueError, KeyError, TypeError):
        return
    places = list(_places(body))
    if not places:
        return
    held, key = places[edit.at % len(places)]
    kind = edit.with_[0] % (len(_FORGERIES) + 1)
    if kind == len(_FORGERIES):
        del held[key]
    elif type(_FORGERIES[kind]) is not type(held[key]) or kind == 0:
        held[key] = _FORGERIES[kind]
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    _written(file, f'{{"format":{version},"checksum":"{checksum(text)}","body":'.encode() + text + b"}")


_FORGERIES: tuple[Any, ...] = (
    2**64, None, 0, -1, 1, 2**31, 10**9, 1.5, "", "x", "../../x", [], [None], [0], {}, {"x": 1}, True, "0-0.arrow", "\0", 1e300,
    [[]], [[1, "0-0.arrow"]], {"left": 1, "right": 2},
)  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of JSON data that could hold something else: what holds it, and its key there."""
    entries = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, inner in entries:
        if key != "notes":  # what a scheme notes for itself has a shape of its own, and decides no pair
            yield value, key
            yield from _places(inner)


_Way = Callable[[Path, list[Path], Path, Path, Edit], None]
_WAYS: dict[str, _Way] = {
    "flip": _flip, "cut": _cut, "insert": _insert, "fill": _fill, "remove": _remove, "copy": _copy, "swap": _swap,
    "foreign": _foreign, "foreign folder": _foreign_folder, "remove folder": _remove_folder, "older": _older,
    "forge": _forge, "forge again": _forge, "forge once more": _forge,
}  # fmt: skip
FORGED = frozenset(name for name, way in _WAYS.items() if way is _forge)
"""Ways behind which a wrong answer cannot always be told from a right one."""
