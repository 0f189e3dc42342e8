"""Two predicates, two indexes, and the intersection of what they find: the STA paper's way (000-50).

Each run is sorted by the access path's word and, once a probe wants it, by the word of the next range to be checked. A
probe's partners are the rows in its range of both orders. `Runs` checks the second predicate in the emit loop, or walks
blocks sorted by it; which is best when is estimated by `weft.control.two_predicates`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from weft.index.held import Held
from weft.index.plan import Plan
from weft.index.protocol import Matches
from weft.index.run import Run
from weft.index.runs import Runs
from weft.index.runset import trimmed
from weft.kernels.crossing import Order, Ranges, emit_crossing, order_with_ranks
from weft.kernels.emit import Checks, Hits
from weft.kernels.sort import order_of
from weft.types import Words

__all__ = ["Crossed"]


class Crossed(Runs):
    """Sorted runs with a second order."""

    name: ClassVar[str] = "crossed"

    def _matches(self, held: Held, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        if not len(checks.column) or not len(hits.which):
            return super()._matches(held, plan, hits, checks, chunk)
        return self._crossing(held.run, plan, hits, checks, chunk)

    def _crossing(self, run: Run, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        first, second, words = self._orders(run, int(checks.column[0]))
        probe = hits.rows[hits.which]
        start2 = np.searchsorted(words, checks.lo[0][probe], side="left")
        end2 = np.maximum(np.searchsorted(words, checks.hi[0][probe], side="right"), start2)
        ranges = Ranges(probe, hits.start, hits.end, start2.astype(np.int64), end2.astype(np.int64))
        rest = checks._replace(column=checks.column[1:], lo=checks.lo[1:], hi=checks.hi[1:])
        left = int(np.minimum(hits.end - hits.start, end2 - start2).sum())
        state = np.zeros(2, np.int64)
        while left and state[0] < len(probe):
            room = min(chunk, left)
            out_probe, out_stored = np.empty(room, np.int64), np.empty(room, np.int64)
            block = plan.probe.block.words
            count = emit_crossing(ranges, first, second, block, run.words, rest, state, out_probe, out_stored)
            if count:
                yield trimmed(run, out_probe, out_stored, count)

    def _orders(self, run: Run, column: int) -> tuple[Order, Order, Words]:
        """Return both orders and the words in the second one. Derived, like all that speeds up a probe; never saved."""
        words = run.words[column][run.row]
        by = order_of([words])
        rows = len(run.u)
        return order_with_ranks(run.row, rows), order_with_ranks(run.row[by], rows), words[by]
