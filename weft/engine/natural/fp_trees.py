"""Runs of documents as FP-trees: a chain of them is a sliding window (the paper's tree serves tumbling ones only, 004-23).

A run never changes. New documents make a run; a run is united with the one before it as soon as it is half as large, so a
window is a handful of trees; what has expired leaves when runs are united, or with its whole run. A tree follows from its
run and is not saved. The number of a tumbling window is the first attribute of every tree, so windows never meet.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.documents import Coded, Names, Spoken
from weft.index import Run
from weft.kernels.documents.attributes import AttributeOrder, Ranked, ranked, taken, translated
from weft.kernels.documents.fptree import FPTree, build_tree, count_partners, find_partners
from weft.spec import JoinSpec, Tumbling, TumblingRows
from weft.types import WORD_MIN, Block, Rows, Side, Words

__all__ = ["CHUNK", "INDEX", "FpTree", "TreeCache", "buckets_of", "chained", "run_of", "tree_of"]

INDEX = "fp-tree"
"""What manifests call these runs."""

CHUNK = 1 << 14
"""Candidates at a time: united documents are long."""

_WINDOW = -0x57454654  # the word of the attribute that numbers windows; any name hashes to it once in 2^64


@dataclass(frozen=True)
class FpTree:
    """A run's documents, their order, and the tree of them.

    `spoken` is there only if words of these documents do not say what they mean: then the tree is one of its numbers.
    """

    coded: Coded
    buckets: Words | None
    rows: Ranked
    order: AttributeOrder
    tree: FPTree
    names: Names
    spoken: Spoken | None = None

    def candidates(self, probes: Coded, buckets: Words | None) -> Iterator[tuple[Rows, Rows]]:
        """Yield (probe, document) of all that join by their words, chunk by chunk."""
        asked = translated(*_windowed(probes, buckets, self.spoken), self.order)
        if self.spoken is None and not (self.names.agree(probes) and self._one_attribute(asked)):
            yield from tree_of(self.coded, self.buckets, Spoken()).candidates(probes, buckets)
            return
        counts = count_partners(self.tree, asked)
        for low, high, total in _chunks(counts):
            yield find_partners(self.tree, asked, low, high, total)

    def _one_attribute(self, asked: Ranked) -> bool:
        """Tell whether each pair belongs to the attribute that it has in the tree."""
        return _consistent(asked, _attribute_of(self.rows, len(self.order.pairs)))

    def among(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs of documents that join by their words, each once."""
        places = self.tree.docs.astype(np.int64)
        asked, after = taken(self.rows, places), np.arange(len(places))
        counts = count_partners(self.tree, asked, after)
        for low, high, total in _chunks(counts):
            which, stored = find_partners(self.tree, asked, low, high, total, after)
            yield places[which], stored


def _chunks(counts: Words) -> Iterator[tuple[int, int, int]]:
    """Cut probes into ranges of about `CHUNK` partners; one probe is never cut."""
    total = np.cumsum(counts)
    low = 0
    while low < len(counts) and total[-1] > (total[low - 1] if low else 0):
        base = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, base + CHUNK, side="right")))
        if int(total[high - 1]) > base:
            yield low, high, int(total[high - 1]) - base
        low = high


def buckets_of(spec: JoinSpec, side: Side, words: Words) -> Words | None:
    """Return the number of each document's window, None where windows slide."""
    part = spec.side(side)
    if isinstance(spec.window, Tumbling):
        return words[part.bucket] if part.bucket is not None else None
    return words[part.seq] if isinstance(spec.window, TumblingRows) and part.seq is not None else None


def _windowed(coded: Coded, buckets: Words | None, spoken: Spoken | None) -> tuple[Words, Words, Words]:
    """Give every document that has pairs the number of its window as one pair more."""
    attrs, pairs = (coded.attrs, coded.pairs) if spoken is None else spoken.words(coded)
    if buckets is None:
        return coded.offsets, attrs, pairs
    some = coded.sizes > 0
    at = coded.offsets[:-1][some]
    offsets = coded.offsets + np.concatenate([[0], np.cumsum(some)])
    numbers = buckets[some] if spoken is None else spoken.windows(buckets[some])
    return offsets, np.insert(attrs, at, _WINDOW), np.insert(pairs, at, numbers)


def _attribute_of(rows: Ranked, pairs: int) -> NDArray[np.int32]:
    attribute = np.full(pairs, -1, np.int32)
    attribute[rows.pair] = rows.rank
    return attribute


def _consistent(rows: Ranked, attribute: NDArray[np.int32]) -> bool:
    known = rows.pair >= 0
    return bool((attribute[rows.pair[known]] == rows.rank[known]).all())


class TreeCache:
    """Trees of runs, made when asked for and forgotten with their runs."""

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        self._made: dict[int, tuple[weakref.ref[Run], FpTree]] = {}
        self.now, self.seconds = now, 0.0
        """The runtime's clock, and how long building took so far: for the metrics only."""

    def tree(self, spec: JoinSpec, side: Side, run: Run) -> FpTree:
        """Return the tree of a run."""
        found = self._made.get(id(run))
        if found is not None and found[0]() is run:
            return found[1]
        self._made = {key: entry for key, entry in self._made.items() if entry[0]() is not None}
        started = self.now()
        made = tree_of(Coded.of_table(run.payload), buckets_of(spec, side, run.words))
        self.seconds += self.now() - started
        self._made[id(run)] = (weakref.ref(run), made)
        return made


def tree_of(coded: Coded, buckets: Words | None = None, spoken: Spoken | None = None) -> FpTree:
    """Build the tree of some documents; of what they say instead of their words, if two names or pairs have the same one."""
    words = _windowed(coded, buckets, spoken)
    rows, order = ranked(*words, None if buckets is None else _WINDOW)
    names = Names.of(coded)
    if spoken is None:
        clear = names.whole and (buckets is None or not (coded.attrs == _WINDOW).any())
        if not (clear and _consistent(rows, _attribute_of(rows, len(order.pairs)))):
            return tree_of(coded, buckets, Spoken())
    tree = build_tree(rows, len(order.attrs), 0 if buckets is None else 1)
    return FpTree(coded, buckets, rows, order, tree, names, spoken)


def run_of(spec: JoinSpec, side: Side, block: Block) -> Run:
    """Return a block as a run."""
    expiry = spec.expiry(side)
    newest = int(block.words[expiry].max()) if expiry is not None and len(block) else WORD_MIN
    payload = block.payload.combine_chunks()
    return Run.of(Block(np.ascontiguousarray(block.words), block.u, payload), np.arange(len(block)), newest)


def chained(spec: JoinSpec, side: Side, runs: Sequence[Run], fresh: Run | None, before: int) -> tuple[Run, ...]:
    """Return the chain with a new run at its end and without what has expired."""
    expiry = spec.expiry(side)
    every = [*runs, fresh] if fresh is not None else runs  # of many small windows, nearly all end within their batch
    chain = [_lightened(spec, side, run, before) for run in every if expiry is None or run.newest >= before]
    while len(chain) > 1 and 2 * len(chain[-1]) >= len(chain[-2]):
        two, one = chain.pop(), chain.pop()
        block = Block.concat([_alive(one, expiry, before), _alive(two, expiry, before)])
        chain.append(run_of(spec, side, block))
    return tuple(chain)


def _lightened(spec: JoinSpec, side: Side, run: Run, before: int) -> Run:
    """Return a run without what has expired, once that is half of it."""
    expiry = spec.expiry(side)
    if expiry is None or 2 * int((run.words[expiry] >= before).sum()) > len(run):
        return run
    return run_of(spec, side, _alive(run, expiry, before))


def _alive(run: Run, expiry: int | None, before: int) -> Block:
    block = Block(run.words, run.u, run.payload)
    return block if expiry is None else block.filter(np.asarray(run.words[expiry] >= before))
