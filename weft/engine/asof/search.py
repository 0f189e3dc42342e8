"""The search of an as-of join: for each left row its right row, in whole columns; a pure function of the rows.

Without a further condition both sides are walked once (`weft.kernels.asof`). With one, each left row asks the right rows of its
group in the order of their distance (`weft.engine.asof.candidates`).
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from weft.engine.asof.candidates import (
    AHEAD,
    BACK,
    I32,
    NONE,
    Candidates,
    Gaps,
    Groups,
    HasWords,
    group_rows,
    is_nan,
    looks,
)
from weft.engine.preserve import Accept
from weft.kernels import order_of, words_of
from weft.kernels.asof import ascends, last_before, linked, next_candidates, turned
from weft.spec.asof import Asof
from weft.types import WORD_MIN, Bools, Words

__all__ = ["Search", "tie_words"]


class Search:
    """What both sides have in common, worked out once: groups, and rows in their order."""

    def __init__(self, asof: Asof, left: HasWords, right: HasWords, accept: Accept | None = None) -> None:
        self.asof, self.right = asof, right
        self.candidates = Candidates(asof, left, right, accept)
        self.places = self.candidates.places
        self.groups = _placed(asof, group_rows(asof.by, left, right), *self.places)

    @cached_property
    def order(self) -> I32:
        """Return the right rows by place, then by what decides among those at one place."""
        asof, words = self.asof, self.right.words
        arrival = words[asof.arrival] if asof.arrival >= 0 else None
        ties = None if asof.ties is None else tie_words(self.right.payload, asof.ties)
        first = None if arrival is None or ascends(arrival) else order_of([arrival])
        if first is None and ties is None and ascends(self.places[1]):
            return NONE
        columns = [
            column if first is None else column[first] for column in (self.places[1], ties) if column is not None
        ]
        order = order_of(columns)
        return order if first is None else first[order]

    def found(self) -> tuple[I32, Gaps]:
        """Return the right row of each left row (-1: none), and how far it is; no distances where nobody asks for them."""
        return self.candidates.nearest([self._looking(flip) for flip in looks(self.asof)])

    def _looking(self, flip: int) -> I32:
        """Return the nearest right row in one direction that satisfies the further condition."""
        left, right = self.places
        order = self.order if flip == BACK else turned(right, self.order)
        asking = NONE if ascends(left) else order_of([left])
        if flip == AHEAD:
            asking = turned(left, asking)
        groups = self.groups
        heads = last_before(
            left, groups.left, asking, right, groups.right, order, groups.number, self.asof.strict, flip
        )  # fmt: skip
        if self.candidates.sure:
            return heads
        before = linked(groups.right, order, len(right), groups.number)
        return self.candidates.first(heads, flip, partial(next_candidates, before, right, flip))

    def superseded(self, since: int) -> Bools:
        """Tell which right rows no left row at `since` or later may have."""
        asof, places = self.asof, self.places[1]
        least = since + 1 if asof.strict and asof.direction == "forward" else since
        behind: Bools = places < max(least, WORD_MIN)
        if asof.direction == "forward":
            return behind
        if asof.tolerance is not None:
            gone: Bools = places < max(since - int(asof.tolerance), WORD_MIN)
        else:
            gone = np.zeros(len(places), np.bool_)
        if asof.chooses:
            return gone
        # Of each group the last row that a left row at `since` may have, and none before it. Looking ahead, what is at
        # `since` itself may be had as well: it is not behind.
        eligible = behind if asof.strict or asof.ahead else places <= since
        order = self.order if len(self.order) else np.arange(len(places), dtype=np.int32)
        group = self.groups.right if len(self.groups.right) else np.zeros(len(places), np.int32)
        ranked = order[eligible[order] & (group[order] >= 0)]
        last = np.full(max(self.groups.number, 1), -1, np.int64)
        last[group[ranked]] = ranked  # the last one written stays
        last = last[last >= 0]
        too_old = gone[last]
        gone[ranked] = True
        gone[last] = too_old
        return gone


def _placed(asof: Asof, groups: Groups, left: Words, right: Words) -> Groups:
    """Take rows whose place is no number out of their groups: nothing is near to them."""
    if not asof.floating:
        return groups
    lost = is_nan(left), is_nan(right)
    if not (lost[0].any() or lost[1].any()):
        return groups
    made = [
        np.where(gone, np.int32(-1), group if len(group) else np.int32(0)).astype(np.int32)
        for gone, group in zip(lost, (groups.left, groups.right), strict=True)
    ]
    return Groups(made[0], made[1], groups.number)


def tie_words(payload: pa.Table, column: int) -> Words:
    """Return the words that decide among rows at one place; NULL is the least."""
    words, valid = words_of(payload.column(column), "value")
    return words if valid is None else np.where(valid, words, WORD_MIN)
