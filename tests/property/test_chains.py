"""Joins of joins: a chain whose inputs are not late gives every pair of the nested loop, whatever the spans and delays.

Every stream has its own delay and keeps to it. A join that stands on another one is told nothing about that side: the
result of the first says how far out of order it can be, and the second takes it as its delay.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from weft.errors import SpecError
from weft.local import Join, NaturalJoin
from weft.spec import Tumbling, Within
from weft.state import MemoryStore
from weft.types import SIDES

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.int64(), "id": pa.int64()})
Row = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """Rows of every batch; none is further behind than `delay`."""

    delay: int
    batches: tuple[tuple[Row, ...], ...]

    def table(self, batch: int) -> pa.Table:
        return pa.Table.from_pylist(list(self.batches[batch]), SCHEMA)

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]


@st.composite
def streams(draw: st.DrawFn, count: int, batches: int) -> list[Stream]:
    made, number = [], itertools.count()
    for _ in range(count):
        delay, newest = draw(st.integers(0, 4)), 0
        parts: list[tuple[Row, ...]] = []
        for _ in range(batches):
            earliest = newest - delay
            moves = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.integers(0, 2)), max_size=4))
            rows = [{"t": earliest + m, "k": k, "x": x, "id": next(number)} for m, k, x in moves]
            newest = max([newest, *(row["t"] for row in rows)]) if parts or rows else newest
            parts.append(tuple(rows))
        made.append(Stream(delay, tuple(parts)))
    return made


@st.composite
def spans(draw: st.DrawFn) -> Callable[..., Within | Tumbling]:
    """Draw a window, to be made with delays."""
    if draw(st.integers(0, 3)) == 3:
        size = draw(st.integers(1, 6))
        return lambda **delays: weft.tumbling(size, on="t", **delays)
    before, after = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    return lambda **delays: weft.within(before=before, after=after, on="t", **delays)


def near(window: Within | Tumbling, one: int, two: int) -> bool:
    if isinstance(window, Tumbling):
        return one // window.size == two // window.size
    return one - window.before <= two <= one + window.after


@st.composite
def chains(
    draw: st.DrawFn, depth: int
) -> tuple[list[Stream], list[Callable[..., Within | Tumbling]], list[str], list[int]]:
    """Draw streams, windows, which time goes on (`l.t` or `r.t`), and numbers of tasks."""
    made = draw(streams(depth + 1, draw(st.integers(2, 4))))
    return (
        made, [draw(spans()) for _ in range(depth)], [draw(st.sampled_from("lr")) for _ in range(depth)],
        [draw(st.integers(1, 3)) for _ in range(depth)],
    )  # fmt: skip


def expected(made: list[Stream], windows: list[Within | Tumbling], times: list[str]) -> Counter[tuple[int, ...]]:
    """Join everything with everything, as if all had been there from the beginning."""
    found: list[tuple[int, int, tuple[int, ...]]] = [(row["t"], row["k"], (row["id"],)) for row in made[0].rows]
    for stream, window, time in zip(made[1:], windows, times, strict=True):
        found = [
            (t if time == "l" else row["t"], k, (*ids, row["id"]))
            for t, k, ids in found
            for row in stream.rows
            if k == row["k"] and near(window, t, row["t"])
        ]
    return Counter(ids for _, _, ids in found)


def run(case: tuple[list[Stream], list[Callable[..., Within | Tumbling]], list[str], list[int]]) -> None:
    made, spans_, times, tasks = case
    joins: list[Join] = []
    schema, names = SCHEMA, ["id"]
    for stream, span, time, number in zip(made[1:], spans_, times, tasks, strict=True):
        first = {"left_delay": made[0].delay} if not joins else {}  # a join says itself how late its result is
        kept = [f"l.{name} AS {name}" for name in names[:-1]] + [f"l.id AS i{len(names)}"]
        join = Join(
            schema, SCHEMA, on="l.k = r.k", window=span(**first, right_delay=stream.delay), tasks=number,
            select=[f"{time}.t AS t", "l.k AS k", *kept, "r.id AS id"],
        )  # fmt: skip
        names = [*names[:-1], f"i{len(names)}", "id"]
        joins.append(join)
        schema = join.schema
    found: Counter[tuple[int, ...]] = Counter()
    for batch in range(len(made[0].batches)):
        table = made[0].table(batch)
        for join, stream in zip(joins, made[1:], strict=True):
            table = pa.concat_tables([join.schema.empty_table(), *join.feed(table, stream.table(batch))])
        found.update(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    for join in joins:
        assert sum(metrics["late"][side] for metrics in join.store.metrics.values() for side in SIDES) == 0  # type: ignore[attr-defined]
    windows = [span(delay=0) for span in spans_]
    assert found == expected(made, windows, times)


@given(chains(2))
def test_two_deep(case: Any) -> None:
    run(case)


@share(10 / 3)  # 200 in CI
@given(chains(3))
def test_three_deep(case: Any) -> None:
    run(case)


@given(chains(4))
def test_four_deep(case: Any) -> None:
    run(case)


@given(streams(2, 3), spans(), spans(), st.integers(1, 3))
def test_behind_a_self_join(made: list[Stream], first: Any, second: Any, tasks: int) -> None:
    one, other = made
    window = first(delay=one.delay)
    itself = Join(
        SCHEMA, SCHEMA, on="a.k = b.k", window=window, aliases=("a", "b"), tasks=tasks,
        select=["b.t AS t", "a.id AS x", "b.id AS id", "a.k AS k"],
    )  # fmt: skip
    behind = Join(
        itself.schema, SCHEMA, on="l.k = r.k", window=second(right_delay=other.delay), tasks=tasks,
        select=["l.x AS x", "l.id AS y", "r.id AS z"],
    )  # fmt: skip
    found: Counter[tuple[int, int, int]] = Counter()
    for batch in range(len(one.batches)):
        pairs = pa.concat_tables([itself.schema.empty_table(), *itself.feed(one.table(batch))])
        for chunk in behind.feed(pairs, other.table(batch)):
            found.update(zip(*(chunk.column(name).to_pylist() for name in "xyz"), strict=True))
    assert found == Counter(
        (a["id"], b["id"], c["id"])
        for a, b, c in itertools.product(one.rows, one.rows, other.rows)
        if a is not b and a["k"] == b["k"] == c["k"] and near(window, a["t"], b["t"]) and near(second(), b["t"], c["t"])
    )


@share(10 / 3)
@given(
    streams(3, 4), spans(), spans(), st.sampled_from(["left", "right", "left_semi", "left_anti"]),
    st.sampled_from(["inner", "left", "left_anti"]), st.integers(1, 3),
)  # fmt: skip
def test_behind_joins_of_every_kind(
    made: list[Stream], first: Any, second: Any, how: str, then: str, tasks: int
) -> None:
    """Rows without a partner leave late, but no later than the result says: the next join drops none of them."""
    one, two, three = made
    time = "r" if how == "right" else "l"
    outer = Join(
        SCHEMA, SCHEMA, on="l.k = r.k AND l.x <= r.x", how=how, window=first(left_delay=one.delay, right_delay=two.delay),
        select=[f"{time}.t AS t", f"{time}.k AS k", f"{time}.id AS id"], tasks=tasks,
    )  # fmt: skip
    behind = Join(
        outer.schema, SCHEMA, on="l.k = r.k", how=then, window=second(right_delay=three.delay), tasks=tasks,
        select=["l.id AS y", "r.id AS z"] if then != "left_anti" else ["l.id AS y"],
    )  # fmt: skip
    found: Counter[tuple[int | None, ...]] = Counter()
    for batch in range(len(one.batches)):
        rows = pa.concat_tables([outer.schema.empty_table(), *outer.feed(one.table(batch), two.table(batch))])
        for chunk in behind.feed(rows, three.table(batch)):
            found.update(zip(*(column.to_pylist() for column in chunk.columns), strict=True))
    rows = pa.concat_tables([outer.schema.empty_table(), *outer.finish()])
    for chunk in (*behind.feed(rows, SCHEMA.empty_table()), *behind.finish()):
        found.update(zip(*(column.to_pylist() for column in chunk.columns), strict=True))
    assert isinstance(behind.store, MemoryStore)
    assert sum(metrics["late"][side] for metrics in behind.store.metrics.values() for side in SIDES) == 0

    def partners(row: Row) -> int:
        pairs = ((row, other) if time == "l" else (other, row) for other in (two if time == "l" else one).rows)
        return sum(a["k"] == b["k"] and a["x"] <= b["x"] and near(first(delay=0), a["t"], b["t"]) for a, b in pairs)

    expected: Counter[tuple[int | None, ...]] = Counter()
    for row in (one if time == "l" else two).rows:
        met = partners(row)
        copies = {"left_semi": min(met, 1), "left_anti": int(not met)}.get(how, max(met, 1))
        seen = [r["id"] for r in three.rows if r["k"] == row["k"] and near(second(delay=0), row["t"], r["t"])]
        if then == "left_anti":
            expected[row["id"],] += 0 if seen else copies
        else:
            expected.update({(row["id"], other): copies for other in seen or ([None] if then == "left" else [])})
    assert found == +expected


@pytest.mark.parametrize("single", [True, False], ids=["one stream", "two streams"])
@given(made=streams(3, 3), first=spans(), second=spans(), tasks=st.integers(1, 3))
def test_behind_a_natural_join(single: bool, made: list[Stream], first: Any, second: Any, tasks: int) -> None:
    one, two, other = made
    delays = {"delay": one.delay} if single else {"left_delay": one.delay, "right_delay": two.delay}
    window = first(**delays)
    schema = SCHEMA.append(pa.field("document", pa.string()))
    natural = NaturalJoin(schema, None if single else schema, column="document", id="id", window=window, tasks=tasks)
    behind = Join(
        natural.schema, SCHEMA, on="l.left_id + 0 < r.id + 1000", tasks=tasks,
        window=with_columns(second(right_delay=other.delay), "right_time"),
        select=["l.left_id AS x", "l.right_id AS y", "r.id AS z"],
    )  # fmt: skip

    def documents(stream: Stream, batch: int) -> pa.Table:
        table = stream.table(batch)
        texts = [f'{{"k": {row["k"]}, "x": {row["x"]}}}' for row in stream.batches[batch]]
        return table.append_column("document", pa.array(texts, pa.string()))

    found: Counter[tuple[int, int, int]] = Counter()
    for batch in range(len(one.batches)):
        fed = [documents(one, batch)] if single else [documents(one, batch), documents(two, batch)]
        pairs = pa.concat_tables([natural.schema.empty_table(), *natural.feed(*fed)])
        for chunk in behind.feed(pairs, other.table(batch)):
            found.update(zip(*(chunk.column(name).to_pylist() for name in "xyz"), strict=True))
    partners = one.rows if single else two.rows
    pairs_found = [
        (a, b)
        for a, b in itertools.product(one.rows, partners)
        if (a["k"], a["x"]) == (b["k"], b["x"])
        and (
            a["id"] < b["id"] and (near(window, a["t"], b["t"]) or near(window, b["t"], a["t"]))
            if single
            else near(window, a["t"], b["t"])
        )
    ]
    assert found == Counter(
        (a["id"], b["id"], c["id"]) for a, b in pairs_found for c in other.rows if near(second(), b["t"], c["t"])
    )


def with_columns(window: Within | Tumbling, left: str) -> Within | Tumbling:
    return replace(window, left=left)


def test_a_delay_that_is_too_short_for_the_join_below_is_refused() -> None:
    first = Join(SCHEMA, SCHEMA, on="l.k = r.k", window=weft.within(10, on="t", delay=1), select=["l.t", "l.k"])
    with pytest.raises(SpecError, match="A delay of 1 is too short for the left side"):
        Join(first.schema, SCHEMA, on="l.k = r.k", window=weft.within(1, on="t", delay=1))
