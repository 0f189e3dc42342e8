"""Hot keys in an index of their own, all others in a chain of sub-indexes (000-23, 000-25..000-29).

A key that fills every sub-index of a chain is found, kept and expired again in each of them. Here rows of the few hottest
keys go to the hot index, so that the chain's sub-indexes stay small and seldom share a key.

- New rows go to the hot runs or to the active link of the chain; a link that is full is archived, and dropped whole when
  its youngest row has expired (000-25).
- A key that turns hot leaves its old rows in the chain (000-26). A key that turns cold moves to the active link with all
  its rows, which keep their timestamps (000-27, 000-28): the window, checked when probed, does not mistake them for young.
- The paper lets nothing expire of a key that stays hot (000-29). Hot rows form runs by age here too: a run that has
  expired is dropped, and a merge leaves out what has.

An index is its runs and nothing else, so nothing may be remembered beside them: a run at the head of the list with at most
`top` distinct keys *is* hot. Which keys are the hottest is decided by exact counts in the window, which sorted runs give in
a few bisections; the paper asks its sketch, which counts all of the past.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.run import IndexedRun
from weft.index.run_building import run_of
from weft.index.runs import Runs
from weft.types import Block, Bools, Rows, Words

__all__ = ["LINKS", "HotCold"]

LINKS = 8
"""Sub-indexes that the chain aims at."""

_SHARE = 16
"""A key is hot when it has at least one in so many times `top` of the rows held..."""

_MARGIN = 1.5
"""... and, once all places are taken, when it is so many times as frequent as a hot one."""


class HotCold(Runs):
    """Hot runs first, then the links of the chain, oldest first; probed as every set of runs is."""

    name: ClassVar[str] = "hotcold"
    top: ClassVar[int] = 32
    """Hot keys at most (000-10)."""

    def insert(self, block: Block) -> None:
        """Split the block into hot and cold rows; keys may change sides."""
        if self.expiry is not None and len(block):
            block = block.filter(block.words[self.expiry] >= self._before)
        if not len(block):
            return
        if not self.layout.columns:
            super().insert(block)
            return
        hot, chain = self._parts()
        keys = np.unique(np.concatenate([distinct(held.leading, self.top) for held in hot])) if hot else _NONE
        chosen = self._elect(block.words[self.layout.columns[0]], keys, hot, chain)
        moved: list[Block] = []
        gone = keys[~np.isin(keys, chosen)]
        if len(gone):
            hot, moved = self._demote(hot, gone)
        warm = np.isin(block.words[self.layout.columns[0]], chosen)
        if warm.any():
            hot = self._add_hot(hot, block.filter(warm))
        if moved or not warm.all():
            rest = [block.filter(~warm)] if not warm.all() else []
            chain = self._add_cold(chain, Block.concat([*moved, *rest]))
        self._runs = [*hot, *chain]

    def _parts(self) -> tuple[list[IndexedRun], list[IndexedRun]]:
        """Return the hot runs and the links: hot are the first ones, while they have no more than `top` keys in all."""
        keys, count = _NONE, 0
        for held in self._runs:
            found = distinct(held.leading, self.top + 1)
            keys = np.union1d(keys, found)
            if len(keys) > self.top:
                break
            count += 1
        return self._runs[:count], self._runs[count:]

    def _elect(self, words: Words, keys: Words, hot: list[IndexedRun], chain: list[IndexedRun]) -> Words:
        """Return the hot keys from now on, in ascending order."""
        found, counts = np.unique(words, return_counts=True)
        heavy = np.argsort(-counts, kind="stable")[: self.top]
        asked = np.union1d(keys, found[heavy])
        total = np.zeros(len(asked), np.int64)
        place = np.minimum(np.searchsorted(found, asked), len(found) - 1)
        total += np.where(found[place] == asked, counts[place], 0)
        for held in (*hot, *chain):
            total += count_of(held.leading, asked)
        held_now = np.isin(asked, keys)
        least = max(2.0, (len(self) + len(words)) / (_SHARE * self.top))
        rank = np.where(held_now, total * _MARGIN, np.where(total >= least, total, 0))
        best = np.lexsort((asked, -rank))[: self.top]
        best = best[(total[best] >= least) | (held_now[best] & (total[best] * _MARGIN >= least))]
        return np.sort(asked[best])

    def _demote(self, hot: list[IndexedRun], gone: Words) -> tuple[list[IndexedRun], list[Block]]:
        """Take the rows of `gone` out of the hot runs."""
        kept: list[IndexedRun] = []
        moved: list[Block] = []
        for held in hot:
            run = held.run
            leaves = np.isin(run.words[self.layout.columns[0]], gone)
            alive = self._alive(held)
            if not (leaves & alive).any():
                kept.append(held)
                continue
            for rows, parts in ((np.flatnonzero(leaves & alive), moved), (np.flatnonzero(~leaves & alive), None)):
                if not len(rows):
                    continue
                block = run.block.take(rows)
                if parts is None:
                    kept.append(run_of(block, self.layout, self.expiry))
                else:
                    parts.append(block)
        return kept, moved

    def _alive(self, held: IndexedRun) -> Bools:
        alive = np.zeros(len(held.run.u), np.bool_)
        alive[held.run.row] = True
        if self.expiry is not None:
            alive &= held.run.words[self.expiry] >= self._before
        return alive

    def _add_hot(self, hot: list[IndexedRun], block: Block) -> list[IndexedRun]:
        runs = [*hot, run_of(block, self.layout, self.expiry)]
        return self._merged(runs, self.merging.merge_from([len(run) for run in runs]))

    def _add_cold(self, chain: list[IndexedRun], block: Block) -> list[IndexedRun]:
        """Put rows into the active link; archive it when it holds its share of the chain."""
        links = [*chain, run_of(block, self.layout, self.expiry)]
        full = max(self.merging.small, sum(len(link) for link in links) // LINKS)
        active = bool(chain) and len(chain[-1]) < full
        return self._merged(links, len(links) - 2 if active else len(links))

    def sub_indexes(self) -> tuple[int, int]:
        """Return how many hot runs and how many links there are."""
        hot, chain = self._parts() if self.layout.columns else ([], self._runs)
        return len(hot), len(chain)


_NONE: Words = np.zeros(0, np.int64)


def distinct(ordered: Words, most: int) -> Words:
    """Return the first `most` distinct words of a sorted column, by bisection from each to the next.

    >>> distinct(np.array([3, 3, 3, 5, 9, 9]), 2)
    array([3, 5])
    """
    found: list[int] = []
    at = 0
    while at < len(ordered) and len(found) < most:
        found.append(int(ordered[at]))
        at += int(np.searchsorted(ordered[at:], ordered[at], side="right"))
    return np.array(found, np.int64)


def count_of(ordered: Words, keys: Words) -> Rows:
    """Return how often each key occurs in a sorted column."""
    return np.asarray(np.searchsorted(ordered, keys, side="right") - np.searchsorted(ordered, keys, side="left"))
