"""What every index made of runs shares: keeping, merging, expiring; and the loop that streams pairs out of each run.

A subclass says how rows are laid out and how a probe finds its candidates in one run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from weft.index.compact import merge_runs, run_of
from weft.index.held import Held
from weft.index.layout import Layout
from weft.index.plan import Plan, Remaining, Scratch
from weft.index.protocol import Matches, Probe
from weft.index.run import Run
from weft.index.tiers import merge_from
from weft.kernels.emit import Checks, Hits, emit
from weft.kernels.memory import keep_pages
from weft.types import WORD_MIN, Block, Rows

__all__ = ["RunSet", "trimmed"]

_MANY = 4
"""From this many candidates per stored row on, checks read words brought into index order."""


class RunSet(ABC):
    """Runs, oldest first.

    Parameters
    ----------
    layout
        What the stored rows are sorted by.
    expiry
        The word column that `expire` speaks of; None if rows never expire.
    merge_ratio
        Younger runs join the oldest one when they hold this share of its rows (002-10).
    fanout, width
        How many runs of one tier make one of the next, and by how much their sizes may differ.
    small
        Runs of fewer rows are merged at once.
    few
        Up to this many runs the oldest one is left alone.
    """

    name: ClassVar[str]

    def __init__(
        self,
        layout: Layout,
        expiry: int | None,
        merge_ratio: float = 0.2,
        fanout: int = 2,
        small: int = 2048,
        few: int = 2,
        width: int = 8,
    ) -> None:
        self.layout = self._laid_out(layout)
        self.expiry = expiry
        self.small = small
        self._merging = (merge_ratio, fanout, small, few, width)
        self._held: list[Held] = []
        self._before = WORD_MIN
        keep_pages()

    def __len__(self) -> int:
        return sum(len(held) for held in self._held)

    def _laid_out(self, layout: Layout) -> Layout:
        """Return the layout this index wants its runs in."""
        return layout

    @abstractmethod
    def _find(self, held: Held, plan: Plan, scratch: Scratch) -> Hits:
        """Return the candidates of every probe in one run."""

    def insert(self, block: Block) -> None:
        """Keep the rows of `block` as a run; merge runs when their sizes say so."""
        if not len(block):
            return
        new = self._new(block)
        if self.expiry is not None and new.run.newest < self._before:
            return  # expired on arrival
        runs = [*self._held, new]
        cut = merge_from([len(run) for run in runs], *self._merging)
        if cut < len(runs) - 1:
            merged = merge_runs(runs[cut:], self.layout, self.expiry, self._before)
            self._held[cut:] = [] if merged is None else [merged]
        else:
            self._held.append(new)

    def _new(self, block: Block) -> Held:
        """Return a block as a run of its own."""
        return run_of(block, self.layout, self.expiry)

    def expire(self, before: int) -> None:
        """Drop the runs that have expired as a whole; other expired rows go when their run is merged (002-11)."""
        self._before = max(self._before, before)
        if self.expiry is not None:
            self._held = [held for held in self._held if held.run.newest >= self._before]

    def snapshot(self) -> Sequence[Run]:
        """Return the runs, oldest first."""
        return [held.run for held in self._held]

    def restore(self, runs: Sequence[Run], before: int) -> None:
        """Take over runs as they are: nothing is rebuilt."""
        self._held = [Held(run, self.layout) for run in runs]
        self._before = before

    def probe(self, probe: Probe, chunk: int) -> Iterator[Matches]:
        """Yield every match once, run by run."""
        if not len(probe.block):
            return
        plan = Plan(probe, self.layout)
        for held in self._held:
            remaining = plan.checks(held)
            if remaining is not None:
                yield from self._pairs(held, plan, remaining, chunk)

    def _pairs(self, held: Held, plan: Plan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        """Stream the matches of one run."""
        yield from self._matches(held, plan, self._find(held, plan, plan.scratch), plan.arrays(remaining), chunk)

    def _matches(self, held: Held, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        """Stream the candidates that pass the checks."""
        if not len(hits.which):
            return
        run, block = held.run, plan.probe.block
        left = int((hits.end - hits.start).sum())
        words, at = held.in_order if left > _MANY * len(held) else (run.words, run.row)
        state = np.zeros(2, np.int64)
        while state[0] < len(hits.which):
            room = min(chunk, left)
            probe, stored = np.empty(room, np.int32), np.empty(room, np.int32)
            count = emit(hits, run.row, at, block.words, words, checks, state, probe, stored)
            if count:
                yield trimmed(run, probe, stored, count)

    def validate(self) -> None:
        """Check every run against the layout, the expiry bound and its own payload."""
        for held in self._held:
            run = held.run
            assert len(run) and run.rows == run.words.shape[1] == len(run.u), "columns differ in length"
            assert run.rows == run.payload.num_rows or not run.payload.num_columns, "payload differs in length"
            assert run.is_sorted_by(self.layout.columns), "a run is not sorted"
            assert len(np.unique(run.row)) == len(run) and run.row.min() >= 0, "two rows share a payload row"
            assert run.row.max() < run.rows, "a row has no payload"
            if self.expiry is not None:
                assert run.newest >= self._before, "an expired run was kept"
                assert run.words[self.expiry].max() <= run.newest, "newest is not the newest"
            if held.packed is not None:
                assert np.array_equal(held.packed.rows, run.row), "packed rows are not the run's"
                assert np.array_equal(held.packed.keys, run.sorted_by(self.layout.columns)[0]), "nor are the keys"
            if self.layout.until is not None and self.layout.key is not None:
                apart = run.words[self.layout.until].astype(object) - run.words[self.layout.key].astype(object)
                assert max(apart) <= run.span, "an interval is longer than the span"


def trimmed(run: Run, probe: Rows, stored: Rows, count: int) -> Matches:
    """Return the filled part; copied when most of the buffer is empty, so that it does not live on."""
    if count * 2 < len(probe):
        return Matches(run, probe[:count].copy(), stored[:count].copy())
    return Matches(run, probe[:count], stored[:count])
