"""The default index: sorted runs, searched by galloping; two inequalities by blocks when that is cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from weft.index.held import Held
from weft.index.plan import Plan
from weft.index.protocol import Matches
from weft.index.runset import RunSet, Scratch
from weft.index.twofold import second_inequality, stream_twofold
from weft.kernels.dominance import worthwhile
from weft.kernels.emit import Checks, Hits
from weft.kernels.radix import find_sliced
from weft.kernels.search import find_fenced, find_lexical, find_range

__all__ = ["Runs"]

_SPARSE = 2
"""A run with this many rows per probe is searched through a directory instead of being walked."""


class Runs(RunSet):
    """Sorted immutable runs: a probe block, sorted too, walks each of them."""

    name: ClassVar[str] = "runs"

    def _find(self, held: Held, plan: Plan, scratch: Scratch) -> Hits:
        ranges = plan.ranges(held.run.span)
        which, start, end = scratch
        if self.layout.equal is not None and self.layout.key is not None:
            hits = find_lexical(held.leading, held.keys[1], ranges.equal, ranges.lo, ranges.hi, which, start, end)
        elif self.layout.columns:
            lo, hi = (ranges.lo, ranges.hi) if self.layout.equal is None else (ranges.equal, ranges.equal)
            if len(held) < _SPARSE * len(lo):
                hits = find_range(held.leading, lo, hi, which, start, end)
            elif held.radix is not None:
                hits = find_sliced(held.leading, held.radix, lo, hi, which, start, end)
            else:
                hits = find_fenced(held.leading, held.fences, lo, hi, which, start, end)
        else:
            hits = len(ranges.rows)
            which[:hits], start[:hits], end[:hits] = np.arange(hits), 0, len(held)
        return Hits(ranges.rows, which[:hits], start[:hits], end[:hits])

    def _matches(self, held: Held, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        candidates = int((hits.end - hits.start).sum())
        if len(checks.column) and worthwhile(len(held), len(hits.which), candidates):
            second = second_inequality(held, hits, checks)
            if second is not None:
                return stream_twofold(held, plan, hits, checks, second, chunk)
        return super()._matches(held, plan, hits, checks, chunk)
