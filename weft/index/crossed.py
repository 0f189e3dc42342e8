"""Two predicates, two indexes, and the intersection of what they find: the STA paper's way (000-50).

Each run is sorted by the access path's word and, once a probe wants it, by the word of the next range to be checked. A
probe's partners are the rows in its range of both orders. `Runs` checks the second predicate in the emit loop, or walks
blocks sorted by it; which is best when is estimated by `weft.planner.costs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from weft.index.probe_plan import ProbePlan, Remaining
from weft.index.protocol import Matches
from weft.index.run import IndexedRun, Run
from weft.index.runs import Runs, emit_matches, find_ranges
from weft.kernels.emit import Checks, Hits
from weft.kernels.sort import order_of
from weft.kernels.two_inequalities import RankedOrder, TwoRanges, emit_crossing, order_with_ranks
from weft.types import Words

__all__ = ["Crossed"]


class Crossed(Runs):
    """Sorted runs with a second order."""

    name: ClassVar[str] = "crossed"

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        """Stream the matches of one run: at once as `Runs` does, or by intersection if there is something to check."""
        at_once = self._at_once(indexed, plan, remaining, chunk)
        if at_once is not None:
            return at_once
        hits, checks = find_ranges(indexed, plan), plan.checks(remaining)
        if not len(checks.column) or not len(hits.which):
            return emit_matches(indexed, plan, hits, checks, chunk)
        return _intersection(indexed.run, plan, hits, checks, chunk)


def _intersection(run: Run, plan: ProbePlan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
    first, second, words = _orders(run, int(checks.column[0]))
    probe = hits.rows[hits.which]
    start2 = np.searchsorted(words, checks.lo[0][probe], side="left")
    end2 = np.maximum(np.searchsorted(words, checks.hi[0][probe], side="right"), start2)
    ranges = TwoRanges(probe, hits.start, hits.end, start2.astype(np.int64), end2.astype(np.int64))
    rest = checks._replace(column=checks.column[1:], lo=checks.lo[1:], hi=checks.hi[1:])
    left = int(np.minimum(hits.end - hits.start, end2 - start2).sum())
    state = np.zeros(2, np.int64)
    while left and state[0] < len(probe):
        room = min(chunk, left)
        out_probe, out_stored = np.empty(room, np.int64), np.empty(room, np.int64)
        block = plan.probe.block.words
        count = emit_crossing(ranges, first, second, block, run.words, rest, state, out_probe, out_stored)
        if count:
            yield Matches.filled(run, out_probe, out_stored, count)


def _orders(run: Run, column: int) -> tuple[RankedOrder, RankedOrder, Words]:
    """Return both orders and the words in the second one. Derived, like all that speeds up a probe; never saved."""
    words = run.words[column][run.row]
    by = order_of([words])
    rows = len(run.u)
    return order_with_ranks(run.row, rows), order_with_ranks(run.row[by], rows), words[by]
