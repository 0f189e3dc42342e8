"""The default index: sorted runs, each the bottom of a CSS-tree; two inequalities by blocks when that is cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from weft.index.held import Held
from weft.index.keep import Keep, keeper
from weft.index.plan import Plan, Ranges, Remaining, Scratch
from weft.index.protocol import Matches
from weft.index.runset import RunSet
from weft.index.twofold import second_inequality, stream_twofold
from weft.kernels.dominance import worthwhile
from weft.kernels.emit import Checks, Hits
from weft.kernels.near import emit_near
from weft.kernels.search import find_lexical, find_range

__all__ = ["Runs"]

_NEAR = 8
"""Up to this many rows per range, checks that look words up are made after emission."""
_SAMPLED = 32


class Runs(RunSet):
    """Sorted immutable runs: a probe block, sorted too, walks each of them."""

    name: ClassVar[str] = "runs"

    def _find(self, held: Held, plan: Plan, scratch: Scratch) -> Hits:
        ranges = plan.ranges(held.run.span)
        which, start, end = scratch
        if self.layout.equal is not None and self.layout.key is not None:
            hits = find_lexical(held.leading, held.keys[1], ranges.equal, ranges.lo, ranges.hi, which, start, end)
        elif self.layout.columns:
            hits = find_range(held.leading, held.fences, ranges.lo, ranges.hi, which, start, end)
        else:
            hits = len(ranges.rows)
            which[:hits], start[:hits], end[:hits] = np.arange(hits), 0, len(held)
        return Hits(ranges.rows, which[:hits], start[:hits], end[:hits])

    def _pairs(self, held: Held, plan: Plan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        if len(self.layout.columns) == 1 and plan.bounded:
            ranges, keep = plan.ranges(held.run.span), keeper(held, plan, remaining)
            if keep is not None and (keep.looks_nothing_up or _rows_per_range(held, ranges) <= _NEAR):
                return self._near(held, plan, ranges, keep, chunk)
        return super()._pairs(held, plan, remaining, chunk)

    def _near(self, held: Held, plan: Plan, ranges: Ranges, keep: Keep, chunk: int) -> Iterator[Matches]:
        """Search and emit in one pass, then check what remains on the pairs found."""
        run, m, state = held.run, len(ranges.rows), np.array([0, -1, 0])
        probe, stored = (buffer[:chunk] for buffer in plan.buffers)  # stay in the cache; what was found is copied out
        while state[0] < m:
            count = emit_near(
                held.leading, run.row, held.fences, ranges.rows, ranges.lo, ranges.hi, state, probe, stored
            )
            count = keep.of(probe, stored, count)
            if count:
                yield Matches(run, probe[:count].copy(), stored[:count].copy())

    def _matches(self, held: Held, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        candidates = int((hits.end - hits.start).sum())
        if len(checks.column) and worthwhile(len(held), len(hits.which), candidates):
            second = second_inequality(held, hits, checks)
            if second is not None:
                return stream_twofold(held, plan, hits, checks, second, chunk)
        return super()._matches(held, plan, hits, checks, chunk)


def _rows_per_range(held: Held, ranges: Ranges) -> float:
    """Estimate how many rows a range holds, from a few of them."""
    some = slice(None, None, max(1, len(ranges.rows) // _SAMPLED))
    first = np.searchsorted(held.leading, ranges.lo[some], "left")
    return float((np.searchsorted(held.leading, ranges.hi[some], "right") - first).mean()) if len(first) else 0.0
