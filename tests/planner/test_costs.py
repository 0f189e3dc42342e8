"""Two inequalities: the estimate picks each way where it should, and every way finds the same pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from tests.property.cases import Case, cases, comparisons, count, expected_count, fed, make
from weft.planner import Thresholds, choose, two_predicates
from weft.spec import Compare, Condition, Key, Op, build_spec, unbounded

V, I = Key("v"), Key("i")  # noqa: E741 - voltage and current
SPEC = build_spec(Condition("test", (Compare(V, Op.GT, V), Compare(I, Op.LT, I))), unbounded())
SCHEMA = pa.schema({"id": pa.int64(), "v": pa.float64(), "i": pa.float64()})


@pytest.mark.paper("000-50")
def test_each_way_wins_somewhere():
    def best(rows: int, probes: int, first: float = 0.5, second: float = 0.5) -> str:
        ways = two_predicates(SPEC, rows, probes, first, second)
        assert ways is not None
        return ways.best

    assert best(1000, 1, 0.001) == "emit loop"  # next to nothing to check
    assert best(100_000, 1000, 0.5, 0.001) == "intersection"  # the second predicate leaves much less than the first
    assert best(1 << 16, 1 << 16, 0.5, 0.01) == "blocks"  # many probes, few pairs


@pytest.mark.paper("000-50")
def test_choose_goes_by_the_estimate():
    assert choose(SPEC, 2).index == "runs"
    few = choose(SPEC, 2, limits=Thresholds(rows=100_000, probes=1000, allowed=(0.5, 0.001)))
    assert few.index == "crossed" and "intersection is estimated to be cheapest" in few.why_index


def test_one_inequality_has_no_choice():
    one = build_spec(Condition("test", (Compare(V, Op.GT, V),)), unbounded())
    assert two_predicates(one, 100, 100) is None


def test_explain_tells_the_ways():
    said = weft.local.explain(SCHEMA, SCHEMA, on="l.v > r.v AND l.i < r.i").to_dict()["two terms"]
    assert said.startswith(("blocks; ", "emit loop; ", "intersection; "))
    assert "two terms" not in weft.local.explain(SCHEMA, SCHEMA, on="l.v > r.v").to_dict()


@pytest.mark.paper("000-50", "Y10")
@pytest.mark.parametrize("index", ["runs", "scan", "crossed", "hotcold"])
def test_every_index_finds_the_same_pairs(index):
    random = np.random.default_rng(4)
    left, right = (
        pa.table(
            {"id": np.arange(800), "v": random.normal(230, 5, 800).round(1), "i": random.exponential(2, 800).round(1)}
        )
        for _ in range(2)
    )
    found = weft.local.join(
        left, right, on="l.v > r.v AND l.i < r.i", index=index, tasks=3, batch=150, select=["l.id", "r.id AS o"]
    )
    v, i = (np.array([t.column(n).to_numpy() for t in (left, right)]) for n in ("v", "i"))
    wanted = (v[0][:, None] > v[1][None, :]) & (i[0][:, None] < i[1][None, :])
    pairs = Counter(zip(found.column("id").to_pylist(), found.column("o").to_pylist(), strict=True))
    assert pairs == Counter(zip(*(side.tolist() for side in np.nonzero(wanted)), strict=True))


@share(0.2)
@given(cases(first=comparisons(), most=8), st.sampled_from(["crossed", "hotcold"]), st.integers(1, 4))
def test_crossed_and_hotcold_join_anything(case: Case, index: str, tasks: int) -> None:
    join = make(case, index=index, tasks=tasks)
    found: Counter[tuple[int, int]] = Counter()
    for batch in case.batches:
        found += count(fed(join, batch))
    assert found == expected_count(case.expected())


def test_explain_tells_hot_and_cold_tasks():
    said = weft.local.explain(SCHEMA, SCHEMA, on="l.v > r.v", scheme=weft.schemes.Sta(), tasks=8).to_dict()
    assert said["plan"] == "6 tasks for cold keys, 2 for hot ones"
    assert said["probes"] == "each left row 8 x, each right row 8 x"
