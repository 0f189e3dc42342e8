"""Two inequalities over one run, by blocks: sets up `weft.kernels.two_inequalities` and streams its pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from weft.index.indexed_run import IndexedRun
from weft.index.probe_plan import ProbePlan
from weft.index.protocol import Matches
from weft.kernels.emit import Checks, Hits
from weft.kernels.sort import order_of
from weft.kernels.two_inequalities import RADIX, build_level, head_limits, levels, walk_level
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

__all__ = ["Second", "second_inequality", "stream_blocks"]


class Second(NamedTuple):
    """Check number `check` is one-sided: `upward` asks for words of at least `ends`, otherwise of at most."""

    check: int
    upward: bool
    ends: Words
    suffix: bool


def second_inequality(indexed: IndexedRun, hits: Hits, checks: Checks) -> Second | None:
    """Find the second of two inequalities, if all candidate ranges share one end of the run."""
    suffix = bool((hits.end == len(indexed)).all())
    if not suffix and not bool((hits.start == 0).all()):
        return None
    if len(indexed) > np.iinfo(np.int32).max:
        return None
    for check in range(len(checks.column)):
        if bool((checks.hi[check] == WORD_MAX).all()):
            return Second(check, True, checks.lo[check], suffix)
        if bool((checks.lo[check] == WORD_MIN).all()):
            return Second(check, False, checks.hi[check], suffix)
    return None


def stream_blocks(
    indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, second: Second, chunk: int
) -> Iterator[Matches]:  # fmt: skip
    """Yield the pairs level by level; memory is one level, the probe and one chunk."""
    run, block, n = indexed.run, plan.probe.block, len(indexed)
    words = run.words
    y = words[checks.column[second.check]][run.row]
    order = order_of([y])  # run positions by ascending y
    rows = hits.rows[hits.which]
    limit = head_limits(y[order], second.ends[rows], second.upward)
    position: Rows = np.ascontiguousarray(order[::-1]) if second.upward else order
    places = (n - 1 - position if second.suffix else position).astype(np.int32)
    length = n - hits.start if second.suffix else hits.end.copy()
    rest = _without(checks, second.check)
    row = run.row[position]
    level = np.empty(n, np.int32)
    room = min(chunk, max(1024, n + len(block)))
    for bits in range(0, RADIX * levels(n), RADIX):
        build_level(places, bits, level, np.empty(((n - 1) >> bits) + 1, np.int32))
        state = np.zeros(3, np.int64)
        while state[0] < len(length):
            probe, stored = np.empty(room, np.int32), np.empty(room, np.int32)
            count = walk_level(level, bits, length, limit, rows, row, block.words, words, rest, state, probe, stored)
            if count:
                yield Matches.filled(run, probe, stored, count)
            if count == room:
                room = min(chunk, 2 * room)


def _without(checks: Checks, check: int) -> Checks:
    keep = [t for t in range(len(checks.column)) if t != check]
    return checks._replace(column=checks.column[keep], lo=checks.lo[keep], hi=checks.hi[keep])
