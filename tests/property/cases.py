"""Random joins: predicates with their SQL text, windows, rows, batches; and how a local join is run on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import weft
from tests import oracle
from tests.oracle import Batch, Compare, Row
from weft.index import INDEXES
from weft.local import Join
from weft.routing import (
    Adsp,
    Biclique,
    Broadcast,
    Chained,
    ContRand,
    Dynamic,
    FastJoin,
    Hash,
    Matrix,
    Ordered,
    Pim,
    Range,
    Readj,
    Scheme,
    Slices,
    Split,
    Square,
    Sta,
)
from weft.routing.adsp import ordering
from weft.spec import JoinSpec, Window, Within, build_spec
from weft.types import SIDES, Side

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
OPS = ("<", "<=", ">", ">=", "=", "!=")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True)
class Predicate:
    """One conjunct (or a BETWEEN, which is two): SQL with `{0}` and `{1}` for the aliases, and what it means."""

    sql: str
    means: tuple[Compare, ...] = ()
    left_only: Callable[[Row], bool] | None = None
    right_only: Callable[[Row], bool] | None = None


@st.composite
def comparisons(draw: st.DrawFn) -> Predicate:
    columns = st.sampled_from(("i", "j", "f"))
    left, right = draw(st.one_of(st.tuples(columns, columns), st.just(("s", "s"))))
    op = draw(st.sampled_from(OPS))
    if draw(st.booleans()):
        return Predicate(f"{{0}}.{left} {op} {{1}}.{right}", (Compare(left, op, right),))  # type: ignore[arg-type]
    return Predicate(f"{{1}}.{right} {TURNED[op]} {{0}}.{left}", (Compare(left, op, right),))  # type: ignore[arg-type]


@st.composite
def bands(draw: st.DrawFn) -> Predicate:
    column = draw(st.sampled_from(("i", "j", "f")))
    width: float = draw(st.sampled_from((0, 1, 2)))
    first, second = draw(st.permutations(("{0}", "{1}")))
    if draw(st.booleans()):
        sql = f"abs({first}.{column} - {second}.{column}) <= {width}"
        return Predicate(sql, (Compare(column, "band", column, -width, width),))
    if column == "f":
        width = 1.5 if width else 0.5
        inside = math.nextafter(width, 0)
    else:
        width, inside = width + 1, width
    return Predicate(
        f"abs({first}.{column} - {second}.{column}) < {width}", (Compare(column, "band", column, -inside, inside),)
    )


@st.composite
def intervals(draw: st.DrawFn) -> Predicate:
    x, low, high = draw(st.permutations(("i", "j", "f")))
    if draw(st.booleans()):
        return Predicate(
            f"{{0}}.{x} BETWEEN {{1}}.{low} AND {{1}}.{high}", (Compare(x, ">=", low), Compare(x, "<=", high))
        )
    return Predicate(f"{{1}}.{x} BETWEEN {{0}}.{low} AND {{0}}.{high}", (Compare(low, "<=", x), Compare(high, ">=", x)))


def _is(column: str, bound: int) -> Callable[[Row], bool]:
    return lambda row: row[column] is not None and row[column] >= bound


@st.composite
def filters(draw: st.DrawFn) -> Predicate:
    column, bound = draw(st.sampled_from(("i", "j"))), draw(st.integers(1, 3))
    if draw(st.booleans()):
        return Predicate(f"{{0}}.{column} >= {bound}", left_only=_is(column, bound))
    return Predicate(f"{bound} <= {{1}}.{column}", right_only=_is(column, bound))


def times() -> st.SearchStrategy[Window]:
    delays = st.one_of(st.none(), st.integers(0, 5))
    spans = st.builds(lambda d, span: weft.within(span, on="t", delay=d), delays, st.integers(0, 4))
    skewed = st.builds(
        lambda d, b, a: weft.within(before=b, after=a, on="t", delay=d), delays, st.integers(0, 4), st.integers(0, 4)
    )
    tumbling = st.builds(lambda d, n: weft.tumbling(n, on="t", delay=d), delays, st.integers(1, 6))
    return st.one_of(spans, skewed, tumbling)


def counts() -> st.SearchStrategy[Window]:
    order = st.sampled_from((None, "t", "o"))
    return st.one_of(
        st.builds(lambda n, o: weft.last(n, order=o), st.integers(1, 9), order),
        st.builds(lambda n, o: weft.tumbling_rows(n, order=o), st.integers(1, 9), order),
    )


def windows() -> st.SearchStrategy[Window]:
    return st.one_of(st.just(weft.unbounded()), times(), counts())


@dataclass(frozen=True)
class Case:
    """A join and its input."""

    predicates: tuple[Predicate, ...]
    window: Window
    batches: tuple[Batch, ...]
    itself: bool = False
    unordered: bool = False

    def __repr__(self) -> str:
        lines = [f"on {self.on!r}, window {self.window!r}, itself={self.itself}, unordered={self.unordered}"]
        for number, batch in enumerate(self.batches):
            for side, parts in (("left", batch.left), ("right", batch.right)):
                lines += [
                    f"  batch {number} {side}: " + ", ".join(str(list(row.values())) for row in part) for part in parts
                ]
        return "\n".join(lines)

    @property
    def aliases(self) -> tuple[str, str]:
        return ("a", "b") if self.itself else ("l", "r")

    @property
    def on(self) -> str:
        return " AND ".join(predicate.sql.format(*self.aliases) for predicate in self.predicates)

    def expected(self) -> oracle.Result:
        theta = [compare for predicate in self.predicates for compare in predicate.means]
        left = [p.left_only for p in self.predicates if p.left_only]
        right = [p.right_only for p in self.predicates if p.right_only]
        only: dict[str, Any] = {
            "left_only": (lambda row: all(one(row) for one in left)) if left else None,
            "right_only": (lambda row: all(one(row) for one in right)) if right else None,
        }
        if self.itself:
            return oracle.self_joined(self.batches, theta, self.window, unordered=self.unordered, **only)
        return oracle.joined(self.batches, theta, self.window, **only)


def _row(number: int, draw: int, batch: int) -> Row:
    """Make a row of one drawn number: it shrinks to the plainest row."""
    digits = []
    for base in (len(INTS), len(INTS), len(FLOATS), len(TEXTS), 12, 6):
        draw, digit = divmod(draw, base)
        digits.append(digit)
    i, j, f, s, t, o = digits
    stamp = None if t == 11 else 4 * batch - (0, 1, 2, 3, 0, -1, -2, 5, 8, 12, 1)[t]
    return {
        "id": number, "i": INTS[i], "j": INTS[j], "f": FLOATS[f], "s": TEXTS[s], "t": stamp,
        "o": (0.0, 1.0, -0.0, math.nan, None, 2.0)[o],
    }  # fmt: skip


@st.composite
def streams(draw: st.DrawFn, itself: bool, most: int) -> tuple[Batch, ...]:
    numbers = st.integers(0, len(INTS) ** 2 * len(FLOATS) * len(TEXTS) * 12 * 6 - 1)
    number = 0
    batches = []
    for batch in range(draw(st.integers(1, 5))):
        parts: dict[Side, list[list[Row]]] = {}
        for side in SIDES:
            if itself and side == "right":
                parts[side] = []
                continue
            sizes = draw(st.lists(st.integers(0, most), max_size=3))
            parts[side] = []
            for size in sizes:
                rows = [_row(number + k, draw(numbers), batch) for k in range(size)]
                number += size
                parts[side].append(rows)
        batches.append(Batch(parts["left"], parts["right"]))
    return tuple(batches)


@st.composite
def cases(
    draw: st.DrawFn, window: st.SearchStrategy[Window] | None = None, *, itself: bool = False, unordered: bool = False,
    first: st.SearchStrategy[Predicate] | None = None, most: int = 6,
) -> Case:  # fmt: skip
    """Draw a join of one to three comparisons, sometimes with a filter on one side."""
    any_of = st.one_of(comparisons(), bands(), intervals())
    predicates = [draw(any_of if first is None else first), *draw(st.lists(any_of, max_size=2))]
    if draw(st.integers(0, 3)) == 3:
        predicates.append(draw(filters()))
    return Case(
        tuple(predicates), draw(windows() if window is None else window), draw(streams(itself, most)), itself, unordered
    )


def legal_schemes(spec: JoinSpec) -> list[str | Scheme]:
    """Return every scheme that can serve a join; ranges come early, so that few rows suffice."""
    found: list[str | Scheme] = ["auto", Matrix(), Broadcast(), Split(), "random"]
    if spec.access.equal is not None:
        eager: dict[str, Any] = {"threshold": 1.0, "noise": 0.0, "gain": 0.0, "enough": 0.0, "keys": 3}
        found += [Hash(), Biclique(), Biclique(subgroups=2), ContRand()]
        found += [
            FastJoin(**eager),
            FastJoin(**eager, split_hot=True, biclique=False),
            FastJoin(**eager, split_hot=True),
        ]
        found.append(Readj(sigma=0.01, imbalance=1.0, patience=1))
    if spec.access.within is not None:
        found += [Range(imbalance=1.0, enough=1), "range"]
    if spec.condition.compares:
        found += [Sta(hot="auto", top=2, margin=1, worth=0), Sta(top=1, cold="publish"), Chained("all", "one")]
        found += [Chained("one", "all")]
        if spec.left.time is not None:
            found.append(Pim(merge=3))
    if isinstance(spec.window, Within):
        found.append(Slices(rounds=1, long=0.0, even=9.0))
    if ordering(spec) is not None:
        found.append(Ordered(imbalance=1.0, enough=0, patience=1, size=8))
    found += [Adsp(patience=1), Adsp(memory=4, patience=1, size=4), Square(memory=5, patience=1), Dynamic(memory=4)]
    return found


def legal_tasks(scheme: str | Scheme) -> st.SearchStrategy[int]:
    """Draw a number of tasks that a scheme can do with."""
    hot = scheme.hot if isinstance(scheme, Sta) else 0
    return st.integers(2 if hot == "auto" else hot + 1, 7)


def legal_indexes(spec: JoinSpec) -> list[str]:
    return ["auto", *(name for name in INDEXES if name != "hash" or spec.access.equal is not None)]


def spec_of(case: Case) -> JoinSpec:
    from weft.local.sql import analyze

    condition = analyze(case.on, SCHEMA, SCHEMA, case.aliases).condition
    return build_spec(condition, case.window, self_join=case.itself, unordered=case.unordered)


def make(case: Case, **options: Any) -> Join:
    """Make the local join of a case."""
    return Join(
        SCHEMA, SCHEMA, on=case.on, window=case.window, aliases=case.aliases, unordered=case.unordered,
        select=[f"{case.aliases[0]}.id AS x", f"{case.aliases[1]}.id AS y"], **options,
    )  # fmt: skip


def tables(parts: Sequence[Sequence[Row]]) -> list[pa.Table]:
    return [pa.Table.from_pylist([dict(row) for row in part], SCHEMA) for part in parts]


def fed(join: Join, batch: Batch) -> Iterable[pa.Table]:
    return join.feed(tables(batch.left), tables(batch.right))


def count(chunks: Iterable[pa.Table]) -> Counter[tuple[int, int]]:
    """Return the pairs of ids."""
    found: Counter[tuple[int, int]] = Counter()
    for chunk in chunks:
        found.update(zip(chunk.column("x").to_pylist(), chunk.column("y").to_pylist(), strict=True))
    return found


def expected_count(result: oracle.Result) -> Counter[tuple[int, int]]:
    return Counter((one["id"], two["id"]) for one, two in result.pairs)
