"""The parallel join of tables finds what `weft.local.Join` finds, in order of arrival."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import at_most
from weft.errors import SpecError
from weft.kernels.parallel import shared as at
from weft.local import Join
from weft.local.parallel import Interleaved, ParallelJoin, Settings

SCHEMA = pa.schema({"id": pa.int64(), "x": pa.int64(), "y": pa.float64(), "t": pa.int64()})
quick = at_most(12)
small = Settings(merge_ratio=0.5, task=2, leaf=2, fan=4, workers=3, batch=16, output=8)
CONDITIONS = [
    "abs(l.x - r.x) <= 1", "l.x = r.x", "l.x < r.x", "l.x >= r.x AND l.y <> r.y", "l.x = r.x AND l.y < r.y",
    "abs(l.y - r.y) <= 0.5", "l.x <> r.x", "l.x = r.x AND l.id % 2 = r.id % 2", "l.x <= r.x AND l.id + r.id > 5",
]  # fmt: skip
value = st.one_of(st.none(), st.integers(0, 4))
feeds = st.lists(
    st.tuples(st.lists(st.tuples(value, value), max_size=8), st.lists(st.tuples(value, value), max_size=8)), max_size=4
)


def table(rows, first, now):
    ids = np.arange(first, first + len(rows))
    ys = [None if y is None else y / 2 for _, y in rows]
    times = [now + (i * 3) // 2 for i in range(len(rows))]
    return pa.table({"id": ids, "x": [x for x, _ in rows], "y": ys, "t": times}, SCHEMA)


def pairs(tables):
    return [(row["one"], row["two"]) for found in tables for row in found.to_pylist()]


def batches(feeds):
    now = first = 0
    for left, right in feeds:
        yield table(left, first, now), table(right, 1000 + first, now)
        first += max(len(left), len(right))
        now += 2 * max(len(left), len(right))


@pytest.mark.paper("002-01", "002-17", "002-23")
@pytest.mark.parametrize(
    "window", [weft.last(3), weft.last(5, order="t"), weft.within(4, on="t"), weft.within(before=2, after=5, on="t")]
)
@given(feeds=feeds, on=st.sampled_from(CONDITIONS), seed=st.integers(0, 1000))
@quick
def test_two_streams(window, feeds, on, seed) -> None:
    select = ["l.id AS one", "r.id AS two"]
    plain = Join(SCHEMA, SCHEMA, on=on, window=window, select=select)
    join = ParallelJoin(
        SCHEMA, SCHEMA, on=on, window=window, select=select, settings=small, runner=Interleaved(3, seed)
    )
    for left, right in batches(feeds):
        assert Counter(pairs(join.feed(left, right))) == Counter(pairs(plain.feed(left, right)))


@pytest.mark.paper("002-01")
@pytest.mark.parametrize("window", [weft.last(3), weft.within(4, on="t")])
@given(
    feeds=feeds,
    on=st.sampled_from(["abs(a.x - b.x) <= 1", "a.x = b.x", "a.x = b.x AND a.y <> b.y"]),
    seed=st.integers(0, 99),
)
@quick
def test_one_stream_with_itself(window, feeds, on, seed) -> None:
    select = ["a.id AS one", "b.id AS two"]
    plain = Join(SCHEMA, SCHEMA, on=on, window=window, select=select, aliases=("a", "b"), unordered=True)
    join = ParallelJoin(SCHEMA, on=on, window=window, select=select, settings=small, runner=Interleaved(3, seed))
    for left, _ in batches(feeds):
        found, wanted = pairs(join.feed(left)), pairs(plain.feed(left))
        assert all(one > two for one, two in found)  # `a` is the later
        assert Counter(map(frozenset, found)) == Counter(map(frozenset, wanted))


@pytest.mark.paper("002-16", "002-23")
def test_threads_over_tables() -> None:
    random = np.random.default_rng(8)
    n = 20_000
    left, right = (
        pa.table(
            {"id": np.arange(n), "x": random.integers(0, 1 << 20, n), "y": random.random(n), "t": np.arange(n)}, SCHEMA
        )
        for _ in range(2)
    )
    options: dict[str, Any] = {
        "on": "abs(l.x - r.x) <= 200",
        "window": weft.last(2000, order="t"),
        "select": ["l.id AS one", "r.id AS two"],
    }
    join = ParallelJoin(SCHEMA, SCHEMA, threads=3, **options)
    found: list[tuple[int, int]] = []
    for start in range(0, n, 5000):
        found += pairs(join.feed(left.slice(start, 5000), right.slice(start, 5000)))
    assert [max(pair) for pair in found] == sorted(max(pair) for pair in found)  # in order of arrival
    assert Counter(found) == Counter(pairs([weft.local.join(left, right, **options)]))
    assert {"window", "T_S", "T_I", "merge buffer"} <= set(join.memory())
    join.close()


def test_what_the_protocol_cannot_do_is_refused() -> None:
    for window, schema, on in (
        (weft.tumbling(5, on="t"), SCHEMA, "l.x = r.x"),
        (weft.last(3), None, "a.x < b.x"),
    ):
        with pytest.raises(SpecError):
            ParallelJoin(SCHEMA, schema, on=on, window=window)
    join = ParallelJoin(SCHEMA, SCHEMA, on="l.x = r.x", window=weft.within(4, on="t"), runner=Interleaved(1, 0))
    list(join.feed(table([(1, 1)], 0, 10), table([], 0, 0)))
    with pytest.raises(SpecError, match="older than those of an earlier feed"):
        list(join.feed(table([(1, 1)], 0, 5), table([], 0, 0)))


@pytest.mark.paper("002-07", "002-27")
def test_the_cost_model_chooses_the_merge_ratio() -> None:
    options: dict[str, Any] = {"on": "l.x = r.x", "window": weft.last(1 << 14), "runner": Interleaved(1, 0)}
    limits = {}
    for threads in (1, 16):
        join = ParallelJoin(SCHEMA, SCHEMA, threads=threads, settings=Settings(leaf=4), **options)
        limits[threads] = int(join.words.shared.m[at.LIMIT])
        assert limits[threads] == join.words.ratio_for(1 << 14) * (1 << 14)
        assert "the cheapest by the cost model" in join.explain().to_dict()["merge"]
    assert limits[1] < limits[16] == 1 << 14  # 002-27: m = 1 for many threads
    join = ParallelJoin(SCHEMA, SCHEMA, settings=Settings(merge_ratio=0.25), **options)
    assert join.explain().to_dict()["merge"] == "at 1/4 of the window, as requested; other threads continue"
    assert "ns of work per tuple" in str(join.explain())
