"""State that can be removed: queries under a state path with all their joins, whether they can continue, and their removal.

Files that are not state of a query are never touched, nor is a query whose folder contains files that Weft did not write. If it
is unclear whether a query's checkpoint still exists, it counts as present: what is deleted does not come back.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyarrow import fs

from weft.errors import NoSuchState, StateError, WeftError
from weft.observe.listing import contents, entries, is_link, is_query
from weft.state import Care, Folder, known_checkpoint, open_folder, queries_with_tables, read_sealed, remove_tables

__all__ = ["CheckpointStatus", "Leftover", "asked_for", "look_at", "remove_query", "stale_queries"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SAME = {"file", "hdfs", "viewfs", "s3", "gs", "gcs", "abfs", "abfss"}
"""Schemes that mean the same to Hadoop and to Weft. `s3a` may be another server to Hadoop, by settings that are not ours."""
_SPARK = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id that Spark gave a query."""


@dataclass(frozen=True)
class Leftover:
    """One query: a folder per join, their contents, and why they can be removed or must stay."""

    query: str
    folders: tuple[str, ...]
    joins: tuple[str, ...]
    files: int
    bytes: int
    written: datetime | None
    checkpoint: str
    why: str
    note: str = ""
    stays: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        data = {name: value for name, value in self.__dict__.items() if name != "stays"}
        return {**data, "written": self.written and self.written.isoformat(timespec="seconds")}


def stale_queries(state: Folder, idle: timedelta, now: datetime) -> tuple[list[Leftover], list[Leftover]]:
    """Return the queries that cannot continue, as far as Weft can tell, and those that stay.

    A query stays if its checkpoint exists or may exist, if it wrote anything within `idle`, or if it is not a Spark query.
    """
    found = [_stale(one, idle, now) for one in _stored(state)]
    return [one for one in found if not one.stays], [one for one in found if one.stays]


def asked_for(state: Folder, start: str) -> Leftover:
    """Return the one query whose id starts with the given text."""
    stored = _stored(state)
    named = [one for one in stored if start and one.query.startswith(start)]
    exact = [one for one in named if one.query == start]
    if len(exact or named) != 1:
        what = (
            f"{len(named)} queries start with {start!r}." if named else f"No query under {state} starts with {start!r}."
        )
        known = ", ".join(one.query for one in named or stored)
        above, _, last = state.path.rpartition("/")
        hint = "`weft state ls PATH` lists the queries; give enough of an id's start to identify one."
        if is_query(state):
            hint = f"{state} is the state of a query itself: weft state rm {above or '/'} {last.partition('.')[0]}"
        raise NoSuchState.of(what, f"There are: {known}." if known else "There is none.", hint)
    one = (exact or named)[0]
    if one.stays:
        what, hint = f"{state}/{one.query} {one.why}: {one.note}.", "move that elsewhere first."
        raise StateError.of(what, "Only what Weft wrote is removed.", hint)
    there = one.why == "checkpoint there" and not one.note
    return replace(
        one, why="asked for", note="its checkpoint exists, and cannot be used afterwards" if there else one.note
    )


def remove_query(state: Folder, one: Leftover) -> None:
    """Remove a query as it was listed. Raise an error if it has changed since, or if a file cannot be deleted.

    The files that identify a folder as a query's are removed last, so an interrupted removal can be repeated.
    """
    now = [(other.folders, other.files, other.bytes, other.written) for other in _stored(state, one.query)]
    if now != [(one.folders, one.files, one.bytes, one.written)]:
        raise StateError.of(
            f"{state}/{one.query} has changed since it was listed.",
            "The query may be running.",
            "stop the query, and list it again.",
        )
    try:
        for name in one.folders:
            folder = state / name
            for inner in folder.names():
                if not inner.endswith(".json") and not inner.startswith("."):
                    (folder / inner).delete_all()
            folder.delete_all()
        remove_tables(state, one.query)
    except OSError as error:
        raise StateError.of(f"{state}/{one.query} cannot be removed: {error}.", "", "check its permissions.") from error


def _stored(state: Folder, only: str = "") -> list[Leftover]:
    """Return all queries under a state path, or one of them, each judged by its checkpoint."""
    groups: dict[str, list[str]] = {}
    for info in entries(state):
        name = str(info.base_name)
        query = name.partition(".")[0]
        ours = info.type == fs.FileType.Directory and query and query == (only or query) and not is_link(state, info)
        if ours and _is_weft(state / name, query):
            groups.setdefault(query, []).append(name)
    for query in sorted(queries_with_tables(state) - set(groups)):
        if _SPARK.fullmatch(query) and query == (only or query):
            groups[query] = []
    return [_judged(state, query, names) for query, names in groups.items()]


def _is_weft(folder: Folder, query: str) -> bool:
    """Tell whether a folder is a query's beyond doubt: it has an id of Spark's, or says what it joins."""
    if not is_query(folder):
        return False
    return bool(_SPARK.fullmatch(query)) or "fingerprint" in _spec(folder)


def _spec(folder: Folder) -> dict[str, Any]:
    try:
        return read_sealed(folder, "spec.json")
    except (WeftError, OSError, TypeError, ValueError):
        return {}


def _judged(state: Folder, query: str, names: list[str]) -> Leftover:
    held = {name: contents(state / name) for name in names}
    known = {name: known_checkpoint(state / name) for name in names}
    paths = list(dict.fromkeys(path for path in known.values() if path is not None))
    seen = [look_at(path, query, beside=state.local) for path in paths]
    there = [one for one in seen if not one.gone]
    times = [one.written for one in held.values() if one.written is not None]
    judged = Leftover(
        query, tuple(names), tuple(str(_spec(state / name).get("condition", "?")) for name in names),
        sum(one.files for one in held.values()), sum(one.bytes for one in held.values()), max(times, default=None),
        ", ".join(paths), "checkpoint there" if there else "checkpoint gone" if seen else "checkpoint unknown",
        next((one.note for one in there or seen if one.note), ""),
    )  # fmt: skip
    foreign = [f"{name}/{strange}" for name in names for strange in held[name].foreign]
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        return replace(judged, why="contains files that Weft did not write", note=shown, stays=True)
    return judged


def _stale(one: Leftover, idle: timedelta, now: datetime) -> Leftover:
    """Say whether a query is stale; one that is not stays."""
    if one.stays or one.why == "checkpoint there":
        return replace(one, stays=True)
    if not one.folders:
        return replace(one, why="only tables", note="name it to remove them", stays=True)
    if not _SPARK.fullmatch(one.query):
        return replace(one, why="not a Spark query", note="it needs no checkpoint; name it to remove it", stays=True)
    if idle and (one.written is None or now - one.written < idle):
        return replace(one, why="may be running", note=f"{one.why}, but it wrote recently", stays=True)
    return one


@dataclass(frozen=True)
class CheckpointStatus:
    """Whether a checkpoint is gone, and what else is to be said of it."""

    gone: bool
    note: str = ""


def look_at(path: str, query: str, *, beside: bool) -> CheckpointStatus:
    """Look for the checkpoint of a query; `beside` says that its state is on this machine's file system.

    A query without a `metadata` file cannot go on: Spark keeps the query's id there. One with another id belongs to another
    query, which was started where the checkpoint of this one was deleted.
    """
    doubt = f"its checkpoint {path} cannot be checked from here, so it counts as present"
    scheme = _SCHEME.match(path)
    if (scheme and scheme[1] != "file" and "://" not in path) or not (scheme or path.startswith("/")):
        return CheckpointStatus(False, doubt)  # dbfs:/x is no folder of ours, and where x is depends on who asks
    if scheme and scheme[1] not in _SAME:
        return CheckpointStatus(False, doubt)
    try:
        folder = open_folder(path, Care(patience=5.0))
        if folder.local and not beside:
            return CheckpointStatus(False, f"its checkpoint {path} may be on another machine, so it counts as present")
        if not folder.exists("metadata"):
            return CheckpointStatus(True)
        return (
            CheckpointStatus(True, "its checkpoint folder now belongs to another query")
            if _other(folder, query)
            else CheckpointStatus(False)
        )
    except (WeftError, OSError, pa.ArrowException):
        return CheckpointStatus(False, doubt)


def _other(folder: Folder, query: str) -> bool:
    """Tell whether a checkpoint names another query; what cannot be read names none."""
    system: fs.FileSystem = folder.system
    with system.open_input_file(f"{folder}/metadata") as file:
        raw = file.read()
    try:
        named = json.loads(raw)["id"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(named, str) and named != query
