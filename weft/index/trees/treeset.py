"""What the tree indexes share: rows in runs, entries in trees that grow.

Runs hold the rows and are the snapshot; a tree holds (word, number) for each row that has not expired, where numbers count
all rows ever kept. A run's rows have consecutive numbers, so a number leads to its run. Runs are merged by size only
and never rewritten for expiry: they go when all of their rows have expired. The trees derive from the runs and none of them is
saved; after `restore` they are loaded when they are first looked at, so who only adds rows to a snapshot builds no tree.
Whatever a tree still holds of an expired row is filtered out by the row's own expiry word (002-11), so an index and its
restored copy answer alike.

A tree narrows by one word: the equality word if there is one, else the range word; all other terms are checked on each
candidate. Without either every row is a candidate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from weft.index.probe_plan import ProbePlan
from weft.index.protocol import Matches, Probe
from weft.index.run import IndexedRun, Layout, Run
from weft.index.run_building import MergePolicy, merge_runs, run_of
from weft.index.trees.cost_model import Cost, Workload
from weft.index.trees.settings import TreeSettings
from weft.kernels.emit import Checks, passing
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.trees import (
    Css,
    Forest,
    check_forest,
    css_of,
    entries,
    forest_of,
    insert_all,
    room_for,
    scan,
    scan_css,
)
from weft.types import WORD_MAX, WORD_MIN, Block, Bools, Rows, Words

__all__ = ["Candidates", "Grove", "NumberedRun", "TreeSet", "stream_css"]


class Grove:
    """One or more B+-trees over one pool of nodes; `linked` ones are scanned as one."""

    def __init__(self, trees: int = 1, leaf: int = 32, fan: int = 32, linked: bool = False) -> None:
        self.linked = linked
        self.forest: Forest = forest_of(trees, 0, leaf, fan, linked)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """Return the bytes of all nodes."""
        return self.forest.nbytes

    def insert(self, trees: Rows, keys: Words, numbers: Rows) -> None:
        """Insert entries, each into its tree."""
        self.count += len(keys)
        self.forest = room_for(self.forest, self.count)
        insert_all(self.forest, trees, keys, numbers)

    def sorted(self) -> tuple[Words, Rows]:
        """Return all entries of linked trees, or of the first tree, by key."""
        keys, numbers = np.empty(self.count, np.int64), np.empty(self.count, np.int64)
        written = entries(self.forest, 0, keys, numbers)
        return keys[:written], numbers[:written]

    def stream(self, trees: Rows, lo: Words, hi: Words, room: int) -> Iterator[tuple[Rows, Rows]]:
        """Stream (probe, number) of the entries in each range; probe i begins in `trees[i]`."""
        state = np.array([0, -1, 0])
        while state[0] < len(lo):
            which, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
            count = scan(self.forest, trees, lo, hi, state, which, numbers)
            if count:
                yield which[:count], numbers[:count]

    def validate(self) -> int:
        """Check every tree; return the number of entries."""
        check_forest(self.forest, self.linked)
        assert self.count == sum(self.forest.count(tree) for tree in range(self.forest.trees)), "entries are miscounted"
        return self.count


def stream_css(css: Css, lo: Words, hi: Words, room: int) -> Iterator[tuple[Rows, Rows]]:
    """Do as `Grove.stream` over an immutable tree."""
    state = np.array([0, -1])
    while state[0] < len(lo):
        which, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
        count = scan_css(css, lo, hi, state, which, numbers)
        if count:
            yield which[:count], numbers[:count]


Candidates = Iterator[tuple[Rows, Rows]]
"""Pieces of (position of the probe in the ranges, number of the stored row)."""

_ROOM = 1 << 16


@dataclass(frozen=True)
class NumberedRun:
    """A run and the number of its first row."""

    indexed: IndexedRun
    base: int

    @property
    def run(self) -> Run:
        return self.indexed.run

    @property
    def end(self) -> int:
        return self.base + len(self.run.u)


class TreeSet(ABC):
    """One side of one task, indexed by trees.

    Parameters
    ----------
    layout
        The stored side's half of the access path.
    expiry
        The word column that `expire` speaks of; None if rows never expire.
    merging
        When runs are merged, but for the ratio: that is the share of T_S that T_I may reach before the two are merged, for the
        trees that have both (002-10). `small` is also the least size of a tree worth a merge.
    settings
        Node sizes, and what else the index has: the fields of its `settings_type`.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[TreeSettings]] = TreeSettings
    """What this index can be told."""
    merges: ClassVar[bool] = False
    """Whether it has a T_I that is merged into a T_S: then its name may carry a merge ratio."""

    default_merging: ClassVar[MergePolicy] = MergePolicy(ratio=1.0, fanout=4, few=4)

    def __init__(
        self, layout: Layout, expiry: int | None, merging: MergePolicy | None = None, **settings: int
    ) -> None:  # fmt: skip
        merging = merging or self.default_merging
        single = Layout(equal=layout.equal) if layout.equal is not None else Layout(None, layout.key, layout.until)
        self.layout = single
        self.expiry = expiry
        self.merge_ratio, self.small = merging.ratio, merging.small
        self._merging = replace(merging, ratio=math.inf)  # of runs: only by tiers
        self.settings = self.settings_type(**settings)
        self._kept: list[NumberedRun] = []
        self._before = WORD_MIN
        self._next = 0
        self._loaded = True
        self._reset()

    @classmethod
    def reads(cls) -> tuple[str, ...]:
        """Return the settings that a name of this index may carry."""
        every = [each.name for each in fields(TreeSettings)]
        own = [each.name for each in fields(cls.settings_type) if each.name not in every]
        return (*(["merge_ratio"] if cls.merges else []), *own, *every)

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        """Return what one tuple costs, in nanoseconds, tuple at a time on one core; None if nobody knows."""
        del load, settings
        return None

    # What a subclass is

    @abstractmethod
    def _reset(self) -> None:
        """Make the trees, empty."""

    @abstractmethod
    def _add(self, keys: Words, numbers: Rows) -> None:
        """Insert entries that ascend by key; their numbers are greater than all before."""

    @abstractmethod
    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        """Stream the entries in each range, at most `room` at a time."""

    @abstractmethod
    def _validate_trees(self) -> int:
        """Check the trees; return how many entries they hold."""

    @abstractmethod
    def _parts(self) -> dict[str, int]:
        """Return the bytes of every component."""

    def _load(self, keys: Words, numbers: Rows) -> None:
        """Fill empty trees with entries that ascend by key."""
        self._add(keys, numbers)

    def _forget(self, before: int) -> None:  # noqa: B027
        """Let go of rows that expire now, while their runs are still there; most trees wait for their next merge."""

    def _drop(self) -> None:  # noqa: B027
        """Let go of what has expired as a whole; most trees wait for their next merge."""

    # The protocol

    def __len__(self) -> int:
        return sum(len(kept.indexed) for kept in self._kept)

    def insert(self, block: Block) -> None:
        """Keep the rows of `block` as a run, and their entries; merge runs when their sizes say so."""
        if not len(block):
            return
        new = NumberedRun(run_of(block, self.layout, self.expiry), self._next)
        if self.expiry is not None and new.run.newest < self._before:
            return  # expired on arrival
        self._next = new.end
        self._kept.append(new)
        if self._loaded:
            self._add(*self._entries(new))
        cut = self._merging.merge_from([len(kept.run) for kept in self._kept])
        if cut < len(self._kept) - 1:
            self._merge_runs(cut)

    def _merge_runs(self, cut: int) -> None:
        """Merge the runs from `cut` on, expired rows and all, so that every row keeps its number."""
        old = self._kept[cut:]
        merged = merge_runs([kept.indexed for kept in old], self.layout, self.expiry, WORD_MIN)
        assert merged is not None
        self._kept[cut:] = [NumberedRun(merged, old[0].base)]
        if any(a.end != b.base for a, b in pairwise(old)):
            # A run between them had expired: number all rows anew. It takes rows that expire out of order.
            self.restore(self.snapshot(), self._before)

    def expire(self, before: int) -> None:
        """Drop the runs that have expired as a whole, and from the trees what they let go of now."""
        if self.expiry is None or before <= self._before:
            return
        if self._loaded:
            self._forget(before)
        self._before = before
        self._kept = [kept for kept in self._kept if kept.run.newest >= before]
        if self._loaded:
            self._drop()

    def snapshot(self) -> Sequence[Run]:
        """Return the runs, oldest first."""
        return [kept.run for kept in self._kept]

    def restore(self, runs: Sequence[Run], before: int) -> None:
        """Take over runs as they are; the trees are loaded anew when they are needed."""
        self._before, self._kept, self._next = before, [], 0
        for run in runs:
            self._kept.append(NumberedRun(IndexedRun(run, self.layout), self._next))
            self._next = self._kept[-1].end
        self._loaded = False
        self._reset()

    def _ready(self) -> None:
        """Load the trees if that is still to be done: the runs are sorted, so their entries are merged."""
        if self._loaded:
            return
        self._loaded = True
        pieces = [Sorted((keys,), numbers) for keys, numbers in map(self._entries, self._kept) if len(keys)]
        if pieces:
            merged = merge_all(pieces)
            self._load(merged.keys[0], merged.row)

    def probe(self, probe: Probe, chunk: int) -> Iterator[Matches]:
        """Yield every match once."""
        if not len(probe.block) or not self._kept:
            return
        self._ready()
        plan = ProbePlan(probe, self.layout)
        ranges = plan.ranges(max(kept.run.span for kept in self._kept))
        if self.layout.equal is not None:
            lo = hi = np.ascontiguousarray(ranges.equal)
        elif self.layout.key is not None:
            lo, hi = np.ascontiguousarray(ranges.lo), np.ascontiguousarray(ranges.hi)
        else:
            lo = hi = np.zeros(len(ranges.rows), np.int64)
        remaining = [(kept, plan.remaining(kept.indexed)) for kept in self._kept]
        served = [(kept, plan.checks(left)) for kept, left in remaining if left is not None]
        for which, numbers in self._candidates(lo, hi, min(chunk, _ROOM)):
            rows = ranges.rows[which]
            for kept, checks in served:
                yield from self._matches(kept, checks, probe, rows, numbers)

    def _matches(self, kept: NumberedRun, checks: Checks, probe: Probe, rows: Rows, numbers: Rows) -> Iterator[Matches]:
        out_probe, out_stored = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        run = kept.run
        expiry = -1 if self.expiry is None else self.expiry
        words = probe.block.words
        count = passing(
            rows, numbers, kept.base, words, run.words, expiry, self._before, checks, out_probe, out_stored
        )  # fmt: skip
        if count:
            yield Matches(run, out_probe[:count].copy(), out_stored[:count].copy())

    def memory(self) -> dict[str, int]:
        """Return the bytes of the window and of every component of the index (002-16)."""
        self._ready()
        return {"window": sum(kept.run.nbytes for kept in self._kept), **self._parts()}

    def validate(self) -> None:
        """Check the runs, the trees, and that they hold the same rows."""
        assert all(a.end <= b.base for a, b in pairwise(self._kept)), "numbers overlap"
        for kept in self._kept:
            kept.indexed.validate(self.expiry, self._before)
        self._ready()
        held = self._validate_trees()
        pieces = [self._entries(kept) for kept in self._kept]
        wanted = {pair for keys, numbers in pieces for pair in zip(keys.tolist(), numbers.tolist(), strict=True)}
        everything = np.array([WORD_MIN]), np.array([WORD_MAX])
        found = [number for _, numbers in self._candidates(*everything, _ROOM) for number in numbers.tolist()]
        assert len(found) == len(set(found)) == held, "an entry is there twice, or not counted"
        assert {number for _, number in wanted} <= set(found), "a row has no entry"

    # Trees, rows and entries

    def _trees(self, number: int = 1, *, linked: bool = False) -> Grove:
        """Make empty B+-trees."""
        return Grove(number, self.settings.leaf, self.settings.fan, linked)

    def _fixed(self, keys: Words, numbers: Rows) -> Css:
        """Make an immutable tree of sorted entries."""
        return css_of(keys, numbers, self.settings.leaf, self.settings.fan)

    def _entries(self, kept: NumberedRun, among: Bools | None = None) -> tuple[Words, Rows]:
        """Return keys, ascending, and numbers of a run's rows: those `among`, or those that have not expired."""
        run = kept.run
        rows = run.row.astype(np.int64, copy=False)
        if among is None and self.expiry is not None:
            among = run.words[self.expiry] >= self._before
        if among is not None:
            rows = rows[among[rows]]
        columns = self.layout.columns
        return run.words[columns[0]][rows] if columns else np.zeros(len(rows), np.int64), rows + kept.base

    def _living(self, numbers: Rows) -> Bools:
        """Tell which of the numbered rows have not expired."""
        if not self._kept:
            return np.zeros(len(numbers), np.bool_)
        first = self._kept[0].base
        alive = np.zeros(self._next - first + 1, np.bool_)  # the last one stands for all rows that are gone
        for kept in self._kept:
            words = kept.run.words
            alive[kept.base - first : kept.end - first] = (
                True if self.expiry is None else words[self.expiry] >= self._before
            )
        return alive[np.where(numbers < first, len(alive) - 1, numbers - first)]
