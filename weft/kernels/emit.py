"""Pairs of row numbers: out of ranges of candidates, a chunk at a time, and those of pairs already found that pass.

The kernels that emit are resumable: `state` holds (hit, position in its range), so one probe row with millions of partners spans
as many chunks as it needs and memory stays at one chunk. Terms that the range or the run's zone already decides are
not passed in; with none or one left the loop is the short one.

Of pairs that a run was searched for (`keep_...`) the ones that pass move up, in place, and no branch depends on which do.
Of those that a tree found by number, `passing` copies the ones whose row has not expired and whose remaining terms hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.llvm import prefetch
from weft.types import Rows, Words

__all__ = [
    "Checks", "Hits", "Stored", "emit", "holds", "keep_apart", "keep_counted", "keep_either", "keep_last", "keep_passing",
    "keep_ranged", "passing",
]  # fmt: skip

NE, FBAND, LAST = 5, 7, 8  # as in weft.spec.terms.Op, which kernels must not import
_AHEAD = 8


class Hits(NamedTuple):
    """Probes with candidates: probe row `rows[which[h]]` may meet run positions `[start[h], end[h])`."""

    rows: Rows
    which: Rows
    start: Rows
    end: Rows


class Stored(NamedTuple):
    """A run: `row[s]` is the stored row of run position s, its words stand at `words[:, at_row[s]]`."""

    row: Rows
    at_row: Rows
    words: Words


class Checks(NamedTuple):
    """What is still to be checked per candidate: ranges per probe row, and the terms that are no range.

    `column[t]` of the stored row must lie in `[lo[t, p], hi[t, p]]`; `odd[k]` is (op, probe column, stored column) with
    its bounds in `odd_lo` and `odd_hi`.
    """

    column: Rows
    lo: Words
    hi: Words
    odd: Rows
    odd_lo: NDArray[np.float64]
    odd_hi: NDArray[np.float64]


@kernel
def as_float(word: int) -> float:
    """Return the double behind a word."""
    bits = word if word >= 0 else word ^ np.int64(0x7FFFFFFFFFFFFFFF)
    value: float = np.int64(bits).view(np.float64)
    return value


@kernel
def holds(probe: Words, p: int, words: Words, s: int, checks: Checks) -> bool:
    """Check every remaining term of one candidate pair."""
    for t in range(len(checks.column)):
        word = words[checks.column[t], s]
        if word < checks.lo[t, p] or word > checks.hi[t, p]:
            return False
    for k in range(len(checks.odd)):
        op, left, right = checks.odd[k, 0], checks.odd[k, 1], checks.odd[k, 2]
        if op == NE:
            if probe[left, p] == words[right, s]:
                return False
        elif op == FBAND:
            apart = as_float(probe[left, p]) - as_float(words[right, s])
            if not (checks.odd_lo[k] <= apart <= checks.odd_hi[k]):
                return False
        elif op == LAST:
            n = np.int64(checks.odd_hi[k])
            stored_first = probe[left + 1, p] - words[right, s]
            probe_first = words[right + 1, s] - probe[left, p]
            if not (1 <= stored_first <= n or 1 <= probe_first <= n):
                return False
    return True


@kernel
def emit_last(
    hits: Hits, row: Rows, at_row: Rows, probe: Words, words: Words, n: int, state: Rows, out_probe: Rows, out_stored: Rows
) -> int:  # fmt: skip
    """Fill the chunk with candidates in the count window; `probe` and `words` are (seq, opp) of either side."""
    room, filled = len(out_probe), 0
    h, at = state[0], state[1]
    total = len(hits.which)
    seqs, opps = words[0], words[1]
    while h < total and filled < room:
        start, stop = hits.start[h] + at, hits.end[h]
        p = hits.rows[hits.which[h]]
        seq, opp = probe[0, p], probe[1, p]
        count = min(stop - start, room - filled)
        for j in range(start, start + count):
            s = np.uint64(j)
            where = np.uint64(at_row[s])
            stored_first, probe_first = opp - seqs[where], opps[where] - seq
            out_probe[np.uint64(filled)] = p
            out_stored[np.uint64(filled)] = row[s]
            filled += (np.int64(stored_first >= 1) & np.int64(stored_first <= n)) | (
                np.int64(probe_first >= 1) & np.int64(probe_first <= n)
            )
        if start + count == stop:
            h, at = h + 1, 0
        else:
            at += count
    state[0], state[1] = h, at
    return filled


@kernel
def emit_all(hits: Hits, row: Rows, state: Rows, out_probe: Rows, out_stored: Rows) -> int:
    """Fill the chunk with every candidate."""
    room, filled = len(out_probe), 0
    h, at = state[0], state[1]
    total = len(hits.which)
    while h < total and filled < room:
        start, stop = hits.start[h] + at, hits.end[h]
        if h + _AHEAD < total:
            prefetch(row, hits.start[h + _AHEAD])
        p = hits.rows[hits.which[h]]
        count = min(stop - start, room - filled)
        for k in range(count):
            out_probe[filled + k] = p
            out_stored[filled + k] = row[start + k]
        filled += count
        if start + count == stop:
            h, at = h + 1, 0
        else:
            at += count
    state[0], state[1] = h, at
    return filled


@kernel
def emit_ranged(
    hits: Hits, row: Rows, at_row: Rows, words: Words, lo: Words, hi: Words, state: Rows, out_probe: Rows, out_stored: Rows
) -> int:  # fmt: skip
    """Fill the chunk with candidates whose one remaining word is in range; no branch on whether it is."""
    room, filled = len(out_probe), 0
    h, at = state[0], state[1]
    total = len(hits.which)
    while h < total and filled < room:
        if h + 2 * _AHEAD < total:
            prefetch(row, hits.start[h + 2 * _AHEAD])
        if h + _AHEAD < total:
            prefetch(words, at_row[hits.start[h + _AHEAD]])
        start, stop = hits.start[h] + at, hits.end[h]
        p = hits.rows[hits.which[h]]
        low, high = lo[p], hi[p]
        count = min(stop - start, room - filled)
        for j in range(start, start + count):
            s = np.uint64(j)  # unsigned: no test for indices from the end
            out_probe[np.uint64(filled)] = p
            out_stored[np.uint64(filled)] = row[s]
            word = words[np.uint64(at_row[s])]
            filled += np.int64(word >= low) & np.int64(word <= high)
        if start + count == stop:
            h, at = h + 1, 0
        else:
            at += count
    state[0], state[1] = h, at
    return filled


@kernel
def emit_checked(
    hits: Hits, row: Rows, at_row: Rows, probe: Words, words: Words, checks: Checks, state: Rows,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk with candidates that pass every remaining term."""
    room, filled = len(out_probe), 0
    h, at = state[0], state[1]
    total = len(hits.which)
    while h < total and filled < room:
        start, stop = hits.start[h] + at, hits.end[h]
        p = hits.rows[hits.which[h]]
        j = start
        while j < stop and filled < room:
            if holds(probe, p, words, at_row[j], checks):
                out_probe[filled] = p
                out_stored[filled] = row[j]
                filled += 1
            j += 1
        if j == stop:
            h, at = h + 1, 0
        else:
            at = j - hits.start[h]
    state[0], state[1] = h, at
    return filled


def emit(
    hits: Hits, stored: Stored, probe: Words, checks: Checks, state: Rows, out_probe: Rows, out_stored: Rows
) -> int:  # fmt: skip
    """Fill `out_probe` and `out_stored` from `state` on; return how many. Done when `state[0] == len(hits.which)`."""
    row, at_row, words = stored
    if len(checks.odd) == 1 and not len(checks.column) and checks.odd[0, 0] == LAST:
        left, right = checks.odd[0, 1:]
        n = int(checks.odd_hi[0])
        return emit_last(
            hits, row, at_row, probe[left : left + 2], words[right : right + 2], n, state, out_probe, out_stored
        )
    if len(checks.odd) or len(checks.column) > 1:
        return emit_checked(hits, row, at_row, probe, words, checks, state, out_probe, out_stored)
    if len(checks.column) == 1:
        word = words[checks.column[0]]
        return emit_ranged(hits, row, at_row, word, checks.lo[0], checks.hi[0], state, out_probe, out_stored)
    return emit_all(hits, row, state, out_probe, out_stored)


_FAR_AHEAD = 16


@kernel
def keep_counted(probe: Rows, stored: Rows, count: int, step: int, least: int, most: int) -> int:
    """Keep pairs with `least <= stored - step * probe <= most`: words that count, or stand still, are not looked up."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        probe[kept], stored[kept] = p, s
        apart = s - step * p
        kept += np.uint64(apart >= least) & np.uint64(apart <= most)
    return np.int64(kept)


@kernel
def keep_either(
    probe: Rows, stored: Rows, count: int, step: int, least: int, most: int, step2: int, least2: int, most2: int
) -> int:
    """Keep the pairs of which one or the other such condition holds."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        probe[kept], stored[kept] = p, s
        one, two = s - step * p, s - step2 * p
        kept += (np.uint64(one >= least) & np.uint64(one <= most)) | (
            np.uint64(two >= least2) & np.uint64(two <= most2)
        )
    return np.int64(kept)


@kernel
def keep_ranged(probe: Rows, stored: Rows, count: int, words: Words, lo: Words, hi: Words) -> int:
    """Keep the pairs whose stored word lies in the probe's range."""
    kept = np.uint64(0)
    for k in range(count):
        if k + _FAR_AHEAD < count:
            prefetch(words, np.int64(stored[np.uint64(k + _FAR_AHEAD)]))
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        word = words[np.uint64(s)]
        probe[kept], stored[kept] = p, s
        kept += np.uint64(word >= lo[np.uint64(p)]) & np.uint64(word <= hi[np.uint64(p)])
    return np.int64(kept)


@kernel
def keep_apart(probe: Rows, stored: Rows, count: int, asking: Words, words: Words, least: int, most: int) -> int:
    """Keep the pairs with `least <= stored word - probe's word <= most`; no such difference may leave the domain."""
    kept = np.uint64(0)
    for k in range(count):
        if k + _FAR_AHEAD < count:
            prefetch(words, np.int64(stored[np.uint64(k + _FAR_AHEAD)]))
            prefetch(asking, np.int64(probe[np.uint64(k + _FAR_AHEAD)]))
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        apart = words[np.uint64(s)] - asking[np.uint64(p)]
        probe[kept], stored[kept] = p, s
        kept += np.uint64(apart >= least) & np.uint64(apart <= most)
    return np.int64(kept)


@kernel
def keep_last(probe: Rows, stored: Rows, count: int, asking: Words, words: Words, n: int) -> int:
    """Keep the pairs in the count window; `asking` and `words` are (seq, opp) of the probe and of the stored rows."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = np.uint64(probe[np.uint64(k)]), np.uint64(stored[np.uint64(k)])
        stored_first, probe_first = asking[1, p] - words[0, s], words[1, s] - asking[0, p]
        probe[kept], stored[kept] = p, s
        kept += (np.uint64(stored_first >= 1) & np.uint64(stored_first <= n)) | (
            np.uint64(probe_first >= 1) & np.uint64(probe_first <= n)
        )
    return np.int64(kept)


@kernel
def passing(
    probes: Rows, numbers: Rows, base: int, probe: Words, words: Words, expiry: int, before: int, checks: Checks,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Report the pairs of one run, whose rows are numbered from `base` on; return how many.

    Rows with a word below `before` in column `expiry` (-1: none) have expired (002-11).
    """
    n, filled = words.shape[1], 0
    for k in range(len(numbers)):
        s, p = numbers[k] - base, probes[k]
        if s < 0 or s >= n or (expiry >= 0 and words[expiry, s] < before):
            continue
        if holds(probe, p, words, s, checks):
            out_probe[filled], out_stored[filled] = p, s
            filled += 1
    return filled


@kernel
def keep_passing(probe: Rows, stored: Rows, count: int, asking: Words, words: Words, checks: Checks) -> int:
    """Keep the pairs that pass every check."""
    kept = 0
    for k in range(count):
        p, s = probe[k], stored[k]
        probe[kept], stored[kept] = p, s
        kept += holds(asking, p, words, s, checks)
    return kept
