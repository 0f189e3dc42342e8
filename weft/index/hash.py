"""Hash: equality finds its group by one look-up, the range word is bisected inside it."""

from __future__ import annotations

from typing import ClassVar

from weft.errors import SpecError
from weft.index.held import Held
from weft.index.layout import Layout
from weft.index.plan import Plan, Scratch
from weft.index.runset import RunSet
from weft.kernels.directory import find_grouped
from weft.kernels.emit import Hits

__all__ = ["Hash"]


class Hash(RunSet):
    """Sorted runs with an open-addressing directory over the groups of equal words."""

    name: ClassVar[str] = "hash"

    def _laid_out(self, layout: Layout) -> Layout:
        if layout.equal is None:
            raise SpecError.of("The hash index needs an equality.", "The predicate has none.", "use the runs index.")
        return layout

    def _find(self, held: Held, plan: Plan, scratch: Scratch) -> Hits:
        ranges = plan.ranges(held.run.span)
        which, start, end = scratch
        # Without a range word the group is the answer, and the equality word itself serves as a key that never excludes.
        keys = held.leading if self.layout.key is None else held.keys[1]
        hits = find_grouped(held.leading, keys, held.directory, ranges.equal, ranges.lo, ranges.hi, which, start, end)
        return Hits(ranges.rows, which[:hits], start[:hits], end[:hits])
