"""Runs in and out of being: a block becomes a run, several runs become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.index.layout import Layout
from weft.index.run import Run
from weft.kernels.gather import gather, invert, scatter
from weft.kernels.sort import merged_order, remembered_order
from weft.types import U32, WORD_MAX, WORD_MIN, Block, Rows, Words

__all__ = ["merge_runs", "run_of"]

_DEAD_SHARE = 0.25
"""Dead payload is taken out when it is this much of the payload; below, leaving it is cheaper than moving the rest."""


_SLAB = 1 << 14
"""Rows of the result that are woven together: some of its columns fit the second-level cache."""


def run_of(block: Block, layout: Layout, expiry: int | None) -> Run:
    """Sort a block into a run of its own."""
    columns = layout.columns
    order = remembered_order(block.words, columns) if columns else np.arange(len(block))
    words, u = _moved(block.words, block.u, order)
    newest = WORD_MIN if expiry is None else int(block.words[expiry].max())
    return Run(words, u, order, block.payload.combine_chunks(), newest, _span(words, layout))


def _span(words: Words, layout: Layout) -> int:
    """Return the longest stored interval, or a bound on it when the difference of two ends could wrap."""
    if layout.until is None or layout.key is None:
        return 0
    ends, begins = words[layout.until], words[layout.key]
    widest = int(ends.max()) - int(begins.min())
    wraps = widest > WORD_MAX or int(ends.min()) - int(begins.max()) < WORD_MIN
    return max(0, widest if wraps else int((ends - begins).max()))


def merge_runs(runs: Sequence[Run], layout: Layout, expiry: int | None, before: int) -> Run | None:
    """Merge runs, oldest first, without the rows that have expired; None when nothing is left."""
    live = [run for run in (_without_expired(run, expiry, before) for run in runs) if len(run)]
    if not live:
        return None
    if len(live) == 1:
        return live[0]
    n = sum(len(run) for run in live)
    words, u, row = np.empty((len(live[0].words), n), np.int64), np.empty(n, np.uint32), np.empty(n, np.int64)
    _weave(live, layout, words, u, row)
    payload = pa.concat_tables([run.payload for run in live]).combine_chunks()
    return Run(words, u, row, payload, max(run.newest for run in live), max(run.span for run in live))


def _weave(runs: Sequence[Run], layout: Layout, words: Words, u: U32, row: Rows) -> None:
    """Write the rows of all runs in order, slab by slab: a slab of the result stays in the cache while every run adds to it."""
    cuts = np.cumsum([0, *(len(run) for run in runs)])
    offsets = np.cumsum([0, *(run.payload.num_rows for run in runs)])
    n = int(cuts[-1])
    target = np.empty(n, np.int64) if layout.columns else np.arange(n)
    if layout.columns:
        keys = [np.concatenate([run.words[c] for run in runs]) for c in layout.columns]
        invert(merged_order(keys, cuts[:-1].tolist()), target)
    edges = np.arange(0, n + _SLAB, _SLAB)
    targets = [target[cuts[r] : cuts[r + 1]] for r in range(len(runs))]
    ends = [np.searchsorted(each, edges).tolist() for each in targets]
    for slab in range(len(edges) - 1):
        for run, offset, each, end in zip(runs, offsets.tolist(), targets, ends, strict=False):
            scatter(run.words, run.u, run.row, offset, each, end[slab], end[slab + 1], words, u, row)


def _without_expired(run: Run, expiry: int | None, before: int) -> Run:
    if expiry is None:
        return run
    keep = run.words[expiry] >= before
    if keep.all():
        return run
    rows = np.flatnonzero(keep)
    row, payload = run.row[rows], run.payload
    if len(rows) < (1 - _DEAD_SHARE) * payload.num_rows:
        wanted = np.zeros(payload.num_rows, np.bool_)
        wanted[row] = True
        row = (np.cumsum(wanted) - 1)[row]
        payload = payload.filter(pa.array(wanted)).combine_chunks()
    words, u = _moved(run.words, run.u, rows)
    return Run(words, u, row, payload, run.newest, run.span)


def _moved(words: Words, u: U32, order: Rows) -> tuple[Words, U32]:
    new_words, new_u = np.empty((len(words), len(order)), np.int64), np.empty(len(order), np.uint32)
    gather(words, u, order, new_words, new_u)
    return new_words, new_u
