"""The chained index (002-04): the window cut into intervals of arrival, an index for each, whole ones dropped.

Rows go into the active sub-index until it has reached its limit; then it is archived and a new one begins. Nothing is
deleted: a sub-index is released when its newest row has expired. A probe searches all of them. In a **B-chain** archived
sub-indexes stay B+-trees, in an **IB-chain** they are made immutable first, which is the faster one (002-36).

The paper's limit is w / (L - 1): the archived ones together cover the window. The window's size is not known here; what
the chain holds stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.index.trees import Candidates, Grove, TreeSet, TreeSettings, setting, stream_css
from weft.index.trees.cost_model import Cost, Workload
from weft.kernels.trees import Css, check_css
from weft.types import Rows, Words
from weft_lab.indexes import cost
from weft_lab.indexes.grove import load_entries

__all__ = ["Chained"]


@dataclass(frozen=True)
class ChainSettings(TreeSettings):
    """Settings of a chain."""

    length: int = setting(2, 2, "A chain has an active and an archived sub-index.")
    """L, how many sub-indexes the window is to be spread over, the active one among them."""
    immutable: int = setting(1, 0, "1 is an IB-chain, 0 a B-chain.")
    """Whether archived sub-indexes become CSS-trees (IB-chain) or stay B+-trees (B-chain)."""


@dataclass(frozen=True)
class Archived:
    """A sub-index that takes no more rows; its rows are numbered below `end`."""

    tree: Css | Grove
    end: int

    @property
    def count(self) -> int:
        return len(self.tree) if isinstance(self.tree, Grove) else self.tree.entries


class Chained(TreeSet):
    """A chain of sub-indexes, `length` of them; archived ones become CSS-trees if they are to be `immutable`."""

    name: ClassVar[str] = "chained"
    settings_type: ClassVar[type[TreeSettings]] = ChainSettings

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        # Archived sub-indexes hold expired rows too.
        return cost.chained(load.window, load.tree(1.5), int(settings.get("length", 2)))

    @property
    def chain_settings(self) -> ChainSettings:
        """Return the settings of the chain."""
        assert isinstance(self.settings, ChainSettings)
        return self.settings

    def _reset(self) -> None:
        self._chain: list[Archived] = []
        self._active = self._trees()

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._active.insert(np.zeros(len(keys), np.int64), keys, numbers)
        if len(self._active) >= self._limit():
            self._archive()

    def _limit(self) -> float:
        window = sum(archived.count for archived in self._chain)
        return max(self.small, window / (self.chain_settings.length - 1))

    def _archive(self) -> None:
        tree: Css | Grove = self._active
        if self.chain_settings.immutable:
            tree = self._fixed(*self._active.sorted())
        self._chain.append(Archived(tree, self._next))
        self._active = self._trees()

    def _load(self, keys: Words, numbers: Rows) -> None:
        """Spread the rows over L - 1 archived sub-indexes by age, as they were."""
        if not len(numbers):
            return
        order = np.argsort(numbers)
        for share in np.array_split(order, min(self.chain_settings.length - 1, len(order))):
            part = np.sort(share)  # the entries ascend by key, so their positions do
            tree: Css | Grove
            if self.chain_settings.immutable:
                tree = self._fixed(keys[part], numbers[part])
            else:
                tree = self._trees()
                load_entries(tree, 0, keys[part], numbers[part])
            self._chain.append(Archived(tree, int(numbers[part].max()) + 1))

    def _drop(self) -> None:
        """Release sub-indexes all of whose rows are in runs that have gone."""
        first = self._kept[0].base if self._kept else self._next
        self._chain = [archived for archived in self._chain if archived.end > first]
        if not self._kept:
            self._active = self._trees()

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        start = np.zeros(len(lo), np.int64)
        for archived in self._chain:
            if isinstance(archived.tree, Grove):
                yield from archived.tree.stream(start, lo, hi, room)
            else:
                yield from stream_css(archived.tree, lo, hi, room)
        yield from self._active.stream(start, lo, hi, room)

    def _validate_trees(self) -> int:
        held = self._active.validate()
        for archived in self._chain:
            if isinstance(archived.tree, Grove):
                archived.tree.validate()
            else:
                check_css(archived.tree)
            held += archived.count
        assert [a.end for a in self._chain] == sorted(a.end for a in self._chain), "the chain is out of order"
        return held

    def _parts(self) -> dict[str, int]:
        return {"archived": sum(archived.tree.nbytes for archived in self._chain), "active": self._active.nbytes}
