"""Runs in and out of being: a block becomes a run, several runs become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.index.indexed_run import IndexedRun
from weft.index.run import Layout, Run
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.merge_packed import Piece, merge_pieces, without_first
from weft.kernels.packed import Frame, Packed, pack
from weft.kernels.sort import remembered
from weft.types import WORD_MAX, WORD_MIN, Block, Words

__all__ = ["merge_runs", "run_of"]


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
