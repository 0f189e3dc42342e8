"""What the driver tells of a query, for people: how the join was explained, Spark's times per batch, how it ended.

    <state>/<query id>/journal.json

Versions of the state are collected after a while; the journal has the whole life of a query in one file of bounded size. Of
a long life the older batches are thinned out: every second one goes whenever there are too many. No join reads it, and a query
whose driver cannot write it runs on without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.errors import StateError
from weft.spec.shapes import check_shape
from weft.state.folder import Folder
from weft.state.sealed import find_sealed, write_sealed

__all__ = ["JOURNAL", "Journal", "JournalBatch", "find_journal", "write_journal"]

JOURNAL = "journal.json"
MOST = 600
"""Batches in a journal; about 60 bytes each."""
EVENTS = 200
"""Migrations in a journal, the newest ones."""


@dataclass(frozen=True)
class JournalBatch:
    """One batch as Spark measured it; times in milliseconds, `at` since the epoch. -1 where Spark does not say."""

    batch: int
    at: int
    """When the batch began."""
    total: int
    """From the trigger to the commit."""
    joined: int
    """Reading, routing, joining and writing: what Spark calls addBatch."""
    left_rows: int
    right_rows: int
    pairs: int
    state_rows: int
    state_bytes: int
    left_late: int
    right_late: int


@dataclass(frozen=True)
class Journal:
    """The life of a query, and of its last run."""

    run: str = ""
    name: str = ""
    trigger: int = 0
    """Milliseconds between two batches as asked for, 0 if batches follow each other."""
    explain: tuple[tuple[str, str], ...] = ()
    batches: tuple[JournalBatch, ...] = ()
    events: tuple[tuple[int, str, str, int, float], ...] = ()
    """Migrations: batch, change, reason, rows moved, seconds."""
    ended: int = 0
    """When the last run ended, 0 while it runs or if its driver was killed."""
    error: str = ""

    def having(self, batch: JournalBatch, event: tuple[int, str, str, int, float] | None = None) -> Journal:
        """Return the journal with one more batch; what was told of it and of later ones before was rolled back."""
        kept = [one for one in self.batches if one.batch < batch.batch]
        events = [one for one in self.events if one[0] < batch.batch] + ([] if event is None else [event])
        return replace(self, batches=(*thinned(kept), batch), events=tuple(events[-EVENTS:]))

    def to_json(self) -> dict[str, Any]:
        """Return the journal as JSON data, batches as rows."""
        rows = [list(one.__dict__.values()) for one in self.batches]
        return {**self.__dict__, "batches": rows}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Journal:
        """Read a journal back."""
        batches = tuple(JournalBatch(*row) for row in data["batches"])
        for one in batches:
            check_shape(one)
        pairs = {name: tuple(tuple(one) for one in data[name]) for name in ("explain", "events")}
        made = cls(**{**data, **pairs, "batches": batches})
        check_shape(made)
        return made


def thinned(batches: Sequence[JournalBatch]) -> list[JournalBatch]:
    """Return the batches, every second one of the older half left out once there are too many.

    >>> made = [JournalBatch(n, *[0] * 10) for n in range(MOST)]
    >>> [one.batch for one in thinned(made)][:3], len(thinned(made)), thinned(made)[-1].batch
    ([0, 2, 4], 450, 599)
    """
    if len(batches) < MOST:
        return list(batches)
    half = MOST // 2
    return [*batches[:half:2], *batches[half:]]


def find_journal(query: Folder) -> Journal | None:
    """Return the journal of a query; None where there is none, or none that can be read."""
    try:
        found = find_sealed(query, JOURNAL)
        return None if found is None else Journal.of_json(found[0])
    except (StateError, OSError, KeyError, TypeError, ValueError):
        return None


def write_journal(query: Folder, journal: Journal) -> None:
    """Write the journal anew."""
    write_sealed(query, JOURNAL, journal.to_json())
