"""Runs in and out of being: a block becomes a run; which runs become one, and how.

Which ones is PIM-Tree's rule over a few tiers. The oldest run is the paper's T_S, all younger ones are its T_I (002-10). T_I is
merged into T_S when it reaches `ratio` of it; expired rows go in that merge. With a ratio a little above 1 and a sliding window
all of T_S has expired by then and is dropped without being read. Inside T_I runs form tiers: those of one tier differ in size by
less than `width` (by default `fanout`), and `fanout` of them make one. Wide tiers of few runs each are quick to probe and move
rows more often; narrow ones of many runs do the contrary. Runs too small to matter are merged at once. Up to `few` runs T_S is
left alone: a window of a few batches is cheaper to probe run by run than to write again.

The decision is a function of the sizes alone: replaying a batch decides alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from weft.errors import SpecError
from weft.index.run import IndexedRun, Layout, Run
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.merge_packed import Piece, merge_pieces, without_first
from weft.kernels.packed import Frame, Packed, pack
from weft.kernels.sort import remembered
from weft.types import WORD_MAX, WORD_MIN, Block, Words

__all__ = ["IN_MEMORY", "PERSISTED", "MergePolicy", "merge_runs", "run_of"]


def run_of(block: Block, layout: Layout, expiry: int | None, frame: Frame | None = None) -> IndexedRun:
    """Sort a block into a run of its own; packed, if there is a frame."""
    columns = layout.columns
    newest = WORD_MIN if expiry is None else block.limits[expiry][1]
    span = _span(block.words, layout)
    if not columns:
        return IndexedRun(Run((block,), np.arange(len(block), dtype=np.int32), newest, span), layout)
    order = remembered(block.words, columns)
    packed = None if frame is None else pack(order.keys[0], order.rows, frame)
    return IndexedRun(Run((block,), order.rows, newest, span), layout, order.keys, packed)


def _span(words: Words, layout: Layout) -> int:
    """Return the longest stored interval, or a bound on it when the difference of two ends could wrap."""
    if layout.until is None or layout.key is None:
        return 0
    ends, begins = words[layout.until], words[layout.key]
    widest = int(ends.max()) - int(begins.min())
    wraps = widest > WORD_MAX or int(ends.min()) - int(begins.max()) < WORD_MIN
    return max(0, widest if wraps else int((ends - begins).max()))


def merge_runs(held: Sequence[IndexedRun], layout: Layout, expiry: int | None, before: int) -> IndexedRun | None:
    """Merge runs, oldest first, without the rows that have expired; None when nothing is left."""
    parts: list[Block] = []
    pieces: list[tuple[IndexedRun, int]] = []
    shift = 0
    for number, each in enumerate(held):
        left, dead = _without_expired(each, expiry, before, behind=number > 0)
        pieces.append((left, shift - dead))
        parts += _tail(left.run.parts, dead)
        shift += left.run.rows - dead
    newest, span = max(each.run.newest for each in held), max(each.run.span for each in held)
    packed, whole = _merged_words(pieces), _coalesced(parts)
    if packed is not None:
        made = IndexedRun(Run(whole, packed, newest, span), layout, packed=packed)
    else:
        merged = merge_all([Sorted(left.keys, left.run.row, by) for left, by in pieces])
        made = IndexedRun(Run(whole, merged.row, newest, span), layout, merged.keys)
    if not len(made):
        return None
    if all(left is each for (left, _), each in zip(pieces, held, strict=True)):
        made.inherit(held)
    return made


def _merged_words(pieces: Sequence[tuple[IndexedRun, int]]) -> Packed | None:
    """Merge runs that are packed in one frame; None when they are not."""
    packed = [left.packed for left, _ in pieces if left.packed is not None]
    if len(packed) < len(pieces) or any(each.frame != packed[0].frame for each in packed):
        return None
    shifted = zip(packed, (by for _, by in pieces), strict=True)
    return merge_pieces(
        [Piece(without_first(each, -by) if by < 0 else each.words, by) for each, by in shifted], packed[0]
    )


def _without_expired(held: IndexedRun, expiry: int | None, before: int, behind: bool) -> tuple[IndexedRun, int]:
    """Return the run, and how many of its first rows have expired and are still to be left out.

    Rows mostly expire in the order they came, and the oldest run before all others: then nothing but a number is needed.
    `behind` says that there is an older run; then, or in any other order, expired rows are taken out here.
    """
    run, layout = held.run, held.layout
    if expiry is None or held.zone(expiry)[0] >= before:
        return held, 0
    base = held.counts_from(expiry)
    if base is not None and not behind:
        return held, min(before - base, run.rows)
    dead, mixed = 0, False
    for part in run.parts:
        low, high = part.limits[expiry]
        if high < before and not mixed:
            dead += len(part)
        elif low < before:
            expired = part.words[expiry] < before
            count = int(expired.sum())
            if mixed or behind or not bool(expired[:count].all()):
                break
            dead, mixed = dead + count, True
        else:
            mixed = True
    else:
        if not behind or not dead:
            return held, dead
    stays = run.column(expiry)[run.row] >= before
    kept = IndexedRun(Run(run.parts, run.row[stays], run.newest, run.span).compacted(), layout)
    if held.packed is not None:
        kept.pack(held.packed.frame)
    return kept, 0


def _tail(parts: Sequence[Block], dead: int) -> list[Block]:
    """Return the parts without the first `dead` rows."""
    for number, part in enumerate(parts):
        if dead < len(part):
            return [part.tail(dead), *parts[number + 1 :]]
        dead -= len(part)
    return []


_MOST = 1024


def _coalesced(parts: Sequence[Block]) -> tuple[Block, ...]:
    """Put small neighbours together when there are many, so that their number stays bounded."""
    if len(parts) <= _MOST:
        return tuple(parts)
    enough = sum(len(part) for part in parts) // (_MOST // 4)
    groups: list[list[Block]] = [[]]
    for part in parts:
        if groups[-1] and sum(len(block) for block in groups[-1]) + len(part) > enough:
            groups.append([])
        groups[-1].append(part)
    wholes = [Block.concat(group) for group in groups]
    return tuple(replace(whole, payload=whole.payload.combine_chunks()) for whole in wholes)


@dataclass(frozen=True)
class MergePolicy:
    """When runs are merged.

    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 100, 50])
    3
    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 100, 50, 8])
    2
    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 600, 500])
    0
    >>> MergePolicy(ratio=1, fanout=4, small=60, few=4).merge_from([1000, 600, 500])
    3
    """

    ratio: float = 1.0
    """Younger runs join the oldest one when they hold this share of its rows (002-10)."""
    fanout: int = 4
    """How many runs of one tier make one of the next."""
    small: int = 2048
    """Runs of fewer rows are merged at once."""
    few: int = 0
    """Up to this many runs the oldest one is left alone."""
    width: int = 0
    """By how much the sizes of one tier's runs may differ; 0: by `fanout`."""

    def __post_init__(self) -> None:
        if not self.ratio > 0:
            raise SpecError.of(f"merge_ratio={self.ratio}.", "It is a share of T_S, more than 0.", "use 1.")

    def merge_from(self, sizes: Sequence[int]) -> int:
        """Return the position from which on all runs, oldest first, are merged into one; `len(sizes)` for none."""
        left = list(sizes)
        while True:
            if len(left) > max(self.few, 1) and sum(left[1:]) >= self.ratio * left[0]:
                return 0
            cut = self._tier_cut(left)
            if cut == len(left):
                return cut if len(left) == len(sizes) else cut - 1
            left[cut:] = [sum(left[cut:])]

    def _tier_cut(self, sizes: Sequence[int]) -> int:
        """Return where the first overfull tier at the young end begins. T_S, the first run, is in none."""
        tiers = [_tier(size, self.width or self.fanout, self.small) for size in sizes]
        for tier in range(max(tiers[1:], default=-1) + 1):
            cut = len(tiers)
            while cut > 1 and tiers[cut - 1] <= tier:
                cut -= 1
            if tiers[cut:].count(tier) >= (self.fanout if tier else 2):
                return cut
        return len(sizes)


@lru_cache(maxsize=1024)
def _tier(size: int, width: int, small: int) -> int:
    tier = 0
    while size >= small:
        size //= width
        tier += 1
    return tier


IN_MEMORY = MergePolicy(ratio=0.2, fanout=2, few=2, width=8)
"""A merge moves keys and row numbers, so it is cheap, and fewer runs are quicker to probe."""

PERSISTED = MergePolicy(ratio=1.25, fanout=4, few=4, width=4)
"""A merge also writes the rows, so it is rare. 002-27 finds a ratio of 1 best; a little more lets the oldest run of a sliding
window expire as a whole instead of being written again."""
