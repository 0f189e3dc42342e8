"""What every index made of runs shares: keeping, merging and expiring them, and the walk of a probe over all of them.

A subclass says how rows are laid out and how a probe finds its partners in one run (`weft.index.runs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from weft.index.probe_plan import ProbePlan, Remaining
from weft.index.protocol import Matches, Probe
from weft.index.run import IndexedRun, Layout, Run
from weft.index.run_building import IN_MEMORY, MergePolicy, merge_runs, run_of
from weft.kernels.memory import keep_pages
from weft.kernels.packed import Frame
from weft.types import WORD_MIN, Block

__all__ = ["RunSet"]


class RunSet(ABC):
    """Runs, oldest first.

    Parameters
    ----------
    layout
        What the stored rows are sorted by.
    expiry
        The word column that `expire` speaks of; None if rows never expire.
    merging
        When runs are merged.
    """

    name: ClassVar[str]
    default_merging: ClassVar[MergePolicy] = IN_MEMORY

    def __init__(self, layout: Layout, expiry: int | None, merging: MergePolicy | None = None) -> None:
        self.layout = self._laid_out(layout)
        self.expiry = expiry
        self.merging = merging or self.default_merging
        self._runs: list[IndexedRun] = []
        self._before = WORD_MIN
        keep_pages()

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    # What a subclass is

    @abstractmethod
    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        """Stream the matches of a probe in one run."""

    def _laid_out(self, layout: Layout) -> Layout:
        """Return the layout this index wants its runs in."""
        return layout

    def _frame_for(self, block: Block) -> Frame | None:
        """Return the frame in which the keys of a new block are packed; None if they are not."""
        return None

    # The protocol

    def probe(self, probe: Probe, chunk: int) -> Iterator[Matches]:
        """Yield every match once, run by run."""
        if not len(probe.block):
            return
        plan = ProbePlan(probe, self.layout)
        for indexed in self._runs:
            remaining = plan.remaining(indexed)
            if remaining is not None:
                yield from self._matches(indexed, plan, remaining, chunk)

    def insert(self, block: Block) -> None:
        """Keep the rows of `block` as a run; merge runs when their sizes say so."""
        if not len(block):
            return
        new = run_of(block, self.layout, self.expiry, self._frame_for(block))
        if self.expiry is not None and new.run.newest < self._before:
            return  # expired on arrival
        runs = [*self._runs, new]
        self._runs = self._merged(runs, self.merging.merge_from([len(run) for run in runs]))

    def _merged(self, runs: list[IndexedRun], cut: int) -> list[IndexedRun]:
        """Merge the runs from `cut` on, if that is more than one."""
        if cut >= len(runs) - 1:
            return runs
        merged = merge_runs(runs[cut:], self.layout, self.expiry, self._before)
        return runs[:cut] if merged is None else [*runs[:cut], merged]

    def expire(self, before: int) -> None:
        """Drop the runs that have expired as a whole; other expired rows go when their run is merged (002-11)."""
        self._before = max(self._before, before)
        if self.expiry is not None:
            self._runs = [indexed for indexed in self._runs if indexed.run.newest >= self._before]

    def snapshot(self) -> Sequence[Run]:
        """Return the runs, oldest first."""
        return [indexed.run for indexed in self._runs]

    def restore(self, runs: Sequence[Run], before: int) -> None:
        """Take over runs as they are: nothing is rebuilt."""
        self._runs = [IndexedRun(run, self.layout) for run in runs]
        self._before = before

    def validate(self) -> None:
        """Check every run against the layout, the expiry bound and its own payload."""
        for indexed in self._runs:
            indexed.validate(self.expiry, self._before)
            run = indexed.run
            assert run.rows == run.words.shape[1], "columns differ in length"
            assert len(np.unique(run.row)) == len(run) and run.row.min() >= 0, "two rows share a payload row"
            assert run.row.max() < run.rows, "a row has no payload"
            if indexed.packed is not None:
                assert np.array_equal(indexed.packed.rows, run.row), "packed rows are not the run's"
                assert np.array_equal(indexed.packed.keys, run.sorted_by(self.layout.columns)[0]), "nor are the keys"
            if self.layout.until is not None and self.layout.key is not None:
                apart = run.words[self.layout.until].astype(object) - run.words[self.layout.key].astype(object)
                assert max(apart) <= run.span, "an interval is longer than the span"
