"""What is in the folder of a query: what Weft wrote, and what is somebody else's. Links are not followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pyarrow import fs

from weft.state import Folder
from weft.state.checkpoints import CHECKPOINT

__all__ = ["Contents", "contents", "entries", "is_link"]

_DOCUMENTS = ("spec.json", "owner.json", CHECKPOINT)
_FOLDERS = re.compile(r"plans|\d+")
_FILES = re.compile(r"\d+\.json|\d+\.metrics\.json|\d+-\d+\.arrow")
_ASIDE = re.compile(r"\.(.+)\.\d+-[0-9a-f]+")
"""What a file is called while it is written; left over where the writer was killed."""


@dataclass(frozen=True)
class Contents:
    """The files of a query: how many, how large, when the last was written (None where the file system does not say)."""

    files: int
    bytes: int
    written: datetime | None
    aside: tuple[str, ...]
    """Left over from an interrupted write."""
    foreign: tuple[str, ...]
    """Not written by Weft: other files and folders, links."""


def contents(query: Folder) -> Contents:
    """Look at every file of a query."""
    found: list[Any] = []
    aside: list[str] = []
    foreign: list[str] = []
    for name, info in _below(query):
        above, _, last = name.rpartition("/")
        if info.type == fs.FileType.File:
            found.append(info)
        named = _ASIDE.fullmatch(last)
        if is_link(query, info) or not _ours(above, named[1] if named else last, info):
            foreign.append(name)
        elif named:
            aside.append(name)
    times = [info.mtime for info in found or [query.system.get_file_info(query.path)] if info.mtime is not None]
    total = sum(info.size or 0 for info in found)
    return Contents(len(found), total, max(times, default=None), tuple(aside), tuple(foreign))


def _below(query: Folder) -> Iterator[tuple[str, Any]]:
    """Yield what is in the folder and in its own folders; state is no deeper."""
    for info in entries(query):
        yield info.base_name, info
        if _FOLDERS.fullmatch(info.base_name) and info.type == fs.FileType.Directory and not is_link(query, info):
            for inner in entries(query / info.base_name):
                yield f"{info.base_name}/{inner.base_name}", inner


def _ours(above: str, name: str, info: Any) -> bool:
    if info.type == fs.FileType.Directory:
        return not above and bool(_FOLDERS.fullmatch(name))
    return bool(_FILES.fullmatch(name)) if above else name in _DOCUMENTS


def entries(folder: Folder) -> list[Any]:
    """Return what is directly below a folder, by name."""
    found = folder.system.get_file_info(fs.FileSelector(folder.path, allow_not_found=True))
    return sorted(found, key=lambda info: str(info.base_name))


def is_link(folder: Folder, info: Any) -> bool:
    """Tell whether an entry of a folder leads elsewhere."""
    return folder.local and Path(info.path).is_symlink()
