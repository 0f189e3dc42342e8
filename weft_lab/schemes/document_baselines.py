"""What the JSON paper compares with: set covers, disjoint sets, every document everywhere (004-30, 004-31, 004-33).

The first two are after Alvanaki and Michel. They run in the same control loop as association groups.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.routing import Plan, TaskStats
from weft.routing.documents import DOCUMENT_SCHEMES, DocumentScheme, Group, Sample, filled
from weft.spec import JoinSpec

__all__ = ["Disjoint", "Everywhere", "SetCover", "disjoint_groups", "set_cover"]


def disjoint_groups(samples: Sequence[Sample]) -> list[Group]:
    """Return the connected components of pairs that share a document (DS). They overlap nowhere, in any sample."""
    root: dict[int, int] = {}

    def find(pair: int) -> int:
        while root[pair] != pair:
            root[pair] = root[root[pair]]
            pair = root[pair]
        return pair

    for sample in samples:
        words = sample.words.tolist()
        for start, end in zip(sample.offsets[:-1].tolist(), sample.offsets[1:].tolist(), strict=True):
            for pair in words[start:end]:
                root.setdefault(pair, pair)
                one, two = find(words[start]), find(pair)
                root[max(one, two)] = min(one, two)
    made: dict[int, list[int]] = {}
    for pair in root:
        made.setdefault(find(pair), []).append(pair)
    return [frozenset(group) for group in made.values()]


def set_cover(samples: Sequence[Sample], tasks: int) -> dict[int, int]:
    """Return each pair's tasks as bits (SC). Documents are the sets; a pair may belong to several partitions.

    Opening: the set with most uncovered and, of these, fewest covered pairs. Then the set with fewest covered and, of these,
    most uncovered pairs goes to the partition with the least load and, of these, most common pairs. Load is the number of
    documents laid there; documents with the same pairs are laid together.
    """
    weight: dict[Group, int] = {}
    for sample in samples:
        words = sample.words.tolist()
        for start, end in zip(sample.offsets[:-1].tolist(), sample.offsets[1:].tolist(), strict=True):
            group = frozenset(words[start:end])
            if group:
                weight[group] = weight.get(group, 0) + 1
    sets = sorted(weight, key=sorted)
    having: dict[int, list[int]] = {}
    for number, group in enumerate(sets):
        for pair in group:
            having.setdefault(pair, []).append(number)
    uncovered = np.array([len(group) for group in sets], np.int64)
    covered, left = np.zeros(len(sets), np.int64), np.ones(len(sets), np.bool_)
    masks: dict[int, int] = {}
    load = [0] * tasks
    heap: list[tuple[int, int, int]] = []

    def lay(number: int, task: int) -> None:
        left[number] = False
        load[task] += weight[sets[number]]
        for pair in sets[number]:
            if pair not in masks:
                at = having[pair]
                uncovered[at] -= 1
                covered[at] += 1
                if heap:
                    for other in at:
                        heapq.heappush(heap, (int(covered[other]), -int(uncovered[other]), other))
            masks[pair] = masks.get(pair, 0) | 1 << task

    for task in range(min(tasks, len(sets))):
        score = np.where(left, uncovered * (1 + int(uncovered.max())) * 2 - covered, -1 << 60)
        lay(int(score.argmax()), task)
    heap.extend((int(covered[n]), -int(uncovered[n]), n) for n in np.flatnonzero(left).tolist())
    heapq.heapify(heap)
    while heap:
        known, unknown, number = heapq.heappop(heap)
        if not left[number] or (known, -unknown) != (int(covered[number]), int(uncovered[number])):
            continue  # laid already, or its counts have changed since: its newer entry counts
        least = min(load)
        common = [
            (sum(masks.get(pair, 0) >> task & 1 for pair in sets[number]), -task)
            for task in range(tasks)
            if load[task] == least
        ]
        lay(number, -max(common)[1])
    return masks


@DOCUMENT_SCHEMES.register
@dataclass(frozen=True)
class Disjoint(DocumentScheme):
    """Connected components of pairs (DS)."""

    name: ClassVar[str] = "disjoint"

    def table(self, samples: Sequence[Sample], tasks: int) -> dict[int, int]:
        return filled(disjoint_groups(samples), samples, tasks)


@DOCUMENT_SCHEMES.register
@dataclass(frozen=True)
class SetCover(DocumentScheme):
    """Set covers (SC)."""

    name: ClassVar[str] = "set-cover"

    def table(self, samples: Sequence[Sample], tasks: int) -> dict[int, int]:
        return set_cover(samples, tasks)


@DOCUMENT_SCHEMES.register
@dataclass(frozen=True)
class Everywhere(DocumentScheme):
    """The worst case (004-33): every document to every task."""

    name: ClassVar[str] = "everywhere"
    adapts = False

    def table(self, samples: Sequence[Sample], tasks: int) -> dict[int, int]:
        del samples, tasks
        return {}

    def control(self, spec: JoinSpec | None, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        del spec, stats
        return plan, ""
