"""Runs in and out of being: a block becomes a run, several runs become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.index.held import Held
from weft.index.layout import Layout
from weft.index.run import Run
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.sort import remembered_order
from weft.types import WORD_MAX, WORD_MIN, Block, Words

__all__ = ["merge_runs", "run_of"]


def run_of(block: Block, layout: Layout, expiry: int | None) -> Held:
    """Sort a block into a run of its own."""
    columns = layout.columns
    order = remembered_order(block.words, columns) if columns else np.arange(len(block))
    newest = WORD_MIN if expiry is None else int(block.words[expiry].max())
    run = Run(block.words, block.u, order, block.payload.combine_chunks(), newest, _span(block.words, layout))
    return Held(run, layout)


def _span(words: Words, layout: Layout) -> int:
    """Return the longest stored interval, or a bound on it when the difference of two ends could wrap."""
    if layout.until is None or layout.key is None:
        return 0
    ends, begins = words[layout.until], words[layout.key]
    widest = int(ends.max()) - int(begins.min())
    wraps = widest > WORD_MAX or int(ends.min()) - int(begins.max()) < WORD_MIN
    return max(0, widest if wraps else int((ends - begins).max()))


def merge_runs(held: Sequence[Held], layout: Layout, expiry: int | None, before: int) -> Held | None:
    """Merge runs, oldest first, without the rows that have expired; None when nothing is left."""
    runs: list[Run] = []
    pieces: list[Sorted] = []
    shift = 0
    for each in held:
        run, dead = _expired_head(each.run, expiry, before)
        keys = each.keys if run.row is each.run.row else run.sorted_by(layout.columns)
        pieces.append(Sorted(keys, run.row, dead, shift - dead))
        runs.append(_tail(run, dead))
        shift += len(runs[-1].u)
    merged = merge_all(pieces)
    if not len(merged.row):
        return None
    full = [run for run in runs if len(run.u)]
    words = np.concatenate([run.words for run in full], axis=1) if len(full) > 1 else full[0].words
    u = np.concatenate([run.u for run in full]) if len(full) > 1 else full[0].u
    payload = pa.concat_tables([run.payload for run in full]).combine_chunks()
    newest, span = max(run.newest for run in runs), max(run.span for run in runs)
    return Held(Run(words, u, merged.row, payload, newest, span), layout, merged.keys)


def _expired_head(run: Run, expiry: int | None, before: int) -> tuple[Run, int]:
    """Return the run and how many of its first rows have expired; others that have are taken out of it first.

    Rows mostly expire in the order they came, and then nothing but a number is needed.
    """
    if expiry is None:
        return run, 0
    expired = run.words[expiry] < before
    count = int(expired.sum())
    if not count or bool(expired[:count].all()):
        return run, count
    kept = Run(run.words, run.u, run.row[~expired[run.row]], run.payload, run.newest, run.span)
    return kept.compacted(), 0


def _tail(run: Run, first: int) -> Run:
    if not first:
        return run
    return Run(run.words[:, first:], run.u[first:], run.row, run.payload.slice(first), run.newest, run.span)
