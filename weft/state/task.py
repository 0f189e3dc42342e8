"""What one task remembers between two batches, in memory and as its manifest; what all tasks know; and the history of both.

The history of a batch is a digest of the history of the batch before, of its plan, and of what every map partition says of
its rows. Every task gets all of that, so all tasks come to the same history without talking, and a replay of the same
partitions comes to the same one again. It stands in every manifest and beside every pinned plan. Files that do not belong
together (those of another query, of a checkpoint that was rolled back, of an attempt that was given up) have other histories,
and are refused.

A manifest is one version of one task: which segments, which of their rows have found a partner, and all that a later batch needs.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.errors import StateError
from weft.index import Run
from weft.routing import Plan, TaskStats
from weft.spec.shapes import check_shape, listed
from weft.state.sealed import digest_of
from weft.state.segments import Segment
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["Clock", "History", "Manifest", "Pinned", "TaskState", "flagged", "packed_flags"]


@dataclass(frozen=True)
class History:
    """The history before a batch, and after it."""

    before: str
    now: str

    @classmethod
    def of(cls, before: str, plan: dict[str, Any], inputs: Iterable[tuple[str, int, int, int, str]]) -> History:
        """Return the history of a batch; `inputs` are side, partition, rows, newest time and content of each partition."""
        return cls(before, _digest([before, plan, sorted(inputs)]))

    @staticmethod
    def first(query: str, fingerprint: str) -> str:
        """Return the history of a query that has joined nothing yet."""
        return _digest([query, fingerprint])


def _digest(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Clock:
    """How far both streams have come, the same in every task: greatest timestamp and number of rows per side."""

    newest: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    count: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))

    def to_json(self) -> dict[str, Any]:
        """Return the clock as JSON data."""
        return {"newest": self.newest, "count": self.count}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Clock:
        """Read the clock from JSON data."""
        made = cls(**{name: {side: data[name][side] for side in SIDES} for name in ("newest", "count")})
        check_shape(made)
        return made


@dataclass(frozen=True)
class Pinned:
    """What all tasks of a batch know before it begins: the plan, the clock and the history that the batch before left."""

    plan: Plan
    clock: Clock = field(default_factory=Clock)
    history: str = ""

    @property
    def mark(self) -> str:
        """Return a digest of all that: what was routed by another one does not belong into the batch."""
        return digest_of({"plan": self.plan.to_json(), "clock": self.clock.to_json(), "history": self.history})


@dataclass(frozen=True)
class TaskState:
    """Runs of both sides, the bounds below which their rows have expired, the clock, and the plan they were routed by.

    `index` is the one that laid the runs out: another cannot read them as they lie.
    """

    plan: Plan
    runs: dict[Side, tuple[Run, ...]] = field(default_factory=lambda: {"left": (), "right": ()})
    before: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    clock: Clock = field(default_factory=Clock)
    index: str = ""
    waiting: dict[Side, tuple[Run, ...]] = field(default_factory=lambda: {"left": (), "right": ()})
    """Rows of preserved sides that can match nothing, and leave when their windows end."""

    @property
    def rows(self) -> dict[Side, int]:
        """Return the rows held per side."""
        return {side: sum(len(run) for run in (*self.runs[side], *self.waiting[side])) for side in SIDES}


_SELDOM = ("waiting", "matched", "oldest")
"""What only some kinds of joins, or of folders, have."""


@dataclass(frozen=True)
class Manifest:
    """One version of one task: which segments, and everything needed to go on from them.

    The plan stands in the manifest of task 0 alone, which always exists: it can be long, and all tasks have the same.
    `history` says where the state came from (`History`) and is the same in all tasks of a batch, `since` is that
    of the batch before: a batch whose tasks were begun under different plans (a crash, then a restart with another number of
    tasks, and a crash again) is not finished. Format 1 has a digest of the plan in its place, and no `query`.
    """

    task: int
    batch: int
    fingerprint: str
    plan: dict[str, Any]
    segments: dict[Side, tuple[Segment, ...]]
    before: dict[Side, int]
    clock: dict[str, dict[Side, int]]
    stats: dict[str, Any]
    index: str = ""
    garbage: tuple[tuple[int, str], ...] = ()
    history: str = ""
    since: str = ""
    query: str = ""
    waiting: dict[Side, tuple[Segment, ...]] = field(default_factory=dict)
    matched: dict[Side, tuple[str, ...]] = field(default_factory=dict)
    """Which rows of each segment have found a partner, in joins that ask: a bit per row (`packed_flags`)."""
    oldest: int = 0
    """The oldest version that is kept, where older ones go later and many at a time."""

    @property
    def files(self) -> tuple[Segment, ...]:
        """Return the segments of both sides, those of waiting rows too."""
        return tuple(one for kinds in (self.segments, self.waiting) for entries in kinds.values() for one in entries)

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as JSON data; what only some kinds of joins have is left out by the others."""
        said = {**self.__dict__, "segments": _entries(self.segments), "garbage": [list(item) for item in self.garbage]}
        said |= {"waiting": _entries(self.waiting)}
        return {name: value for name, value in said.items() if value or name not in _SELDOM}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Manifest:
        """Read the manifest from JSON data."""
        segments, waiting = _segments(data["segments"]), _segments(data["waiting"]) if "waiting" in data else {}
        garbage = tuple((batch, name) for batch, name in listed(data["garbage"]))
        rest = {"history" if name == "digest" else name: value for name, value in data.items()}
        made = cls(**{**rest, "segments": segments, "waiting": waiting, "garbage": garbage})
        check_shape(made)
        Clock.of_json(made.clock)
        TaskStats.of_json(made.stats)
        if not all(side in made.before for side in SIDES):
            raise KeyError("before")
        if any(len(flags) != len(segments[side]) for side, flags in made.matched.items()):
            raise ValueError("matched")
        return made


def _entries(segments: Mapping[Side, Sequence[Segment]]) -> dict[Side, list[dict[str, Any]]]:
    return {side: [entry.to_json() for entry in entries] for side, entries in segments.items()}


def _segments(data: Mapping[Side, Any]) -> dict[Side, tuple[Segment, ...]]:
    return {side: tuple(Segment.of_json(entry) for entry in listed(data[side])) for side in SIDES}


def packed_flags(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the flags of each run, "" where no row has found a partner."""
    return tuple(_packed(run) for run in runs)


def _packed(run: Run) -> str:
    matched = run.compacted().matched  # as the rows stand in the segment
    if not bool(matched.any()):
        return ""
    return b64encode(zlib.compress(np.packbits(matched).tobytes(), 1)).decode()


def flagged(run: Run, text: str, where: str) -> Run:
    """Return a run with its flags; `where` is the file that has them."""
    if not text:
        return run
    try:
        bits = np.frombuffer(zlib.decompress(b64decode(text, validate=True)), np.uint8)
    except (ValueError, zlib.error):
        bits = np.zeros(0, np.uint8)
    if len(bits) != -(-run.rows // 8):
        raise StateError.torn(where, f"the flags of {run.segment} are not those of its {run.rows} rows")
    return run.flagged(np.unpackbits(bits, count=run.rows).astype(np.bool_))
