"""Candidate pairs by number: keep those whose row has not expired and whose remaining terms hold."""

from __future__ import annotations

from weft.kernels.emit import Checks, holds
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["passing"]


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
