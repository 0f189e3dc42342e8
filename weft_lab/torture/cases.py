"""Random joins: conditions with their SQL text, windows, rows, batches. Domains are tiny, so that ties and duplicates abound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pyarrow as pa

import weft
from weft.local import Join
from weft.routing import Plan
from weft.spec import INNER, JoinSpec, Kind, Window, build_spec
from weft.types import SIDES, Side
from weft_lab import oracle
from weft_lab.oracle import Batch, Compare, Row
from weft_lab.torture.draw import Draw
from weft_lab.torture.legal import a_number_of_tasks, a_plan, legal_indexes, legal_schemes

__all__ = [
    "SCHEMA", "Case", "Ids", "Predicate", "a_band", "a_case", "a_comparison", "a_count_window", "a_filter", "a_row",
    "a_time_window", "a_window", "an_interval", "count", "expected_count", "fed", "make", "spec_of", "tables",
]  # fmt: skip

INTS = (0, 1, 2, 3, 4, 5, None, 2)
FLOATS = (0.0, 1.0, 2.5, -0.0, math.nan, math.inf, -math.inf, None, 1.5, -1.0)
TEXTS = ("", "a", "b", "é", "longprefix-1", "longprefix-2", "longprefix", None)
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "i": pa.int64(),
        "j": pa.int32(),
        "f": pa.float64(),
        "s": pa.string(),
        "t": pa.int64(),
        "o": pa.float64(),
    }
)
Ids = tuple[Any, Any]
"""The ids of both rows of a result, None for a row that is not there."""
OPS: tuple[oracle.Op, ...] = ("<", "<=", ">", ">=", "=", "!=")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True)
class Predicate:
    """One conjunct (or a BETWEEN, which is two): SQL with `{0}` and `{1}` for the aliases, and what it means."""

    sql: str
    means: tuple[Compare, ...] = ()
    left_only: Callable[[Row], bool] | None = None
    right_only: Callable[[Row], bool] | None = None


def a_comparison(draw: Draw) -> Predicate:
    """Draw `left OP right`, written either way round."""
    left, right = ("s", "s")
    if draw.integer(0, 9) < 9:
        left, right = draw.pick("ijf"), draw.pick("ijf")
    op = draw.pick(OPS)
    if draw.flag():
        return Predicate(f"{{0}}.{left} {op} {{1}}.{right}", (Compare(left, op, right),))
    return Predicate(f"{{1}}.{right} {TURNED[op]} {{0}}.{left}", (Compare(left, op, right),))


def a_band(draw: Draw) -> Predicate:
    """Draw a difference that is bounded, with or without its bound."""
    column = draw.pick("ijf")
    width: float = draw.integer(0, 2)
    first, second = draw.pick((("{0}", "{1}"), ("{1}", "{0}")))
    if draw.flag():
        sql = f"abs({first}.{column} - {second}.{column}) <= {width}"
        return Predicate(sql, (Compare(column, "band", column, -width, width),))
    if column == "f":
        width = 1.5 if width else 0.5
        inside = math.nextafter(width, 0)
    else:
        width, inside = width + 1, width
    sql = f"abs({first}.{column} - {second}.{column}) < {width}"
    return Predicate(sql, (Compare(column, "band", column, -inside, inside),))


def an_interval(draw: Draw) -> Predicate:
    """Draw a column of one side between two of the other."""
    x, low, high = draw.pick(tuple(permutations("ijf")))
    if draw.flag():
        return Predicate(
            f"{{0}}.{x} BETWEEN {{1}}.{low} AND {{1}}.{high}", (Compare(x, ">=", low), Compare(x, "<=", high))
        )
    return Predicate(f"{{1}}.{x} BETWEEN {{0}}.{low} AND {{0}}.{high}", (Compare(low, "<=", x), Compare(high, ">=", x)))


def a_filter(draw: Draw) -> Predicate:
    """Draw a condition on one side alone."""
    column, bound = draw.pick("ij"), draw.integer(1, 3)
    holds = lambda row: row[column] is not None and row[column] >= bound
    if draw.flag():
        return Predicate(f"{{0}}.{column} >= {bound}", left_only=holds)
    return Predicate(f"{bound} <= {{1}}.{column}", right_only=holds)


def a_time_window(draw: Draw) -> Window:
    """Draw a window over time, with or without a delay."""
    delay = draw.integer(0, 5) if draw.flag() else None
    kind = draw.integer(0, 2)
    if kind == 0:
        return weft.within(draw.integer(0, 4), on="t", delay=delay)
    if kind == 1:
        return weft.within(before=draw.integer(0, 4), after=draw.integer(0, 4), on="t", delay=delay)
    return weft.tumbling(draw.integer(1, 6), on="t", delay=delay)


def a_count_window(draw: Draw) -> Window:
    """Draw a window that counts rows."""
    rows, order = draw.integer(1, 9), draw.pick((None, "t", "o"))
    return weft.last(rows, order=order) if draw.flag() else weft.tumbling_rows(rows, order=order)


def a_window(draw: Draw) -> Window:
    """Draw any window."""
    kind = draw.integer(0, 2)
    return weft.unbounded() if kind == 0 else a_time_window(draw) if kind == 1 else a_count_window(draw)


@dataclass(frozen=True)
class Case:
    """A join and its input."""

    predicates: tuple[Predicate, ...]
    window: Window
    batches: tuple[Batch, ...]
    itself: bool = False
    unordered: bool = False
    kind: Kind = INNER

    def __repr__(self) -> str:
        lines = [f"{self.kind.name} on {self.on!r}, {self.window!r}, itself={self.itself}, unordered={self.unordered}"]
        for number, batch in enumerate(self.batches):
            for side, parts in (("left", batch.left), ("right", batch.right)):
                lines += [
                    f"  batch {number} {side}: " + ", ".join(str(list(row.values())) for row in part) for part in parts
                ]
        return "\n".join(lines)

    @property
    def aliases(self) -> tuple[str, str]:
        """Return how the condition calls both sides."""
        return ("a", "b") if self.itself else ("l", "r")

    @property
    def on(self) -> str:
        """Return the condition."""
        return " AND ".join(predicate.sql.format(*self.aliases) for predicate in self.predicates)

    def expected(self, batches: Sequence[Batch] | None = None) -> oracle.Result:
        """Return what a nested loop finds, in batches of another slicing if they are given."""
        batches = self.batches if batches is None else batches
        theta = [compare for predicate in self.predicates for compare in predicate.means]
        left = [p.left_only for p in self.predicates if p.left_only]
        right = [p.right_only for p in self.predicates if p.right_only]
        only: dict[str, Any] = {
            "left_only": (lambda row: all(one(row) for one in left)) if left else None,
            "right_only": (lambda row: all(one(row) for one in right)) if right else None,
        }
        if self.itself:
            return oracle.self_joined(batches, theta, self.window, unordered=self.unordered, **only)
        return oracle.joined(batches, theta, self.window, kind=self.kind, **only)

    def wanted(self) -> tuple[Counter[Ids], dict[str, int]]:
        """Return what must have left with the last batch, and how many rows of each side are late."""
        expected = self.expected()
        return expected_count(expected, self.kind), {side: expected.late[side] for side in SIDES}

    def join(self, **options: Any) -> Join:
        """Make the local join."""
        return make(self, **options)

    def options(self, draw: Draw) -> dict[str, Any]:
        """Draw what may be another in every life."""
        spec = spec_of(self)
        return {"index": draw.pick(legal_indexes(spec)), "scheme": draw.pick(legal_schemes(spec))}

    def tasks(self, draw: Draw, options: dict[str, Any]) -> int:
        """Draw a number of tasks that a scheme can do with."""
        return a_number_of_tasks(draw, options["scheme"])

    def plan(self, draw: Draw, tasks: int) -> Plan:
        """Draw a plan for the next batch."""
        return a_plan(draw, spec_of(self), tasks)

    def tables(self, parts: Sequence[Sequence[Row]]) -> list[pa.Table]:
        """Return the map partitions of one side as tables."""
        return tables(parts)


_ROWS = len(INTS) ** 2 * len(FLOATS) * len(TEXTS) * 12 * 6


def a_row(draw: Draw, number: int, batch: int) -> Row:
    """Make a row of one drawn number: it shrinks to the plainest row."""
    drawn = draw.integer(0, _ROWS - 1)
    digits = []
    for base in (len(INTS), len(INTS), len(FLOATS), len(TEXTS), 12, 6):
        drawn, digit = divmod(drawn, base)
        digits.append(digit)
    i, j, f, s, t, o = digits
    stamp = None if t == 11 else 4 * batch - (0, 1, 2, 3, 0, -1, -2, 5, 8, 12, 1)[t]
    return {
        "id": number, "i": INTS[i], "j": INTS[j], "f": FLOATS[f], "s": TEXTS[s], "t": stamp,
        "o": (0.0, 1.0, -0.0, math.nan, None, 2.0)[o],
    }  # fmt: skip


def _stream(draw: Draw, itself: bool, most: int, batches: int) -> tuple[Batch, ...]:
    number = 0
    found = []
    for batch in range(batches):
        parts: dict[Side, list[list[Row]]] = {"left": [], "right": []}
        for side in SIDES[: 1 if itself else 2]:
            for _ in range(draw.integer(0, 3)):
                size = draw.integer(0, most)
                parts[side].append([a_row(draw, number + k, batch) for k in range(size)])
                number += size
        found.append(Batch(parts["left"], parts["right"]))
    return tuple(found)


def _any_of(draw: Draw) -> Predicate:
    return draw.pick((a_comparison, a_band, an_interval))(draw)


def a_case(
    draw: Draw, window: Callable[[Draw], Window] = a_window, *, first: Callable[[Draw], Predicate] | None = None,
    itself: bool = False, unordered: bool = False, most: int = 6, batches: int = 5, kinds: Sequence[Kind] = (INNER,),
) -> Case:  # fmt: skip
    """Draw a join of one to three comparisons, sometimes with a filter on one side, and its input."""
    predicates = [_any_of(draw) if first is None else first(draw), *(_any_of(draw) for _ in range(draw.integer(0, 2)))]
    if draw.integer(0, 3) == 3:
        predicates.append(a_filter(draw))
    stream = _stream(draw, itself, most, draw.integer(1, batches))
    kind = kinds[0] if len(kinds) == 1 else draw.pick(kinds)
    return Case(tuple(predicates), window(draw), stream, itself, unordered, kind)


def spec_of(case: Case) -> JoinSpec:
    """Return what joins."""
    from weft.local.analyze import analyze

    condition = analyze(case.on, SCHEMA, SCHEMA, case.aliases).condition
    return build_spec(condition, case.window, self_join=case.itself, unordered=case.unordered, kind=case.kind)


def make(case: Case, **options: Any) -> Join:
    """Make the local join of a case."""
    one, two = case.aliases
    selected = [f"{one}.id AS x", f"{two}.id AS y"] if case.kind.pairs else [f"{one}.id AS x"]
    return Join(
        SCHEMA, SCHEMA, on=case.on, how=case.kind.name, window=case.window, aliases=case.aliases, unordered=case.unordered,
        select=selected, **options,
    )  # fmt: skip


def tables(parts: Sequence[Sequence[Row]]) -> list[pa.Table]:
    """Return the map partitions of one side as tables."""
    return [pa.Table.from_pylist([dict(row) for row in part], SCHEMA) for part in parts]


def fed(join: Join, batch: Batch) -> Iterable[pa.Table]:
    """Feed a batch to a local join."""
    return join.feed(tables(batch.left), tables(batch.right))


def count(chunks: Iterable[pa.Table]) -> Counter[Ids]:
    """Return the pairs of ids; a row that leaves alone has None in place of the other."""
    found: Counter[Ids] = Counter()
    for chunk in chunks:
        right = chunk.column("y").to_pylist() if "y" in chunk.column_names else [None] * chunk.num_rows
        found.update(zip(chunk.column("x").to_pylist(), right, strict=True))
    return found


def expected_count(result: oracle.Result, kind: Kind = INNER, *, last: bool = False) -> Counter[Ids]:
    """Return the pairs of ids that the nested loop found, and the rows that leave alone."""
    return Counter((one and one["id"], two and two["id"]) for one, two in result.rows(kind, last=last))
