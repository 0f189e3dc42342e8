"""Round-robin partitions (002-05): rows are dealt out by arrival, every probe searches every partition.

This is how low-latency handshake join, SplitJoin and BiStream cut a window: each core would own one B+-tree and need no lock,
but all cores must search for each tuple. Kept as the baseline that it is in the paper.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.errors import SpecError
from weft.index.grove import Grove
from weft.index.layout import Layout
from weft.index.treeset import Candidates, TreeSet
from weft.types import Rows, Words

__all__ = ["RoundRobin"]


class RoundRobin(TreeSet):
    """B+-trees over disjoint parts of the window, whatever the values.

    Parameters
    ----------
    partitions
        P, the number of cores that would share the window.
    """

    name: ClassVar[str] = "round-robin"
    deletes: ClassVar[bool] = True

    def __init__(
        self,
        layout: Layout,
        expiry: int | None,
        merge_ratio: float = 1.0,
        fanout: int = 4,
        small: int = 2048,
        few: int = 4,
        *,
        leaf: int = 32,
        fan: int = 32,
        partitions: int = 4,
    ) -> None:
        if partitions < 1:
            raise SpecError.of(f"partitions={partitions}.", "There is at least one.", "use the number of cores.")
        self.partitions = partitions
        super().__init__(layout, expiry, merge_ratio, fanout, small, few, leaf=leaf, fan=fan)

    def _reset(self) -> None:
        self._grove = Grove(self.partitions, self.leaf, self.fan)

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._grove.insert(numbers % self.partitions, keys, numbers)

    def _load(self, keys: Words, numbers: Rows) -> None:
        for partition in range(self.partitions):
            mine = numbers % self.partitions == partition
            self._grove.load(partition, keys[mine], numbers[mine])

    def _remove(self, keys: Words, numbers: Rows) -> None:
        self._grove.delete(numbers % self.partitions, keys, numbers)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        for partition in range(self.partitions):
            yield from self._grove.stream(np.full(len(lo), partition), lo, hi, room)

    def _validate_trees(self) -> int:
        return self._grove.validate()

    def _parts(self) -> dict[str, int]:
        return {"trees": self._grove.nbytes}
