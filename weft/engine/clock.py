"""Time and row numbers inside a batch: what is late, what has expired, which number a row has.

All of it is a function of the clock that the batch before left and of the headers of this batch, so every task comes
to the same answer without talking.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from weft.spec import JoinSpec, Last, Tumbling, TumblingRows, Within
from weft.state import Clock
from weft.types import SIDES, WORD_MIN, Block, Side, Words, other

__all__ = ["Header", "advance", "expired_before", "late_rows", "number_rows", "refused_rows", "watermark"]


@dataclass(frozen=True)
class Header:
    """What one map partition tells every task about its rows of one side.

    `rows` and `newest` (the greatest timestamp); `late`, how many of them were behind the watermark and stayed behind, and
    `behind`, how far behind the newest timestamp of their side the oldest of these was, so the delay that keeps it; for ordered
    count windows `order`, the order words of all its rows, ascending; `refused`, how many could not be read (documents);
    `content`, a digest of the words and draws that travel; `identity`, where pairs get keys, one of the rows in their order.
    """

    partition: int
    rows: int
    newest: int = WORD_MIN
    order: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    refused: int = 0
    late: int = 0
    behind: int = 0
    content: str = ""
    identity: str = ""


def watermark(spec: JoinSpec, clock: Clock) -> int:
    """Return the least timestamp that is not late: of each side the greatest timestamp less its delay, the slower one."""
    delays = spec.window.delays.known if isinstance(spec.window, (Within, Tumbling)) else None
    if delays is None or min(clock.newest.values()) == WORD_MIN:
        return WORD_MIN
    return max(min(clock.newest[side] - delays[side] for side in SIDES), WORD_MIN)


def expired_before(spec: JoinSpec, side: Side, clock: Clock) -> int:
    """Return the bound below which stored rows of `side` (by their expiry word) can find no future partner."""
    window = spec.window
    if isinstance(window, Last):
        return clock.count[side] - window.n
    if isinstance(window, TumblingRows):  # the word is the group's number
        return clock.count[other(side)] // window.n
    mark = watermark(spec, clock)
    if mark == WORD_MIN:
        return WORD_MIN
    if isinstance(window, Tumbling):
        return mark // window.size * window.size
    assert isinstance(window, Within)
    return mark - (window.before if side == "right" else window.after)


def late_rows(headers: dict[Side, list[Header]], task: int) -> dict[Side, int]:
    """Return how many rows were late, per side. Every task knows it; task 0 tells it for all of them."""
    return {side: 0 if task else sum(header.late for header in headers[side]) for side in SIDES}


def refused_rows(spec: JoinSpec, headers: dict[Side, list[Header]], task: int) -> int:
    """Return how many rows could not be read; task 0 tells it. One stream that is both sides is counted once."""
    sides = SIDES[:1] if spec.self_join else SIDES
    return 0 if task else sum(header.refused for side in sides for header in headers[side])


def advance(clock: Clock, headers: dict[Side, list[Header]]) -> Clock:
    """Return the clock after the batch."""
    newest = {side: max([clock.newest[side], *(h.newest for h in headers[side])]) for side in SIDES}
    count = {side: clock.count[side] + sum(h.rows for h in headers[side]) for side in SIDES}
    return Clock(newest, count)


def number_rows(
    spec: JoinSpec, side: Side, partition: int, block: Block, clock: Clock, headers: dict[Side, list[Header]]
) -> Block:
    """Fill in `seq` and `opp` of rows that come from one map partition, in the order (batch, order column, side).

    On arrival the `seq` column holds the order word and `opp` the position within the partition's own order.
    Ties go to the right side first, then to the lower partition, then to the earlier position.
    """
    column = spec.side(side).seq
    if column is None or not len(block):
        return block
    order, position = block.words[column], block.words[column + 1]
    seq = position + clock.count[side]
    for header in headers[side]:
        if header.partition < partition:
            seq = seq + _ahead(header, order, ties=True)
        elif header.partition > partition:
            seq = seq + _ahead(header, order, ties=False)
    if spec.self_join:
        opp = seq
    else:
        opp = np.full(len(block), clock.count[other(side)], np.int64)
        for header in headers[other(side)]:
            opp = opp + _ahead(header, order, ties=side == "left")
    words = block.words.copy()
    window = spec.window
    words[column] = seq // window.n if isinstance(window, TumblingRows) else seq
    words[column + 1] = opp
    return replace(block, words=words)


def _ahead(header: Header, order: Words, *, ties: bool) -> Words:
    """Count the rows of a partition that come before each order word."""
    if not len(header.order):  # in order of arrival: one side, one partition after the other
        return np.full(len(order), header.rows if ties else 0, np.int64)
    return np.searchsorted(header.order, order, side="right" if ties else "left").astype(np.int64)
