"""B+-trees that delete what expires: one over the window (002-02, 002-03), or several over parts of it (002-05).

Round-robin partitions are how low-latency handshake join, SplitJoin and BiStream cut a window: rows are dealt out by arrival,
each core would own one B+-tree and need no lock, but all cores must search for each tuple. One partition is the plain B+-tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.index.trees import Candidates, TreeSet, TreeSettings, setting
from weft.index.trees.cost_model import Cost, Workload
from weft.types import Rows, Words
from weft_lab.indexes import cost
from weft_lab.indexes.grove import delete_entries, load_entries

__all__ = ["BPlusTree", "RoundRobin"]


@dataclass(frozen=True)
class RoundRobinSettings(TreeSettings):
    """Settings of round-robin partitions."""

    partitions: int = setting(4, 1, "There is at least one.")
    """P, the number of cores that would share the window."""


class RoundRobin(TreeSet):
    """B+-trees over disjoint parts of the window, whatever the values: `partitions` of them."""

    name: ClassVar[str] = "round-robin"
    settings_type: ClassVar[type[TreeSettings]] = RoundRobinSettings

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        return cost.round_robin(load.window, load.tree(), int(settings.get("partitions", 4)))

    @property
    def partitions(self) -> int:
        """Return the number of partitions."""
        assert isinstance(self.settings, RoundRobinSettings)
        return self.settings.partitions

    def _reset(self) -> None:
        self._grove = self._trees(self.partitions)

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._grove.insert(numbers % self.partitions, keys, numbers)

    def _load(self, keys: Words, numbers: Rows) -> None:
        for partition in range(self.partitions):
            mine = numbers % self.partitions == partition
            load_entries(self._grove, partition, keys[mine], numbers[mine])

    def _forget(self, before: int) -> None:
        """Delete every row that expires now, one by one."""
        assert self.expiry is not None
        for kept in self._kept:
            words = kept.run.words[self.expiry]
            if kept.indexed.zone(self.expiry)[0] < before:
                keys, numbers = self._entries(kept, (words < before) & (words >= self._before))
                delete_entries(self._grove, numbers % self.partitions, keys, numbers)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        for partition in range(self.partitions):
            yield from self._grove.stream(np.full(len(lo), partition), lo, hi, room)

    def _validate_trees(self) -> int:
        held = self._grove.validate()
        assert held == sum(len(self._entries(kept)[0]) for kept in self._kept), "an expired row has an entry"
        return held

    def _parts(self) -> dict[str, int]:
        return {"trees": self._grove.nbytes}


class BPlusTree(RoundRobin):
    """The classic index-based window join: one tree, from which every expired row is deleted, one by one."""

    name: ClassVar[str] = "bplustree"
    settings_type: ClassVar[type[TreeSettings]] = TreeSettings

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        del settings
        return cost.bplustree(load.window, load.tree())

    @property
    def partitions(self) -> int:
        return 1

    def _parts(self) -> dict[str, int]:
        return {"tree": self._grove.nbytes}
