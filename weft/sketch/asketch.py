"""Augmented sketch: an exact filter of the heaviest keys in front of a count-min sketch (Alg. 1, 000-06..000-15).

The filter L1 holds a few keys with a new count N_c and an old count O_c; all other keys are counted in L2. A key whose
estimate in L2 exceeds the least N_c of L1 takes that place (a *swap*). `N_c - O_c` is what was counted exactly while the
key was in L1.

Alg. 1 looks at one tuple at a time. `update` gives the same answers for a whole batch: between two swaps L1 has fixed
keys, so that a stretch of tuples is counted at once, up to the first one that swaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.sketch.countmin import CountMin, Counts
from weft.types import Bools, Words

__all__ = ["ASketch", "heaviest"]

_LEAST, _MOST = 16, 4096
"""Tuples counted at once: few after a swap, more and more without one."""


class ASketch:
    """Filter and count-min sketch.

    Parameters
    ----------
    top
        Keys in the filter, the paper's phi: 32 (000-10).
    depth, width, seed
        The count-min sketch behind it.
    """

    def __init__(self, top: int = 32, depth: int = 8, width: int = 512, seed: int = 0) -> None:
        if top < 1:
            raise SpecError.of(f"A filter of {top} keys.", "It holds at least one.", "try 32.")
        self.top = top
        self.keys: Words = np.zeros(0, np.int64)
        self.new: Counts = np.zeros(0, np.int64)
        self.old: Counts = np.zeros(0, np.int64)
        self.rest = CountMin(depth, width, seed)
        self.swaps = 0

    def add(self, key: int) -> bool:
        """Count one tuple; tell whether its key is hot."""
        return bool(self.update(np.array([key], np.int64))[0])

    def update(self, keys: Words, weights: Counts | None = None) -> Bools:
        """Count tuples in their order; tell of each whether Alg. 1 calls its key hot.

        With weights a tuple stands for so many equal ones in a row; it is hot if the last of them is.
        """
        weights = np.ones(len(keys), np.int64) if weights is None else weights
        hot = np.zeros(len(keys), np.bool_)
        at, stretch = 0, _LEAST
        while at < len(keys):
            done, swapped = self._stretch(keys[at : at + stretch], weights[at : at + stretch], hot[at : at + stretch])
            at += done
            stretch = max(_LEAST, stretch // 2) if swapped else min(_MOST, 2 * stretch)
        return hot

    def _stretch(self, keys: Words, weights: Counts, hot: Bools) -> tuple[int, bool]:
        """Count tuples up to and including the first that changes the keys of L1; return how many, and if one did."""
        held = self.keys[:, None] == keys[None, :]  # lines 1-2: a scan of L1
        inside = held.any(axis=0)
        outside = np.flatnonzero(~inside)
        if len(outside) and len(self.keys) < self.top:
            return self._fill(keys, weights, outside, hot), True
        cells = self.rest.cells(keys[outside])
        before = self._before(cells, weights[outside])
        swap, least = self._first_swap(held, weights, outside, before)
        stop = len(keys) if swap is None else int(outside[swap])
        self._count(held, weights, stop)  # line 3
        hot[:stop] = inside[:stop]
        if swap is None:
            self.rest.add_cells(cells, weights[outside])  # line 9; lines 14-15: not hot
            return len(keys), False
        need = max(1, least + 1 - int(before[swap]))  # so many tuples of this key until line 10 is true
        counted = weights[outside[: swap + 1]].copy()
        counted[-1] = need
        self.rest.add_cells(cells[:, : swap + 1], counted)
        self._swap(int(keys[stop]), int(before[swap]) + need, int(weights[stop]) - need)
        hot[stop] = True
        return stop + 1, True

    def _fill(self, keys: Words, weights: Counts, outside: Words, hot: Bools) -> int:
        """Lines 5-7, where `|L1| < phi` is meant (000-12): new keys enter while there is room; return how many tuples."""
        _, first = np.unique(keys[outside], return_index=True)
        first = np.sort(outside[first])
        room = self.top - len(self.keys)
        stop = int(first[room]) if len(first) > room else len(keys)
        entering = first[:room]
        self.keys = np.concatenate([self.keys, keys[entering]])
        self.new = np.concatenate([self.new, np.zeros(len(entering), np.int64)])
        self.old = np.concatenate([self.old, np.zeros(len(entering), np.int64)])
        self._count(self.keys[:, None] == keys[None, :stop], weights, stop)
        hot[:stop] = True
        hot[entering] = weights[entering] > 1  # not hot at first sight, hot from the second on (000-14)
        return stop

    def _count(self, held: Bools, weights: Counts, stop: int) -> None:
        self.new = self.new + held[:, :stop] @ weights[:stop]

    def _before(self, cells: NDArray[np.int64], weights: Counts) -> Counts:
        """Return the estimate of each outside tuple just before it is counted: the table and its predecessors here."""
        if not cells.shape[1]:
            return np.zeros(0, np.int64)
        least = np.full(cells.shape[1], np.iinfo(np.int64).max)
        for row in range(self.rest.depth):
            order = np.argsort(cells[row], kind="stable")
            ordered, total = cells[row][order], np.cumsum(weights[order]) - weights[order]
            starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
            sizes = np.diff(np.append(starts, len(ordered)))
            running = np.empty(len(order), np.int64)
            running[order] = total - np.repeat(total[starts], sizes)
            np.minimum(least, self.rest.table[row][cells[row]] + running, out=least)
        return least

    def _first_swap(self, held: Bools, weights: Counts, outside: Words, before: Counts) -> tuple[int | None, int]:
        """Return the first outside tuple whose estimate exceeds the least N_c at its time, and that least N_c."""
        after = before + weights[outside]
        possible = np.flatnonzero(after > self.new.min()) if len(after) else after
        if not len(possible):
            return None, 0
        running = self.new[:, None] + np.cumsum(held[:, : outside[possible[-1]] + 1] * weights[: held.shape[1]][
            None, : outside[possible[-1]] + 1], axis=1)  # fmt: skip
        least = running[:, outside[possible]].min(axis=0)
        swaps = np.flatnonzero(after[possible] > least)
        return (None, 0) if not len(swaps) else (int(possible[swaps[0]]), int(least[swaps[0]]))

    def _swap(self, key: int, estimate: int, more: int) -> None:
        """Lines 10-13; the key that leaves is saved before its place is overwritten (000-13)."""
        place = int(self.new.argmin())
        gone, exact = self.keys[place], self.new[place] - self.old[place]
        self.keys = self.keys.copy()
        self.keys[place], self.new[place], self.old[place] = key, estimate + more, estimate
        if exact > 0:  # counted in its own cells; the count-min sketch is never decremented (000-09)
            self.rest.add(np.array([gone]), np.array([exact]))
        self.swaps += 1

    def estimate(self, keys: Words) -> Counts:
        """Return N_c of keys in the filter, the sketch's estimate of the others."""
        found = self.rest.estimate(keys)
        held = self.keys[:, None] == np.asarray(keys)[None, :]
        inside = held.any(axis=0)
        if inside.any():
            found[inside] = self.new[held[:, inside].argmax(axis=0)]
        return found

    def hottest(self) -> tuple[Words, Counts]:
        """Return the filter's keys with their counts, the heaviest first, ties by key."""
        order = np.lexsort((self.keys, -self.new))
        return self.keys[order], self.new[order]

    def halve(self) -> None:
        """Let the past count half. The paper never ages its sketch (000-15); whoever wants to calls this."""
        exact = (self.new - self.old) // 2
        self.old = self.old // 2
        self.new = self.old + exact
        self.rest.halve()

    def to_json(self) -> dict[str, Any]:
        """Return the sketch as JSON data."""
        return {
            "top": self.top, "keys": self.keys.tolist(), "new": self.new.tolist(), "old": self.old.tolist(),
            "swaps": self.swaps, "rest": self.rest.to_json(),
        }  # fmt: skip

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> ASketch:
        """Read it back."""
        rest = CountMin.of_json(data["rest"])
        made = cls(data["top"], rest.depth, rest.width, rest.seed)
        made.rest, made.swaps = rest, data["swaps"]
        made.keys, made.new, made.old = (np.array(data[name], np.int64) for name in ("keys", "new", "old"))
        return made


def heaviest(sketches: Sequence[ASketch], top: int) -> tuple[Words, Counts]:
    """Return the heaviest keys of all streams together, heaviest first, with estimates that are never too small.

    An augmented sketch does not merge into another one: what a filter counted exactly is in no cell. But `N_c - O_c` of all
    filters and the sum of all count-min sketches together hold every tuple once. A key that is among the `top` of all is
    in some filter unless its share everywhere is small.
    """
    if not sketches:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    filtered = np.concatenate([sketch.keys for sketch in sketches])
    exact = np.concatenate([sketch.new - sketch.old for sketch in sketches])
    keys, place = np.unique(filtered, return_inverse=True)
    rest = sketches[0].rest
    for sketch in sketches[1:]:
        rest = rest.merge(sketch.rest)
    counts = np.bincount(place, exact, len(keys)).astype(np.int64) + rest.estimate(keys)
    order = np.lexsort((keys, -counts))[:top]
    return keys[order], counts[order]
