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

__all__ = ["AsofResult", "Batch", "Compare", "Result", "Row", "asof_joined", "joined", "self_joined"]

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


@dataclass(frozen=True)
class AsofResult:
    """Each left row that came in time, its right row (None: it has none), and the batch with which it leaves (None: the end)."""

    rows: list[tuple[Row, Row | None, int | None]] = field(default_factory=list)
    late: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))

    def left_by(self, batch: int | None = None) -> list[tuple[Row, Row | None]]:
        """Return what has left with a batch or before it; without one, all rows."""
        return [(one, two) for one, two, at in self.rows if batch is None or (at is not None and at <= batch)]


def asof_joined(
    batches: Sequence[Batch], *, on: str = "t", by: Sequence[str] = (), direction: str = "backward",
    tolerance: float | None = None, strict: bool = False, ties: str | None = None, delays: tuple[int, int] | None = None,
    left_only: Only | None = None, right_only: Only | None = None, residual: Callable[[Row, Row], bool] | None = None,
    kind: Kind = INNER,
) -> AsofResult:  # fmt: skip
    """Give each left row the nearest of all right rows that came in time; the nested loop knows nothing of batches.

    Of right rows at one place the greatest in `ties` wins, then the last that arrived; of an earlier and a later one at
    the same distance, the earlier.
    """
    result, only = AsofResult(), {"left": left_only, "right": right_only}
    kept: dict[Side, list[Tuple]] = {}
    clock: dict[Side, list[tuple[int, int]]] = {}
    for side in SIDES:
        kept[side] = [
            Tuple(row, (number, partition, position), None, batch=number)
            for number, batch in enumerate(batches)
            for partition, rows in enumerate(batch.left if side == "left" else batch.right)
            for position, row in enumerate(rows)
        ]
        counted = [t for t in kept[side] if side in kind.preserved or only[side] is None or only[side](t.row)]  # type: ignore[misc]
        clock[side] = [(t.batch, t.row[on]) for t in counted if delays is not None and t.row[on] is not None]

    def mark(batch: int) -> float:
        """Return the watermark that a batch and those before it leave."""
        newest = {side: [at for number, at in clock[side] if number <= batch] for side in SIDES}
        if delays is None or not all(newest.values()):
            return -math.inf
        return min(max(newest[side]) - delay for side, delay in zip(SIDES, delays, strict=True))

    for side in SIDES:
        apart = [(t, side in kind.preserved or only[side] is None or only[side](t.row)) for t in kept[side]]  # type: ignore[misc]
        late = {id(t) for t, seen in apart if seen and t.row[on] is not None and t.row[on] < mark(t.batch - 1)}
        result.late[side] = len(late)
        kept[side] = [t for t in kept[side] if id(t) not in late]

    def gap(one: Tuple, two: Tuple) -> float | None:
        """Return how far a right row is from a left one that may have it; None where it may not."""
        t, at = one.row[on], two.row[on]
        if t is None or at is None or math.isnan(t) or math.isnan(at):  # what is no number is near to nothing
            return None
        if not all(_compares(Compare(c, "=", c), one.row, two.row) for c in by):
            return None
        if any(o is not None and not o(x.row) for o, x in zip(only.values(), (one, two), strict=True)):
            return None
        if (direction == "backward" and at > t) or (direction == "forward" and at < t) or (strict and at == t):
            return None
        if residual is not None and not residual(one.row, two.row):
            return None
        distance: float = 0 if at == t else abs(t - at)
        return distance if tolerance is None or distance <= tolerance else None

    def best(one: Tuple, among: Sequence[Tuple]) -> tuple[Tuple | None, float | None]:
        near = [(two, distance) for two in among if (distance := gap(one, two)) is not None]
        if not near:
            return None, tolerance
        return min(near, key=lambda pair: order(one.row[on], *pair))

    def order(t: Any, two: Tuple, distance: float) -> tuple[Any, ...]:
        """Return what the least of is chosen; several rows may be infinitely far."""
        at = two.row[on]
        return distance, at > t, at if at > t else -at, _Last((_rank(two.row[ties]) if ties else (), two.place))

    for one in kept["left"]:
        two, _ = best(one, kept["right"])
        t, leaves = one.row[on], one.batch if one.row[on] is None else None
        for batch in range(one.batch, len(batches)) if leaves is None else ():
            _, wait = best(one, [r for r in kept["right"] if r.batch <= batch])
            far = 0 if direction == "backward" else math.inf if wait is None else wait
            if t + far < mark(batch) or (direction == "backward" and strict and t <= mark(batch)):
                leaves = batch
                break
        if delays is None and t is None:
            leaves = None  # without a clock nothing leaves before the end
        if two is not None or "left" in kind.preserved:
            result.rows.append((one.row, None if two is None else two.row, leaves))
    return result


class _Last:
    """Turns an order around: of two places the later one is the less."""

    def __init__(self, place: Any) -> None:
        self.place = place

    def __lt__(self, other: _Last) -> bool:
        return bool(other.place < self.place)
