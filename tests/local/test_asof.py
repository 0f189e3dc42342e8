"""As-of joins on the local runtime: what rows it takes, what it keeps, how it spreads, what it says and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from weft.errors import SpecError, StateMismatch, WeftError
from weft.kernels import asof as kernels
from weft.kernels import words
from weft.local import AsofJoin, asof_join, explain_asof_join
from weft.routing import AsofPlan, AsofScheme
from weft.spec.asof import DIRECTIONS, asof_lags
from weft.state import MemoryStore

UTC = timezone.utc
TRADES = pa.schema({"t": pa.int64(), "k": pa.string(), "price": pa.float64(), "id": pa.int64()})
QUOTES = pa.schema({"t": pa.int64(), "k": pa.string(), "ask": pa.float64(), "id": pa.int64()})

WAYS: tuple[dict[str, Any], ...] = ({}, {"batch": 1}, {"tasks": 2}, {"batch": 1, "tasks": 2}, {"batch": 1, "delay": 1})
"""How whole tables are joined: at once, or as streams."""


def rows(schema: pa.Schema, *found: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(schema.names, (*row, None, None, None), strict=False)) for row in found], schema
    )


def times(left: list[Any], right: list[Any], **options: Any) -> list[Any]:
    """Return the order value that each left one gets."""
    one, two = pa.table({"t": left}), pa.table({"t": right})
    return asof_join(one, two, on="t", select=["r.t"], **options)["t"].to_pylist()


def test_directions_and_exact_matches() -> None:
    left, right = [1, 5, 10], [1, 4, 7, 10]
    assert times(left, right) == [1, 4, 10]
    assert times(left, right, strict=True) == [None, 4, 7]
    assert times(left, right, direction="forward") == [1, 7, 10]
    assert times(left, right, direction="forward", strict=True) == [4, 7, None]
    assert times(left, right, direction="nearest") == [1, 4, 10]
    assert times([5], [3, 7], direction="nearest") == [3], "equally near: the earlier one"
    assert times(left, right, tolerance=0) == [1, None, 10]
    assert times(left, right, tolerance=0, how="inner") == [1, 10]


def test_the_last_that_arrived_wins_or_what_ties_says() -> None:
    one = pa.table({"t": [5]})
    two = pa.table({"t": [5, 5, 5], "id": [1, 2, 3], "rank": pa.array([7, 9, None])})
    for direction in DIRECTIONS:
        for more in WAYS[:3]:
            assert asof_join(one, two, on="t", direction=direction, **more)["id"].to_pylist() == [3]
            assert asof_join(one, two, on="t", direction=direction, ties="rank", **more)["id"].to_pylist() == [2]


def test_times_of_every_type() -> None:
    day = [date(2026, 1, n) for n in (1, 3, 9)]
    assert times([date(2026, 1, 5)], day, tolerance="2 days") == [date(2026, 1, 3)]
    assert times([date(2026, 1, 5)], day, tolerance="47 hours") == [None]
    moment = [datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 3, 12, tzinfo=UTC)]
    assert times([datetime(2026, 1, 3, 11, tzinfo=UTC)], moment, tolerance=timedelta(days=2)) == [moment[0]]
    left = pa.table({"t": pa.array([2_000_000], pa.timestamp("ns"))})
    right = pa.table({"t": pa.array([1_999], pa.timestamp("us"))})
    assert asof_join(left, right, on="t", select=["r.t"]).num_rows == 1
    assert times([2.5, float("nan")], [float("-inf"), 2.0, float("nan")]) == [2.0, None]
    limits = [-(2**63), 2**63 - 1]
    assert times(limits, limits, strict=True, direction="nearest") == limits[::-1]
    assert times(limits, limits, strict=True, tolerance=2**62) == [None, None]


def test_columns_of_the_result() -> None:
    left = pa.table({"t": [1], "k": ["a"], "x": [1]})
    right = pa.table({"t": [1], "key": ["a"], "x": [2], "odd `name`": [3]})
    found = asof_join(left, right, on="t", by={"k": "key"})
    assert found.column_names == ["t", "k", "x", "t_right", "x_right", "odd `name`"]
    assert asof_join(left, right, on="t", by={"k": "key"}, suffix="_q").column_names[3:5] == ["t_q", "x_q"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_many_groups_of_texts(kind: pa.DataType) -> None:
    """More groups than the table begins with, texts of every length."""
    draw = np.random.default_rng(1)
    names = [("x" * int(n % 23) + str(n))[: int(n % 31)] for n in draw.integers(0, 9000, 20_000)]
    right = pa.table({"t": np.arange(20_000), "k": pa.array(names).cast(pa.string()).cast(kind)})
    newest = {name: at for at, name in enumerate(names)}
    left = pa.table({"t": [20_000] * 300, "k": pa.array([*names[:299], "none"]).cast(kind)})
    found = asof_join(left, right, on="t", by="k", select=["r.t"])["t"].to_pylist()
    assert found == [*(newest[name] for name in names[:299]), None]


def test_decimals_wider_than_a_word() -> None:
    kind = pa.decimal128(38, 2)
    left = pa.table({"t": [5, 5, 5], "k": pa.array([Decimal(2**70), Decimal(2**70 + 1), None], kind)})
    right = pa.table({"t": [1, 2, 3], "k": pa.array([Decimal(2**70), Decimal(2**70 + 1), None], kind)})
    for tasks in (1, 2):
        found = asof_join(left, right, on="t", by="k", select=["l.k", "r.t AS y"], tasks=tasks).to_pylist()
        assert sorted((row["y"] or 0) for row in found) == [0, 1, 2]


def test_equal_hashes_are_not_equal_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_byte_words", lambda array, hashed: np.zeros(len(array), np.int64))
    left = rows(TRADES, (5, "a", 1.0, 1), (5, "b", 1.0, 2), (9, "c", 1.0, 3))
    right = rows(QUOTES, (1, "a", 1.0, 1), (2, "b", 1.0, 2), (3, "d", 1.0, 3))
    for more in WAYS:
        found = asof_join(left, right, on="t", by="k", select=["l.id AS x", "r.id AS y"], **more)
        assert {(row["x"], row["y"]) for row in found.to_pylist()} >= {(1, 1), (2, 2)}, more
    monkeypatch.setattr(kernels, "_hash_of", lambda content, start, end: 7)
    number_texts: Callable[..., Any] = attrgetter("py_func")(kernels.number_texts)
    a, b, z = (letter * 9 for letter in (b"a", b"b", b"z"))
    ends, text, every = np.arange(4) * 9, np.frombuffer(a + b + a, np.uint8), np.zeros(0, np.bool_)
    right_, left_, count = number_texts(ends, text, every, np.arange(3) * 9, np.frombuffer(b + z, np.uint8), every)
    assert (right_.tolist(), left_.tolist(), count) == ([0, 1, 0], [1, -1], 2)


def test_where_asks_further_rows_until_one_satisfies() -> None:
    """The nearest is hundreds of rows away: candidates are asked in rounds."""
    asks = [1.0, *([9.0] * 700)]
    left = rows(TRADES, (1000, "a", 5.0), (1000, "a", 9.0), (1000, "a", 0.5), (1000, "a", None))
    right = pa.table({"t": np.arange(701), "k": ["a"] * 701, "ask": asks, "id": np.arange(701)})
    for where in ("l.price >= r.ask", "l.price + 0 >= r.ask"):
        found = asof_join(left, right, on="t", by="k", where=where, select=["r.t"])["t"].to_pylist()
        assert found == [0, 700, None, None]
    near = asof_join(left, right, on="t", where="l.price >= r.ask", tolerance=500, select=["r.t"])["t"].to_pylist()
    assert near == [None, 700, None, None]


# State


def _run(join: AsofJoin, batches: int, keys: int, per: int = 50) -> list[int]:
    """Feed batches that go on in time; return the rows held after each."""
    draw, held = np.random.default_rng(2), []
    for batch in range(batches):
        at = np.sort(draw.integers(10 * batch, 10 * batch + 10, per))
        made = [
            pa.table({"t": at, "k": [f"k{n}" for n in draw.integers(0, keys, per)], name: draw.random(per), "id": at})
            for name in ("price", "ask")
        ]
        for _ in join.feed(*(table.cast(schema) for table, schema in zip(made, (TRADES, QUOTES), strict=True))):
            pass
        assert isinstance(join.store, MemoryStore)
        states = [join.store.states[task, batch][1] for task in range(join.job.tasks)]
        held.append(sum(sum(state.rows.values()) for state in states))
    return held


@pytest.mark.parametrize(
    ("options", "per_key"),
    [
        ({}, 1), ({"strict": True}, 1), ({"direction": "forward", "tolerance": 15}, 0),
        ({"direction": "nearest", "tolerance": 15}, 1), ({"where": "l.price > r.ask", "tolerance": 15}, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tasks", [1, 3])
def test_state_is_bounded_over_a_long_run(options: dict[str, Any], per_key: int, tasks: int) -> None:
    """What waits are the rows of the delay and the tolerance; behind them lies one right row per key."""
    scheme = AsofScheme(enough=0, hot=10.0)
    join = AsofJoin(TRADES, QUOTES, on="t", by="k", delay=5, tasks=tasks, scheme=scheme, **options)
    held = _run(join, 150, keys=40)
    window = 2 * 50 * (10 + 5 + 2 * options.get("tolerance", 0)) // 10
    assert max(held[10:]) <= (window + 40 * per_key) * 4 / 3 + 50, "a run may keep a quarter of rows that are done with"
    assert max(held[100:]) <= 1.2 * max(held[10:60])


def test_one_row_per_key_stays_of_a_silent_side() -> None:
    """Right rows that came long ago are kept while they may be chosen, and no other."""
    join = AsofJoin(TRADES, QUOTES, on="t", by="k", delay=0)
    quotes = pa.table(
        {"t": np.arange(1000), "k": [f"k{n % 7}" for n in range(1000)], "ask": [1.0] * 1000, "id": np.arange(1000)}
    )
    list(join.feed(rows(TRADES, (0, "k0")), quotes.cast(QUOTES)))
    for at in (999, 1500, 2000):
        list(join.feed(rows(TRADES, (at, "k0")), rows(QUOTES, (at, "other"))))
    assert isinstance(join.store, MemoryStore)
    state = join.store.states[0, 3][1]
    assert sum(len(run) for run in state.runs["right"]) <= 12
    found = [row for table in join.finish() for row in table.to_pylist()]
    assert [(row["t"], row["t_right"]) for row in found] == [(2000, 994)]


@pytest.mark.parametrize("by", ["k", None], ids=["hot key", "no key"])
def test_a_hot_symbol_does_not_pin_a_task(by: str | None) -> None:
    draw, tasks = np.random.default_rng(3), 4
    join = AsofJoin(TRADES, QUOTES, on="t", by=by, delay=5, tasks=tasks)
    shares = []
    for batch in range(8):
        at = np.sort(draw.integers(1000 * batch, 1000 * batch + 1000, 2000))
        key = np.where(draw.random(2000) < 0.9, "hot", "cold")
        sides = [pa.table([at, pa.array(key), draw.random(2000), at], schema=schema) for schema in (TRADES, QUOTES)]
        for _ in join.feed(*sides):
            pass
        routed = [(join.store.read_metrics(task, batch) or {})["routed"] for task in range(tasks)]
        shares.append(max(routed) / sum(routed))
    assert (shares[0] > 0.85 if by else shares[0] < 0.4) and max(shares[3:]) < 0.4, shares
    plan = join.store.read_pinned(8).plan
    assert isinstance(plan, AsofPlan) and 50 <= plan.length <= 300
    copied = sum((join.store.read_metrics(task, 7) or {})["routed"] for task in range(tasks)) / 4000
    assert copied < 1.1, "only borders are sent twice"


def test_state_of_another_join_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"on": "t", "by": "k", "delay": 5, "state": str(tmp_path)}
    list(AsofJoin(TRADES, QUOTES, **options).feed(rows(TRADES, (1, "a")), rows(QUOTES, (1, "a"))))
    for change, says in (
        ({"tolerance": 3}, "as of: was 'backward, tolerance None', is 'backward, tolerance 3'"),
        ({"ties": "id"}, "as of: was 'backward, tolerance None', is 'backward, tolerance None, ties by right column 3'"),
        ({"by": None}, "condition: was "),
    ):  # fmt: skip
        with pytest.raises(StateMismatch, match=re.escape(says)):
            AsofJoin(TRADES, QUOTES, **{**options, **change})
    (found,) = AsofJoin(TRADES, QUOTES, **options).finish()
    assert found.to_pylist()[0]["t_right"] == 1


# Order of the result


@share(0.5)
@given(
    st.lists(st.tuples(*[st.lists(st.integers(0, 12), max_size=3)] * 2), min_size=2, max_size=6),
    st.sampled_from(DIRECTIONS), st.booleans(), st.integers(0, 3), st.integers(0, 2),
)  # fmt: skip
def test_nothing_leaves_later_than_its_lag(batches, direction, strict, tolerance, delay) -> None:
    schema = pa.schema({"t": pa.int64()})
    join = AsofJoin(
        schema,
        schema,
        on="t",
        direction=direction,
        strict=strict,
        tolerance=tolerance,
        delay=delay,
        select=["l.t", "r.t AS u"],
    )
    assert join.spec.asof is not None
    lags, newest = asof_lags(join.spec.asof, join.spec.window), {"t": -1000, "u": -1000}
    for one, two in batches:
        tables = [pa.table({"t": pa.array(side, pa.int64())}) for side in (one, two)]
        left = [row for table in join.feed(*tables) for row in table.to_pylist()]
        for name, lag in (("t", lags.left), ("u", lags.right)):
            seen = [row[name] for row in left if row[name] is not None]
            assert lag is not None and all(newest[name] - at <= lag for at in seen)
            newest[name] = max([newest[name], *seen])


def test_lags_are_reached() -> None:
    schema = pa.schema({"t": pa.int64(), "k": pa.int64()})
    table = lambda *found: pa.table({"t": [t for t, _ in found], "k": [k for _, k in found]}, schema=schema)
    join = AsofJoin(
        schema, schema, on="t", by="k", direction="nearest", tolerance=3, delay=0, select=["l.t", "r.t AS u"]
    )
    # Key 2 waits until 10 is out of reach; of key 1 both rows are passed by then.
    batches = [
        (table((7, 2), (9, 1)), table((9, 1), (4, 2), (10, 3))),
        (table((10, 3)), table()),
        (table((11, 3)), table((11, 3))),
    ]
    left = [[row for t in join.feed(*batch) for row in t.to_pylist()] for batch in batches]
    assert left == [[], [{"t": 9, "u": 9}], [{"t": 7, "u": 4}, {"t": 10, "u": 10}]] or left[1] == [{"t": 9, "u": 9}]
    assert join.schema.field("t").metadata == {b"weft.lag": b"3"}
    assert join.schema.field("u").metadata == {b"weft.lag": b"6"}


def test_a_chain_takes_the_lag_as_its_delay() -> None:
    first = AsofJoin(TRADES, QUOTES, on="t", by="k", delay=5, select=["l.t", "l.k", "r.ask", "l.id"])
    second = AsofJoin(first.schema, QUOTES, on="t", by="k", right_delay=2)
    assert str(second.spec.window).endswith("delay 0 for l and 2 for r")


# What it says


def test_explain(golden: Callable[[str, str], None]) -> None:
    asked: tuple[dict[str, Any], ...] = (
        {"by": "k", "delay": 5}, {"by": "k", "direction": "nearest", "tolerance": 10, "delay": 5, "ties": "id", "tasks": 4},
        {"where": "l.price >= r.ask", "tolerance": 10, "left_delay": 5, "right_delay": 7, "strict": True, "tasks": 4},
        {"by": "k", "direction": "forward", "how": "inner"},
    )  # fmt: skip
    told = [f"{options}\n{explain_asof_join(TRADES, QUOTES, on='t', **options)}\n" for options in asked]
    golden("explain-asof.txt", "\n".join(told))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on": 3}, r"on=3 is.+\nIt is a column name for both sides, or a pair of a left and a right name.\nHint: write on='ts'"),
        ({"on": "when"}, r"The left side has no column 'when'.\nIt has: t, k, price, id."),
        ({"on": ("t", "when")}, r"The right side has no column 'when'."),
        ({"on": "k"}, r"l.k is string and r.k is string.\nBoth order columns must be times or dates, or both integers"),
        ({"on": ("t", "ask")}, r"l.t is int64 and r.ask is double.\nBoth order columns"),
        ({"by": 3}, r"by=3 is.+\nIt names the columns that have to be equal: a name, a list of names, or"),
        ({"by": "x"}, r"The left side has no column 'x'."),
        ({"direction": "back"}, r"direction='back' is.+\nKnown: backward, forward, nearest.\nHint: write direction='backward'."),
        ({"strict": 1}, r"strict=1 is.+\nIt is True, to leave out right rows at the very same place, or False."),
        ({"how": "full"}, r"how='full' is.+\nKnown: left \(every left row"),
        ({"tolerance": "2 seconds"}, r"tolerance='2 seconds' is.+\nThe order columns hold integers, so it is a whole number"),
        ({"tolerance": -1}, r"tolerance=-1 is.+\nThe order columns hold integers"),
        ({"tolerance": -0.5, "on": ("price", "ask")}, r"tolerance=-0.5 is.+\nThe order columns hold floating-point numbers"),
        ({"delay": 1, "on": ("price", "ask")}, r"A delay was given, and the order column holds floating-point.+\nOnly times"),
        ({"delay": 1, "left_delay": 2}, r"asof_join\(\) got delay= together with left_delay= or right_delay=."),
        ({"ties": "k"}, r"r.k is string.\nThe column in ties= must be a number, a time, a date or a boolean."),
        ({"ties": 5}, r"ties=5 is.+\nIt names a column of the right side."),
        ({"where": ""}, r"where='' is.+\nIt is SQL over l and r."),
        ({"where": "l.price >="}, "price"),
        ({"tasks": 0}, "tasks"),
        ({"suffix": None}, "suffix=None"),
        ({"where": "l.t > 1) OR (r.t > 1"}, r"is not valid.\nIt has a bracket or a quote that is not closed"),
        ({"select": "l.t"}, r"select='l.t' is a string, not a list."),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(options: dict[str, Any], says: str) -> None:
    with pytest.raises(WeftError, match=says) as error:
        AsofJoin(TRADES, QUOTES, **{"on": "t", **options})
    assert "Hint: " in str(error.value)


def test_a_condition_without_columns_holds_for_all_rows_or_for_none() -> None:
    rows = pa.table({"t": [1, 2, 3]})
    for where, found in (("1 = 0", [None] * 3), ("NULL", [None] * 3), ("true -- always", [1, 2, 3])):
        assert weft.local.asof_join(rows, rows, on="t", where=where).column("t_right").to_pylist() == found


def test_columns_that_have_no_words() -> None:
    schema = pa.schema(
        {"t": pa.int64(), "k": pa.struct({"x": pa.int64()}), "d": pa.decimal128(30, 2), "e": pa.decimal128(30, 4)}
    )
    with pytest.raises(
        SpecError, match=r"by= cannot compare l.d decimal128\(30, 2\) and r.e decimal128\(30, 4\).\nColumns in by="
    ):
        AsofJoin(schema, schema, on="t", by={"d": "e"})
    with pytest.raises(WeftError, match=r"l.k = r.k cannot be compared: STRUCT"):
        AsofJoin(schema, schema, on="t", by="k")


def test_what_is_no_table() -> None:
    with pytest.raises(SpecError, match=r"The right side is a list, not a table.\nweft.local takes what speaks Arrow"):
        weft.local.asof_join(TRADES.empty_table(), [], on="t")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"A table fed on the left side does not have the columns"):
        list(AsofJoin(TRADES, QUOTES, on="t").feed(QUOTES.empty_table()))
