"""The default index: sorted runs, each the bottom of a CSS-tree; two inequalities by blocks when that is cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from weft.index.compact import run_of
from weft.index.framing import Framing
from weft.index.held import Held
from weft.index.keep import Keep, keeper
from weft.index.plan import Plan, Remaining, Scratch
from weft.index.protocol import Matches
from weft.index.ranges import Ranges
from weft.index.runset import RunSet
from weft.index.twofold import second_inequality, stream_twofold
from weft.kernels.dominance import worthwhile
from weft.kernels.emit import Checks, Hits
from weft.kernels.near import approach, emit_near
from weft.kernels.packed import Beside
from weft.kernels.search import Fences, find_lexical, find_range
from weft.types import Block, Words

__all__ = ["Runs"]

_NEAR = 8
"""Up to this many rows per range, checks that look words up are made after emission."""
_SAMPLED = 32


class Runs(RunSet):
    """Sorted immutable runs: a probe block, sorted too, walks each of them."""

    name: ClassVar[str] = "runs"

    @cached_property
    def _framing(self) -> Framing:
        return Framing(self.layout.columns[0])

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
            keep = keeper(held, plan, remaining)
            if keep is not None:
                ranges = plan.ranges(held.run.span)
                searched = self._searched(held, ranges)
                if keep.looks_nothing_up or searched.rows_per_range() <= _NEAR:
                    return self._near(held, plan, ranges, searched, keep, chunk)
        return super()._pairs(held, plan, remaining, chunk)

    def _near(
        self, held: Held, plan: Plan, ranges: Ranges, searched: _Searched, keep: Keep, chunk: int
    ) -> Iterator[Matches]:
        """Search and emit in one pass, then check what remains on the pairs found."""
        run, m, state = held.run, len(ranges.rows), np.array([0, -1, 0])
        near = approach(searched.keys, searched.fences, searched.lo)
        probe, stored = (buffer[:chunk] for buffer in plan.buffers)  # stay in the cache; what was found is copied out
        while state[0] < m:
            count = emit_near(
                searched.keys, searched.row, searched.fences.fences, *near, searched.lo, searched.hi, ranges.rows, state,
                probe, stored,
            )  # fmt: skip
            count = keep.of(probe, stored, count)
            if count:
                yield Matches(run, probe[:count].copy(), stored[:count].copy())

    def _searched(self, held: Held, ranges: Ranges) -> _Searched:
        """Return what the ranges are searched in: packed words, if there is a frame for them."""
        frame = self._framing.of(self._held)
        if frame is None:
            return _Searched(held.leading, held.run.row, held.fences, ranges.lo, ranges.hi)
        packed = held.pack(frame)
        return _Searched(packed.words, frame.mask, packed.fences, *ranges.packed(frame))

    def _new(self, block: Block) -> Held:
        frame = self._framing.with_block(self._held, block) if len(self.layout.columns) == 1 else None
        return run_of(block, self.layout, self.expiry, frame)

    def _matches(self, held: Held, plan: Plan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
        candidates = int((hits.end - hits.start).sum())
        if len(checks.column) and worthwhile(len(held), len(hits.which), candidates):
            second = second_inequality(held, hits, checks)
            if second is not None:
                return stream_twofold(held, plan, hits, checks, second, chunk)
        return super()._matches(held, plan, hits, checks, chunk)


class _Searched(NamedTuple):
    """Sorted keys with their rows, and the ranges that are looked for."""

    keys: Words
    row: Beside
    fences: Fences
    lo: Words
    hi: Words

    def rows_per_range(self) -> float:
        """Estimate how many rows a range holds, from a few of them."""
        some = slice(None, None, max(1, len(self.lo) // _SAMPLED))
        first = np.searchsorted(self.keys, self.lo[some], "left")
        counts = np.searchsorted(self.keys, self.hi[some], "right") - first
        return float(counts.mean()) if len(counts) else 0.0
