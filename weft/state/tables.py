"""Versions of a table that a stream is joined with, and which of them each batch sees.

    <state>/tables/<start>/<n>-0-<mark>.arrow     version n, an index to be mapped; each start of a query reads the table anew
    <state>/tables/<start>/newest.json            the version that batches to come are to see, where the table is refreshed
    <state>/tables/<query id>[.<name>]/<batch>.json   what a batch sees: written before its first row leaves, and once

The tasks of a batch agree without talking. What is pinned holds. Without a pin they go on with the version of the batch before,
if the same run of the query has pinned that, else with the one that their start has read; so all of them write the same pin.
A new version is pinned for the batch after, by tasks of this one, so before any of the next reads it. A batch that is run again,
by another start too, finds its pin.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from weft.errors import StateError
from weft.index import Run
from weft.spec.shapes import check_shape
from weft.state.contents import read_segment
from weft.state.folder import Folder
from weft.state.places import open_folder
from weft.state.sealed import read_sealed, write_sealed
from weft.state.segments import Segment, write_segment

__all__ = ["TablePin", "TableShelf", "TableVersion", "queries_with_tables", "remove_tables"]

_NEWEST = "newest.json"


@dataclass(frozen=True)
class TableVersion:
    """One version of a table: the start of the query that read it, and its file."""

    start: str
    segment: Segment

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> TableVersion:
        """Read it from JSON data."""
        made = cls(str(data["start"]), Segment.of_json(data["segment"]))
        check_shape(made)
        return made

    @property
    def number(self) -> int:
        """Return which version of its start it is."""
        return int(self.segment.name.partition("-")[0])


@dataclass(frozen=True)
class TablePin:
    """What a batch sees. `join` tells two joins of one run apart, `fingerprint` what a version was made for."""

    version: TableVersion
    run: str
    join: str
    fingerprint: str


@dataclass(frozen=True)
class TableShelf:
    """The tables under a state path."""

    where: str

    @property
    def folder(self) -> Folder:
        """Return the folder of all tables."""
        return open_folder(self.where) / "tables"

    # Versions

    def write(self, start: str, name: str, run: Run) -> TableVersion:
        """Write a version."""
        return TableVersion(start, write_segment(self.folder / start, name, run))

    def read(self, version: TableVersion, payload: pa.Schema) -> Run:
        """Map a version."""
        return read_segment(self.folder / version.start, version.segment, payload)

    def publish(self, version: TableVersion) -> None:
        """Let batches to come see a version."""
        write_sealed(self.folder / version.start, _NEWEST, version.to_json())

    def newest(self, start: str) -> TableVersion | None:
        """Return the version that was published last, None if there is none."""
        folder = self.folder / start
        return TableVersion.of_json(read_sealed(folder, _NEWEST)) if folder.exists(_NEWEST) else None

    def forget(self, start: str) -> None:
        """Delete all versions of a start."""
        (self.folder / start).delete_all()

    # Pins

    def pinned(self, query: str, batch: int, mine: TablePin) -> TablePin:
        """Return what a batch sees, and pin it if nobody has; `mine` is what this start has read."""
        folder, name = self.folder / query, f"{batch}.json"
        found = _read_pin(folder, name) if folder.exists(name) else None
        if found is not None and found.run == mine.run and found.join != mine.join:
            raise StateError.of(
                f"Two joins of one query keep their tables in {folder}.",
                "Each needs its own folder, or one would see the other's table.",
                "give them names: weft.join(..., name='limits'), weft.join(..., name='places').",
            )
        if found is not None and found.fingerprint == mine.fingerprint:
            return found
        # A pin of another condition or selection holds for nobody: its index is of no use, nor is what it made leave.
        chosen = mine
        if found is None:
            before = max((number for number in _batches(folder) if number < batch), default=None)
            last = None if before is None else _read_pin(folder, f"{before}.json")
            if last is not None and (last.run, last.join) == (mine.run, mine.join):
                chosen = last
        self._write(folder, name, chosen)
        return chosen

    def pin_next(self, query: str, batch: int, now: TablePin, mine: TablePin) -> None:
        """Pin the newest version for the batch after this one; the tasks of a batch do, and the last one wins."""
        newest, name = self.newest(mine.version.start), f"{batch + 1}.json"
        folder = self.folder / query
        if newest is not None and newest != now.version and not folder.exists(name):
            self._write(folder, name, TablePin(newest, mine.run, mine.join, mine.fingerprint))

    def collect(self, query: str, batch: int, retain: int, mine: TablePin) -> None:
        """Delete pins that no batch to be run again needs, and versions that no pin names any more."""
        folder = self.folder / query
        old = [number for number in _batches(folder) if number < batch - retain]
        if not old:
            return
        gone = {number: _read_pin(folder, f"{number}.json") for number in old}
        kept = [_read_pin(folder, f"{number}.json") for number in _batches(folder) if number not in gone]
        starts = {pin.version.start for pin in kept} | {mine.version.start}
        for start in {pin.version.start for pin in gone.values()} - starts:
            self.forget(start)
        numbers = [pin.version.number for pin in kept if pin.version.start == mine.version.start]
        for name in (self.folder / mine.version.start).names() if numbers else ():
            first = name.partition("-")[0]
            if name.endswith(".arrow") and first.isdigit() and int(first) < min(numbers):
                (self.folder / mine.version.start).delete(name)
        for number in old:
            folder.delete(f"{number}.json")

    def _write(self, folder: Folder, name: str, pin: TablePin) -> None:
        write_sealed(folder, name, {**asdict(pin), "version": pin.version.to_json()})


def _read_pin(folder: Folder, name: str) -> TablePin:
    body = read_sealed(folder, name)
    try:
        made = TablePin(TableVersion.of_json(body["version"]), body["run"], body["join"], body["fingerprint"])
        check_shape(made)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StateError.torn(f"{folder}/{name}", "it does not name the version of a table") from None
    return made


def queries_with_tables(state: Folder) -> set[str]:
    """Return the ids of the queries whose batches have pinned a version of a table."""
    tables = state / "tables"
    return {name.partition(".")[0] for name in tables.names() if any(_batches(tables / name))}


def remove_tables(state: Folder, query: str) -> None:
    """Delete the pins of a query that is removed, and the versions that no other query's pin names."""
    tables = state / "tables"
    starts: dict[str, set[str]] = {}
    for name in tables.names():
        named = starts.setdefault(name, set())
        for batch in _batches(tables / name):
            with contextlib.suppress(StateError):  # damaged: it names nothing that can be found
                named.add(_read_pin(tables / name, f"{batch}.json").version.start)
    gone = [name for name in starts if name.partition(".")[0] == query]
    held = {start for name, named in starts.items() if name not in gone for start in named}
    for start in {start for name in gone for start in starts[name]} - held:
        (tables / start).delete_all()
    for name in gone:
        (tables / name).delete_all()


def _batches(folder: Folder) -> Iterator[int]:
    names = (name.removesuffix(".json") for name in folder.names() if name.endswith(".json"))
    return (int(name) for name in names if name.isdigit())
