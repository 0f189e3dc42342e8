"""The semantics of a join as a nested loop over plain rows; it imports `weft.spec` and nothing else of Weft.

Rows are dictionaries. A batch is, per side, a list of map partitions, each a list of rows. Values compare as in Spark
SQL: NULL (None) never matches, NaN equals NaN and is the greatest number, -0.0 equals 0.0, text compares by its bytes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple

from weft.spec import INNER, Kind, Last, Tumbling, TumblingRows, Unbounded, Window, Within

__all__ = ["Batch", "Compare", "Result", "Row", "joined", "self_joined"]

Row = Mapping[str, Any]
Only = Callable[[Row], bool]
Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
Op = Literal["<", "<=", ">", ">=", "=", "!=", "band"]


class Compare(NamedTuple):
    """`left OP right` over one column of each side; a band is `lo <= left - right <= hi`."""

    left: str
    op: Op
    right: str
    lo: float = 0
    hi: float = 0


@dataclass(frozen=True)
class Batch:
    """The map partitions of both sides that arrive together. A self join has left ones only."""

    left: Sequence[Sequence[Row]] = ()
    right: Sequence[Sequence[Row]] = ()


@dataclass(frozen=True)
class Result:
    """The pairs, and how many rows of each side came behind the watermark.

    Of the rows that came in time, `unmatched` are those without a partner whose window has ended, `waiting` those whose window
    has not, and `matched` those with a partner.
    """

    pairs: list[tuple[Row, Row]] = field(default_factory=list)
    late: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    unmatched: dict[Side, list[Row]] = field(default_factory=lambda: {side: [] for side in SIDES})
    waiting: dict[Side, list[Row]] = field(default_factory=lambda: {side: [] for side in SIDES})
    matched: dict[Side, list[Row]] = field(default_factory=lambda: {side: [] for side in SIDES})

    def rows(self, kind: Kind, *, last: bool = False) -> list[tuple[Row | None, Row | None]]:
        """Return what leaves of a kind of join; behind the `last` batch all windows have ended."""
        alone = {side: self.unmatched[side] + (self.waiting[side] if last else []) for side in SIDES}
        found: list[tuple[Row | None, Row | None]] = list(self.pairs) if kind.pairs else []
        if not kind.pairs and not kind.unmatched:
            found += [(row, None) for row in self.matched["left"]]
        if kind.unmatched and "left" in kind.preserved:
            found += [(row, None) for row in alone["left"]]
        if kind.unmatched and "right" in kind.preserved:
            found += [(None, row) for row in alone["right"]]
        return found


@dataclass(eq=False)
class Tuple:
    """A row with its place in the total order. `before` counts the rows of its own stream that come before it."""

    row: Row
    place: tuple[Any, ...]
    stamp: int | None
    before: int = 0
    batch: int = 0


def joined(
    batches: Sequence[Batch], theta: Sequence[Compare], window: Window, *, left_only: Only | None = None,
    right_only: Only | None = None, residual: Callable[[Row, Row], bool] | None = None, kind: Kind = INNER,
) -> Result:  # fmt: skip
    """Join two streams. To rows of a side that is preserved, the side's own condition is no filter."""
    only: dict[Side, Only | None] = {"left": left_only, "right": right_only}
    streams = {side: _stream(batches, side, window, side) for side in SIDES}
    return _run(streams, theta, window, only, residual, ordered=True, itself=False, preserved=kind.preserved)


def self_joined(
    batches: Sequence[Batch], theta: Sequence[Compare], window: Window, *, unordered: bool = False,
    left_only: Only | None = None, right_only: Only | None = None,
    residual: Callable[[Row, Row], bool] | None = None,
) -> Result:  # fmt: skip
    """Join a stream with itself: ordered pairs of different tuples, or each unordered pair once."""
    only: dict[Side, Only | None] = {"left": left_only, "right": right_only}
    stream = _stream(batches, "left", window, "left")
    return _run(dict.fromkeys(SIDES, stream), theta, window, only, residual, ordered=not unordered, itself=True)


def _stream(batches: Sequence[Batch], role: Side, window: Window, side: Side) -> list[Tuple]:
    """Put the rows of a side in the total order (batch, order column, right before left, partition, position)."""
    column = None if isinstance(window, Unbounded) else (window.left if side == "left" else window.right)
    counted = isinstance(window, (Last, TumblingRows))
    found = []
    for number, batch in enumerate(batches):
        for partition, rows in enumerate(batch.left if role == "left" else batch.right):
            for position, row in enumerate(rows):
                value = None if column is None else row[column]
                order = _rank(value) if counted and column is not None else ()
                place = (number, order, 1 if role == "left" else 0, partition, position)
                found.append(Tuple(row, place, None if counted else _stamp(value), batch=number))
    found.sort(key=lambda item: item.place)
    for before, item in enumerate(found):
        item.before = before
    return found


def _run(
    streams: dict[Side, list[Tuple]], theta: Sequence[Compare], window: Window, only: dict[Side, Only | None],
    residual: Callable[[Row, Row], bool] | None, *, ordered: bool, itself: bool, preserved: tuple[Side, ...] = (),
) -> Result:  # fmt: skip
    result = Result()
    kept: dict[Side, list[Tuple]] = {}
    alone = {side: [t for t in streams[side] if (o := only[side]) is None or o(t.row)] for side in SIDES}
    # What moves the watermark: of a self join, the one stream as it comes; of a preserved side, all of it.
    seen = {side: streams[side] if itself or side in preserved else alone[side] for side in SIDES}
    in_time: dict[Side, list[Tuple]] = {}
    for side in SIDES:
        late = {id(t) for t in seen[side] if _is_late(t, seen, window)}
        result.late[side] = len(late)
        in_time[side] = [t for t in streams[side] if id(t) not in late]
        kept[side] = [t for t in alone[side] if id(t) not in late]
    left_kept, right_kept = ({id(t) for t in kept[side]} for side in SIDES)

    met: dict[Side, set[int]] = {side: set() for side in SIDES}

    def holds(one: Tuple, two: Tuple) -> bool:
        return (
            id(one) in left_kept
            and id(two) in right_kept
            and all(_compares(c, one.row, two.row) for c in theta)
            and (residual is None or residual(one.row, two.row))
            and _near(window, one, two, streams)
        )

    for one in kept["left"]:
        for two in kept["right"]:
            if (itself and one is two) or not holds(one, two):
                continue
            # Of an unordered pair the reading with the later tuple on the left wins.
            if ordered or one.place > two.place or not holds(two, one):
                result.pairs.append((one.row, two.row))
                met["left"].add(id(one))
                met["right"].add(id(two))
    for side in SIDES:
        for item in in_time[side]:
            over = _is_over(item, side, streams, seen, window)
            kept_as = result.matched if id(item) in met[side] else result.unmatched if over else result.waiting
            kept_as[side].append(item.row)
    return result


def _is_over(
    item: Tuple, side: Side, streams: dict[Side, list[Tuple]], seen: dict[Side, list[Tuple]], window: Window
) -> bool:  # fmt: skip
    """Tell whether no row of a later batch can match this one, given all that has arrived."""
    opposite: Side = "right" if side == "left" else "left"
    if isinstance(window, Unbounded):
        return False
    if isinstance(window, Last):
        return item.before < len(streams[side]) - window.n
    if isinstance(window, TumblingRows):
        return (item.before // window.n + 1) * window.n <= len(streams[opposite])
    if item.stamp is None:
        return True  # without a time it matches nothing, and no window ends for it
    delays = window.delays.known
    newest = {side: [t.stamp for t in seen[side] if t.stamp is not None] for side in SIDES}
    if delays is None or not all(newest.values()):
        return False
    mark = min(max(newest[side]) - delays[side] for side in SIDES)
    if isinstance(window, Tumbling):
        return item.stamp < mark // window.size * window.size
    return item.stamp + (window.after if side == "left" else window.before) < mark


def _is_late(item: Tuple, streams: dict[Side, list[Tuple]], window: Window) -> bool:
    """Tell whether a row is behind the watermark that the batches before its own have left."""
    delays = window.delays.known if isinstance(window, (Within, Tumbling)) else None
    if delays is None or item.stamp is None:
        return False
    newest = {side: [t.stamp for t in streams[side] if t.batch < item.batch and t.stamp is not None] for side in SIDES}
    return all(newest.values()) and item.stamp < min(max(newest[side]) - delays[side] for side in SIDES)


def _near(window: Window, one: Tuple, two: Tuple, streams: dict[Side, list[Tuple]]) -> bool:
    if isinstance(window, Unbounded):
        return True
    if isinstance(window, TumblingRows):
        return one.before // window.n == two.before // window.n
    if isinstance(window, Last):
        earlier, later, stream = (one, two, streams["left"]) if one.place < two.place else (two, one, streams["right"])
        came = bisect_left(stream, later.place, key=lambda item: item.place)  # how many of the earlier one's stream
        return earlier.before >= came - window.n
    if one.stamp is None or two.stamp is None:
        return False
    if isinstance(window, Tumbling):
        return one.stamp // window.size == two.stamp // window.size
    return one.stamp - window.before <= two.stamp <= one.stamp + window.after


def _compares(compare: Compare, left: Row, right: Row) -> bool:
    a, b = left[compare.left], right[compare.right]
    if a is None or b is None:
        return False
    if compare.op == "band":
        return bool(compare.lo <= a - b <= compare.hi)  # a difference that is NaN is in no band
    x, y = _rank(a), _rank(b)
    match compare.op:
        case "<":
            return x < y
        case "<=":
            return x <= y
        case ">":
            return x > y
        case ">=":
            return x >= y
        case "=":
            return x == y
        case "!=":
            return x != y


def _rank(value: Any) -> tuple[Any, ...]:
    """Return a key that sorts as Spark sorts: NULL first, NaN last, text by its bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def _stamp(value: Any) -> int | None:
    """Return a timestamp in microseconds, a whole number as it is."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, datetime):
        epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (value.replace(tzinfo=value.tzinfo or timezone.utc) - epoch) // timedelta(microseconds=1)
    assert isinstance(value, date)
    return (value - date(1970, 1, 1)) // timedelta(microseconds=1)
