"""Round-robin partitions (002-05): rows are dealt out by arrival, every probe searches every partition.

This is how low-latency handshake join, SplitJoin and BiStream cut a window: each core would own one B+-tree and need no lock,
but all cores must search for each tuple. Kept as the baseline that it is in the paper.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.treeset import Candidates, TreeSet
from weft.types import Rows, Words

__all__ = ["RoundRobin"]


class RoundRobin(TreeSet):
    """B+-trees over disjoint parts of the window, whatever the values: `partitions` of them."""

    name: ClassVar[str] = "round-robin"
    deletes: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("partitions", "leaf", "fan")

    def _reset(self) -> None:
        self._grove = self._trees(self.settings.partitions)

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._grove.insert(numbers % self.settings.partitions, keys, numbers)

    def _load(self, keys: Words, numbers: Rows) -> None:
        for partition in range(self.settings.partitions):
            mine = numbers % self.settings.partitions == partition
            self._grove.load(partition, keys[mine], numbers[mine])

    def _remove(self, keys: Words, numbers: Rows) -> None:
        self._grove.delete(numbers % self.settings.partitions, keys, numbers)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        for partition in range(self.settings.partitions):
            yield from self._grove.stream(np.full(len(lo), partition), lo, hi, room)

    def _validate_trees(self) -> int:
        return self._grove.validate()

    def _parts(self) -> dict[str, int]:
        return {"trees": self._grove.nbytes}
