"""Sorted runs with a tree of maxima over a second word: for one probe among many stored intervals.

`Runs` finds the rows that an interval's start allows and looks at each, or sorts blocks anew for every probe block. Both take
time with the run. Here a probe takes time with what it finds (`weft.kernels.peaks`), however few probes there are and however
long single intervals are. It pays where runs stay for many probes, as a table does: the tree is built once per run, in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from weft.index.probe_plan import ProbePlan, Remaining
from weft.index.protocol import Matches, Probe
from weft.index.run import IndexedRun, Layout, Run
from weft.index.runs import Runs, emit_matches, find_ranges
from weft.kernels.emit import Checks, Hits
from weft.kernels.peaks import Peaks, emit_high, mark_any, peaks_of
from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = ["RunPeaks"]

_FEW = 32
"""Up to this many candidates per probe it costs less to look at each of them."""


class RunPeaks(Runs):
    """Sorted runs; the second of two inequalities is answered by a tree of maxima."""

    name: ClassVar[str] = "peaks"

    @classmethod
    def over(cls, run: Run, layout: Layout) -> RunPeaks:
        """Return the index of one run whose rows lie in index order: its words are the keys, nothing is copied."""
        made = cls(layout, None)
        made._runs = (
            [IndexedRun(run, layout, tuple(run.words[column] for column in layout.columns))] if len(run) else []
        )
        return made

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        """Stream the matches of one run: by the tree if a one-sided check remains, else as `Runs` does."""
        at_once = self._at_once(indexed, plan, remaining, chunk)
        if at_once is not None:
            return at_once
        checks = plan.checks(remaining)
        check = self._one_sided(checks)
        if check is None:
            return super()._matches(indexed, plan, remaining, chunk)
        hits = find_ranges(indexed, plan)
        if int((hits.end - hits.start).sum()) <= _FEW * len(hits.which):
            return emit_matches(indexed, plan, hits, checks, chunk)
        return _high(indexed, plan, hits, checks, check, chunk)

    def met(self, probe: Probe) -> Bools:
        """Tell which rows of a probe have a partner at all: a range that nothing checks is not looked into."""
        found = np.zeros(len(probe.block), np.bool_)
        if not len(probe.block):
            return found
        plan = ProbePlan(probe, self.layout)
        for indexed in self._runs:
            remaining = plan.remaining(indexed)
            if remaining is None:
                continue
            checks, hits = plan.checks(remaining), find_ranges(indexed, plan)
            if not len(checks.column) and not len(checks.odd):
                found[hits.rows[hits.which]] = True
                continue
            check = self._one_sided(checks)
            if check is None:
                run = indexed.run
                mark_any(hits, run.row, probe.block.words, run.words, checks, found)
                continue
            for matches in _high(indexed, plan, hits, checks, check, len(hits.which) + 1, once=True):
                found[matches.probe] = True
        return found

    def _one_sided(self, checks: Checks) -> int | None:
        """Return the check that the tree is to answer: the interval's other end if it is one, else any that is open on a side."""
        found = [t for t in range(len(checks.column)) if _upward(checks, t) or _downward(checks, t)]
        return next((t for t in found if checks.column[t] == self.layout.until), found[0] if found else None)


def _upward(checks: Checks, check: int) -> bool:
    return bool((checks.hi[check] == WORD_MAX).all())


def _downward(checks: Checks, check: int) -> bool:
    return bool((checks.lo[check] == WORD_MIN).all())


def _peaks(indexed: IndexedRun, column: int, *, upward: bool) -> Peaks:
    """Return the tree of a run over one column, built when it is first asked for; minima are maxima of complements."""
    known = indexed.peaks
    if (column, upward) not in known:
        words: Words = indexed.run.column(column)[indexed.run.row]
        grouped = len(indexed.layout.columns) > 1
        known[column, upward] = peaks_of(words if upward else ~words, indexed.leading if grouped else None)
    return known[column, upward]


def _high(
    indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, check: int, chunk: int, *, once: bool = False
) -> Iterator[Matches]:  # fmt: skip
    """Yield the matches that the tree finds; `once`: one of each probe row."""
    upward = _upward(checks, check)
    peaks = _peaks(indexed, int(checks.column[check]), upward=upward)
    least = checks.lo[check] if upward else ~checks.hi[check]
    keep = [t for t in range(len(checks.column)) if t != check]
    rest = checks._replace(column=checks.column[keep], lo=checks.lo[keep], hi=checks.hi[keep])
    run, block, state = indexed.run, plan.probe.block, np.array([0, -1], np.int64)
    # The scratch that hits lie in is used again for the next run.
    hits = Hits(hits.rows, hits.which.copy(), hits.start.copy(), hits.end.copy())
    room = min(chunk, max(1024, 2 * len(hits.which)))
    while state[0] < len(hits.which):
        probe, stored = np.empty(room, np.int32), np.empty(room, np.int32)
        count = emit_high(hits, peaks, least, run.row, block.words, run.words, rest, once, state, probe, stored)
        if count:
            yield Matches.filled(run, probe, stored, count)
        if count == room:
            room = min(chunk, 2 * room)
