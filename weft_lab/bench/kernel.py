"""How fast the default index joins: band join over a count window, one core, pairs as row numbers.

The set-up is that of `btree_join.cpp`: two streams in turn, uniform keys, each tuple joins the last 2**w tuples of the
other stream, two partners each. Here tuples come in blocks of 2**b per stream. Every row expires exactly: the window
is a LAST term. Probe, insert, expire, merge and emission are all in the time, over whole merge cycles.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.index import Probe, make_index
from weft.spec.terms import Access, Op, Term
from weft.types import SIDES, Block

__all__ = ["measure", "run"]

_DOMAIN = 1 << 40
_CHUNK = 1 << 20
KEY, SEQ = 0, 1  # SEQ + 1 is the number of tuples of the other stream that came before


class _Stream:
    """One stream: blocks of uniform keys with their sequence numbers."""

    def __init__(self, seed: int, batch: int, lead: int) -> None:
        self._random, self._batch, self._lead, self._next = np.random.default_rng(seed), batch, lead, 0

    def block(self) -> Block:
        n, first = self._batch, self._next
        self._next += n
        words = np.empty((3, n), np.int64)
        words[KEY] = self._random.integers(0, _DOMAIN, n)
        words[SEQ] = np.arange(first, first + n)
        words[SEQ + 1] = words[SEQ] + self._lead  # in turn, the right stream leads by one tuple
        payload = pa.table({"id": pa.array(words[SEQ])})
        return Block(words, self._random.integers(0, 1 << 32, n, dtype=np.uint32), payload)


def measure(
    log_window: int, log_batch: int, seconds: float = 1.0, index: str = "runs", *, restored: bool = False
) -> tuple[float, float]:  # fmt: skip
    """Return (million tuples per second, pairs per tuple) in steady state.

    `restored` has each batch begin with what a state store would hold, as both runtimes do.
    """
    window, batch = 1 << log_window, 1 << log_batch
    width = _DOMAIN // window
    band, last = Term(KEY, Op.BAND, KEY, -width, width), Term(SEQ, Op.LAST, SEQ, 0, window)
    terms, access = (band, last), Access(within=band)
    left, right = (make_index(index, access, SEQ) for _ in SIDES)
    lefts, rights = _Stream(1, batch, 1), _Stream(2, batch, 0)
    done = 0

    def step() -> tuple[float, int]:
        nonlocal done, left, right
        l_block, r_block = lefts.block(), rights.block()
        begin, pairs = time.perf_counter(), 0
        if restored:
            kept = [held.snapshot() for held in (left, right)]
            left, right = (make_index(index, access, SEQ) for _ in SIDES)
            left.restore(kept[0], done - window)
            right.restore(kept[1], done - window)
        for matches in left.probe(Probe(r_block, access, terms), _CHUNK):
            pairs += len(matches)
        right.expire(done - window)
        right.insert(r_block)
        for matches in right.probe(Probe(l_block, access, terms), _CHUNK):
            pairs += len(matches)
        done += batch
        left.expire(done - window)
        left.insert(l_block)
        return time.perf_counter() - begin, pairs

    while done < 2 * window:  # fill the window, then once more: merges happen as they always will
        step()
    gc.collect()
    gc.freeze()  # what was imported: a look through all of it, now and then, is no part of a join
    # Whole windows, so that the rare large merges weigh what they weigh in the long run.
    spent, pairs, tuples = 0.0, 0, 0
    while spent < seconds or tuples < 2 * window:
        for _ in range(max(1, window // batch)):
            took, found = step()
            spent, pairs, tuples = spent + took, pairs + found, tuples + 2 * batch
    gc.unfreeze()
    return tuples / spent / 1e6, pairs / tuples


def run(
    windows: Sequence[int], batches: Sequence[int], seconds: float = 1.0, repeat: int = 3
) -> list[dict[str, float]]:
    """Measure every window with every batch, best of `repeat`; refuse a run whose match rate is off."""
    rows: list[dict[str, float]] = []
    for log_window in windows:
        for log_batch in batches:
            results = [measure(log_window, log_batch, seconds) for _ in range(repeat)]
            rate = results[0][1]
            assert 1.9 < rate < 2.1, f"match rate {rate:.2f} at window 2**{log_window}, batch 2**{log_batch}"
            best = max(speed for speed, _ in results)
            rows.append({"log2_window": log_window, "log2_batch": log_batch, "mtuples_per_s": round(best, 3)})
    return rows
