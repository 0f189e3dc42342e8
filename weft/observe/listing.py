"""The queries under a state path: which there are, and which one a user means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft.errors import NoSuchState, WeftError
from weft.observe.metrics import disk_use
from weft.state import Folder, Manifest, open_folder
from weft.state.documents import read_document
from weft.types import SIDES

__all__ = ["QueryLine", "batches_of", "find_query", "is_query", "list_queries", "open_state", "query_line"]


@dataclass(frozen=True)
class QueryLine:
    """One query in a few words; `trouble` says why some are missing."""

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
    """Open a state path that must be there."""
    folder = open_folder(path)
    if folder.is_file():
        raise NoSuchState.of(
            f"{path} is a file.",
            "State lies in a folder.",
            "give the path that was state= of the join (conf spark.weft.state).",
        )
    if not folder.exists(""):
        raise NoSuchState.of(
            f"There is no {path}.",
            "The first batch of a query makes it.",
            "give the path that was state= of the join (conf spark.weft.state).",
        )
    return folder


def list_queries(path: str) -> list[QueryLine]:
    """Return the queries under a state path."""
    folder = open_state(path)
    return [query_line(folder / name, name) for name in _queries(folder)]


def _queries(folder: Folder) -> list[str]:
    return [name for name in folder.names() if not name.startswith(".") and is_query(folder / name)]


def query_line(query: Folder, name: str) -> QueryLine:
    """Return one query in a few words."""
    trouble: list[str] = []
    try:
        spec = read_document(query, "spec.json")
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
        rows = sum(entry.rows for manifest in manifests for side in SIDES for entry in manifest.segments[side])
        break
    condition, window = str(spec.get("condition", "")), str(spec.get("window", ""))
    return QueryLine(name, batch, tasks, rows, disk_use(query)[1], scheme, condition, window, "; ".join(trouble))


def _manifests(query: Folder, batch: int) -> Iterator[Manifest]:
    first = Manifest.of_json(read_document(query / "0", f"{batch}.json"))
    yield first
    for task in range(1, int(first.plan["tasks"])):
        yield Manifest.of_json(read_document(query / str(task), f"{batch}.json"))


def find_query(path: str) -> Folder:
    """Return the folder of the query that a user means: itself, the only one below, or one by the start of its id."""
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
    upper = Folder(folder.system, parent)
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
