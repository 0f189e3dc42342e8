"""The queries under a state path: list them, find the one a user means, and read the contents of its folder.

Files that Weft wrote are told apart from other files. Links are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyarrow import fs

from weft.errors import NoSuchState, WeftError
from weft.observe.metrics import disk_use
from weft.state import CHECKPOINT, JOURNAL, TOLD, Folder, Manifest, open_folder, read_sealed

__all__ = [
    "Contents",
    "QueryLine",
    "batches_of",
    "contents",
    "entries",
    "find_query",
    "is_link",
    "is_query",
    "list_queries",
    "open_state",
    "query_line",
]

_DOCUMENTS = ("spec.json", "owner.json", CHECKPOINT, JOURNAL)
_FOLDERS = re.compile(rf"plans|{TOLD}|\d+")
_FILES = re.compile(
    r"\d+\.json|\d+\.metrics\.json|\d+-\d+(-[0-9a-f]{8})?\.arrow|\d+-[0-9a-f]{8}\.pack|t\d+-[0-9a-f]{16}-[0-9a-f]{16}\.json"
)
_ASIDE = re.compile(r"\.(.+)\.\d+-[0-9a-f]+")
"""What a file is called while it is written; left over where the writer was killed."""


@dataclass(frozen=True)
class QueryLine:
    """A one-line summary of a query; `trouble` says why parts of it are missing."""

    query: str
    batch: int | None
    tasks: int
    rows: int
    bytes: int
    scheme: str
    condition: str
    window: str
    trouble: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the line as JSON data."""
        return dict(self.__dict__)


def is_query(folder: Folder) -> bool:
    """Tell whether a folder is the state of one query."""
    names = folder.names()
    return "spec.json" in names or "plans" in names or ("0" in names and bool(batches_of(folder, 0)))


def batches_of(query: Folder, task: int) -> list[int]:
    """Return the batches for which a task has a manifest."""
    names = (name.removesuffix(".json") for name in (query / str(task)).names() if name.endswith(".json"))
    return sorted(int(name) for name in names if name.isdigit())


def open_state(path: str) -> Folder:
    """Open a state path that must exist."""
    folder = open_folder(path)
    if folder.is_file():
        raise NoSuchState.of(
            f"{path} is a file.",
            "State is kept in a folder.",
            "give the join's state= path (conf spark.weft.state).",
        )
    if not folder.exists(""):
        raise NoSuchState.of(
            f"There is no {path}.",
            "The first batch of a query creates it.",
            "give the join's state= path (conf spark.weft.state).",
        )
    return folder


def list_queries(path: str) -> list[QueryLine]:
    """Return the queries under a state path."""
    folder = open_state(path)
    return [query_line(folder / name, name) for name in _queries(folder)]


def _queries(folder: Folder) -> list[str]:
    return [name for name in folder.names() if not name.startswith(".") and is_query(folder / name)]


def query_line(query: Folder, name: str) -> QueryLine:
    """Return a one-line summary of a query."""
    trouble: list[str] = []
    try:
        spec = read_sealed(query, "spec.json")
    except WeftError as error:
        spec = {}
        trouble.append(str(error).splitlines()[0])
    batch, tasks, rows, scheme = None, 0, 0, ""
    for kept in reversed(batches_of(query, 0)):  # the newest one that can be read
        try:
            manifests = list(_manifests(query, kept))
        except (WeftError, KeyError, TypeError, ValueError) as error:
            trouble.append(str(error).splitlines()[0])
            continue
        batch, tasks, scheme = kept, len(manifests), str(manifests[0].plan.get("scheme", ""))
        rows = sum(entry.rows for manifest in manifests for entry in manifest.files)
        break
    condition, window = str(spec.get("condition", "")), str(spec.get("window", ""))
    _, size = disk_use(query)
    return QueryLine(name, batch, tasks, rows, size, scheme, condition, window, "; ".join(trouble))


def _manifests(query: Folder, batch: int) -> Iterator[Manifest]:
    first = Manifest.of_json(read_sealed(query / "0", f"{batch}.json"))
    yield first
    for task in range(1, int(first.plan["tasks"])):
        yield Manifest.of_json(read_sealed(query / str(task), f"{batch}.json"))


def find_query(path: str) -> Folder:
    """Return the folder of the query that a user means: the path itself, the only query below, or one by the start of its id."""
    folder = open_folder(path.rstrip("/") or path)
    if is_query(folder):
        return folder
    below = _queries(folder)
    if len(below) == 1:
        return folder / below[0]
    if below:
        hint = f"name one, such as {path.rstrip('/')}/{below[0][:8]}."
        raise NoSuchState.of(f"There are {len(below)} queries under {path}.", f"They are: {', '.join(below)}.", hint)
    parent, _, start = folder.path.rpartition("/")
    upper = replace(folder, path=parent)
    named = [name for name in _queries(upper) if start and name.startswith(start)]
    if len(named) == 1:
        return upper / named[0]
    what = f"{len(named)} queries start with {start!r}" if named else f"No state of a query at {path}"
    there_is = f"{_seen(folder)} Queries under {parent}: {', '.join(_queries(upper)) or 'none'}."
    raise NoSuchState.of(f"{what}.", there_is, "`weft state ls PATH` lists the queries under a state path.")


def _seen(folder: Folder) -> str:
    """Say what there is instead of the state of a query."""
    if folder.is_file():
        return "It is a file."
    if not folder.exists(""):
        return "There is no such folder."
    return "It holds no query." if folder.names() else "It is empty."


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
    return folder.entries()


def is_link(folder: Folder, info: Any) -> bool:
    """Tell whether an entry of a folder leads elsewhere."""
    return folder.local and Path(info.path).is_symlink()
