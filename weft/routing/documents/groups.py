"""Association groups (004-05..13): pairs that occur together, gathered by implication, laid into partitions.

Phase 1 runs on each creator's own `Sample`, its documents as sets of routing pairs; the merger unites the groups of all
samples, weighs them anew by the documents that have any of their pairs (004-13), and fills the partitions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.kernels.documents.attributes import codes_of
from weft.kernels.documents.routing_pairs import routing_pairs
from weft.types import Rows, Words

__all__ = ["Sample", "association_groups", "equivalence_groups", "expansion_for", "filled", "merged_groups"]

_MOST = 16
"""So many attributes are concatenated at most: each is looked for in every document."""


@dataclass(frozen=True)
class Sample:
    """Documents in CSR form; `known` are the distinct pairs, `codes` their numbers, `lacking` who goes everywhere anyway."""

    offsets: Words
    words: Words
    lacking: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(
        cls, offsets: Words, attrs: Words, pairs: Words, expansion: Sequence[int] = (), alone: bool = False
    ) -> Sample:
        """Return the documents as they are routed under an expansion."""
        return cls(*routing_pairs(offsets, attrs, pairs, np.array(expansion, np.int64), alone))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def coded(self) -> tuple[Rows, Words]:
        """Return the code of each pair, and the distinct pairs by code."""
        codes, known = codes_of(self.words)
        return codes.astype(np.int64), known

    @cached_property
    def rows(self) -> Rows:
        """Return the document of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def documents(self) -> list[Rows]:
        """Return for each pair the documents that have it, ascending (avInD turned around, 004-05)."""
        codes, known = self.coded
        order = np.argsort(codes, kind="stable")
        return (
            np.split(self.rows[order], np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if len(known) else []
        )


def expansion_for(offsets: Words, attrs: Words, pairs: Words, tasks: int, alone: bool = False) -> tuple[int, ...]:
    """Return the attributes to concatenate, () if there is no disabling attribute (004-28, 004-29).

    The disabling attribute is in all documents and has fewer distinct values than there are tasks (of several, the one of
    fewest); combining attributes follow, those of most documents first, then of fewest values, until the concatenation has
    enough distinct values (or `_MOST` attributes: of documents that are all alike, no number of them is enough). Distinct
    *concatenated* values are counted, not the sum of the parts. If the expansion is to route `alone`, an attribute of all
    documents with enough values is one by itself.
    """
    documents = len(offsets) - 1
    codes, words = codes_of(attrs)
    if not documents or tasks < 2:
        return ()
    values, known = codes_of(pairs)
    attr_of = np.zeros(len(known), np.int64)
    attr_of[values] = codes
    frequency, variety = np.bincount(codes, minlength=len(words)), np.bincount(attr_of, minlength=len(words))
    if alone and ((frequency == documents) & (variety >= tasks)).any():
        return (int(words[np.lexsort((words, -variety, frequency != documents))[0]]),)
    disabling = np.flatnonzero((frequency == documents) & (variety < tasks))
    if not len(disabling):
        return ()
    first = disabling[np.lexsort((words[disabling], variety[disabling]))[0]]
    chosen, rows = [int(first)], np.repeat(np.arange(documents), np.diff(offsets))
    following = [int(a) for a in np.lexsort((words, variety, -frequency)) if a != first]
    value = np.full((documents, 1), -1, np.int64)
    value[rows[codes == first], 0] = values[codes == first]
    while _distinct(value) < tasks and following and len(chosen) < _MOST:
        chosen.append(following.pop(0))
        column = np.full(documents, -1, np.int64)
        here = codes == chosen[-1]
        column[rows[here]] = values[here]
        value = np.column_stack([value, column])
    return tuple(int(words[a]) for a in chosen) if len(chosen) > 1 else ()


def _distinct(value: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> int:
    whole = value[(value >= 0).all(axis=1)]
    return len(np.unique(whole, axis=0)) if len(whole) else 0


Group = frozenset[int]


def equivalence_groups(sample: Sample) -> list[tuple[tuple[int, ...], list[int]]]:
    """Return (documents, pair codes) of each group of pairs that occur in exactly the same documents (Def. 1, 004-05)."""
    found: dict[bytes, list[int]] = {}
    for code, documents in enumerate(sample.documents):
        found.setdefault(documents.tobytes(), []).append(code)
    return [(tuple(np.frombuffer(key, np.int64).tolist()), codes) for key, codes in found.items()]


def association_groups(sample: Sample, absorb: str = "implying") -> list[Group]:
    """Return the association groups as sets of pair words (Alg. 1).

    `absorb="implied"` is Algorithm 1 as printed: rare groups first, each takes in the frequent groups that it implies.
    `absorb="implying"` is what the authors' code does: frequent groups first, each takes in the rare ones that imply it. It is
    the default, because it keeps what a common pair accompanies together and so replicates less (004-12).
    Removed groups are skipped, never shifted (004-11). Implication is strict inclusion of document sets (004-06); a group is
    implied by another iff it is in all of the other's documents, so only groups of these documents have to be counted.
    """
    groups = equivalence_groups(sample)
    size = np.array([len(documents) for documents, _ in groups], np.int64)
    in_document: list[list[int]] = [[] for _ in range(len(sample))]
    for number, (documents, _) in enumerate(groups):
        for document in documents:
            in_document[document].append(number)
    implied: list[list[int]] = []
    for number, (documents, _) in enumerate(groups):
        beside = np.concatenate([np.array(in_document[document], np.int64) for document in documents])
        others, times = np.unique(beside, return_counts=True)
        implied.append([int(o) for o in others[(times == len(documents)) & (size[others] > size[number])]])
    first = [min(codes) for _, codes in groups]
    ascending = sorted(range(len(groups)), key=lambda g: (int(size[g]), first[g]))
    place = {group: at for at, group in enumerate(ascending)}
    takes: list[list[int]] = [[] for _ in groups]
    for number, found in enumerate(implied):
        for other in found:
            taker, taken = (number, other) if absorb == "implied" else (other, number)
            takes[taker].append(taken)
    removed, made = [False] * len(groups), list[Group]()
    known = sample.coded[1]
    for group in ascending if absorb == "implied" else ascending[::-1]:
        if removed[group]:
            continue
        codes = list(groups[group][1])
        for other in sorted(takes[group], key=place.__getitem__):
            if not removed[other]:
                removed[other] = True
                codes += groups[other][1]
        made.append(frozenset(int(known[code]) for code in codes))
        removed[group] = True
    return made


def merged_groups(local: Sequence[Iterable[Group]]) -> list[Group]:
    """Unite the groups of several creators: subsets go into their supersets, then a pair stays in the smaller group (004-09)."""
    distinct = sorted({group for groups in local for group in groups}, key=lambda g: (-len(g), sorted(g)))
    holders: dict[int, list[int]] = {}
    kept: list[set[int]] = []
    for group in distinct:  # a superset stands before its subsets
        common = set.intersection(*(set(holders.get(pair, ())) for pair in group)) if group else {0}
        if common:
            continue
        for pair in group:
            holders.setdefault(pair, []).append(len(kept))
        kept.append(set(group))
    for pair, owners in holders.items():
        while len(owners) > 1:
            largest = max(owners, key=lambda owner: (len(kept[owner]), owner))
            kept[largest].discard(pair)
            owners.remove(largest)
    return [frozenset(group) for group in kept if group]


def filled(groups: Sequence[Group], samples: Sequence[Sample], tasks: int) -> dict[int, int]:
    """Lay groups into partitions (004-08): the heaviest open them, then always the heaviest to the least loaded one.

    Return each pair's tasks as bits. A group's load is the number of documents that have any of its pairs.
    """
    owner = {pair: number for number, group in enumerate(groups) for pair in group}
    load = np.zeros(len(groups), np.int64)
    for sample in samples:
        codes, known = sample.coded
        group_of = np.array([owner.get(int(word), -1) for word in known], np.int64)[codes]
        here = group_of >= 0
        met = np.unique(np.stack([sample.rows[here], group_of[here]]), axis=1)
        load += np.bincount(met[1], minlength=len(groups))
    heap = [(0, task) for task in range(tasks)]
    made: dict[int, int] = {}
    for number in sorted(range(len(groups)), key=lambda g: (-int(load[g]), min(groups[g]))):
        weight, task = heapq.heappop(heap)
        heapq.heappush(heap, (weight + int(load[number]), task))
        for pair in groups[number]:
            made[pair] = 1 << task
    return made
