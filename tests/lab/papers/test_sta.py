"""The STA benchmarks' parts: metrics by hand, the cost model's numbers, routing alone against the whole engine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.local import Join
from weft_lab.bench.sta_systems import SYSTEMS, Sizes
from weft_lab.papers.sta import FIGURES, cost, metrics
from weft_lab.papers.sta.routed import route
from weft_lab.papers.sta.sized import Setting, measure
from weft_lab.workloads import readings, trips, zipf_keys


@pytest.mark.paper("000-04")
def test_an_index_update_is_the_change_of_rank():
    keys = np.array([5, 9, 3, 5, 1, 7, 3])  # ranks of 5: 0 at first, then 1 (after 3), 2 (after 1)
    assert metrics.index_updates(keys, np.array([5, 9, 1, 4])).tolist() == [2, 3, 0, 0]
    ranks: dict[int, list[int]] = {}
    seen: set[int] = set()
    for key in np.random.default_rng(1).integers(0, 30, 200).tolist():
        seen.add(key)
        for one in seen:
            ranks.setdefault(one, []).append(sum(other < one for other in seen))
    keys = np.random.default_rng(1).integers(0, 30, 200)
    wanted = [max(ranks[k]) - min(ranks[k]) for k in range(30)]
    assert metrics.index_updates(keys, np.arange(30)).tolist() == wanted


@pytest.mark.paper("000-05")
def test_redundancy_counts_the_links_with_a_key():
    assert metrics.redundancy(np.array([1, 1, 2, 1, 3]), np.array([0, 0, 0, 1, 2]), np.array([1, 2, 4])).tolist() == [
        2,
        1,
        0,
    ]


@pytest.mark.paper("000-38", "000-39", "000-40", "000-41", "000-42")
def test_the_other_metrics():
    assert metrics.load_imbalance(np.array([10, 2, 3])) == 5
    assert metrics.aggregation(np.array([0, 1, 1, 0, 2, 2, 9]), 3) == 2.0
    assert metrics.throughput(100, 4.0) == 25
    assert metrics.latency(np.array([3.0, 4.0]), np.array([1.0, 1.5])).tolist() == [2.0, 2.5]
    assert metrics.completeness([(1, 2), (1, 2), (3, 4), (5, 6)], [(1, 2), (3, 4), (7, 7)]) == 0.5
    assert metrics.completeness([], []) == 1


@pytest.mark.paper("000-03", "000-30", "000-31", "000-32", "000-33", "000-35")
def test_the_cost_model():
    assert cost.total_cost(1, 2, 3) == 6
    assert cost.index_cost(4, cost.Lambdas(1, 2, 3)) == 24
    assert cost.sta_lookup([3, 3], [1, 1, 1]) == 9
    assert (cost.sta_update(True, 10), cost.sta_update(False, 10)) == (0.5, 0.1)
    assert cost.sta_demotion(10) == 0.6
    assert cost.bchj(5, 2, 1, [10]) == 31
    assert cost.split(1, 2, [3, 3, 3]) == 14
    assert cost.chained(1, 2, [3, 3], 4) == 13
    assert cost.pim(1, 2, [3, 3], 5, 6, 4) == 24


def engine(system: str, left: np.ndarray, right: np.ndarray, batch: int, tasks: int, span: int, checkpoint: int) -> int:
    schema = pa.schema({"k": pa.int64(), "t": pa.int64()})
    made = SYSTEMS[system]
    join = Join(
        schema, schema, on="l.k >= r.k", window=weft.within(span, on="t", delay=0), index=made.index, tasks=tasks,
        scheme=made.scheme(Sizes(checkpoint, span // 10)), select=["l.k"],
    )  # fmt: skip
    tables = [pa.table({"k": keys, "t": np.arange(len(keys)) * 10}, schema) for keys in (left, right)]
    return sum(
        part.num_rows
        for at in range(0, len(left), batch)
        for part in join.feed(tables[0].slice(at, batch), tables[1].slice(at, batch))
    )


@pytest.mark.paper("000-31", "000-32", "000-33", "000-34", "000-35", "000-42", "000-69")
@pytest.mark.parametrize("system", SYSTEMS)
def test_routing_alone_finds_what_the_engine_finds(system):
    random = np.random.default_rng(6)
    left, right = (zipf_keys(random, 300, 40, 1.2) for _ in range(2))
    made = SYSTEMS[system]
    routed = route(made.scheme(Sizes(300, 100)), left, right, every=10, batch=30, tasks=6, span=1000)
    assert routed.found == engine(system, left, right, 30, 6, 1000, 300)
    assert routed.completeness == 1 if made.exact else routed.completeness < 1
    assert routed.wanted == engine("SJ", left, right, 30, 6, 1000, 300)


@pytest.mark.paper("000-51")
@pytest.mark.parametrize("z", [0.1, 1.0, 2.5])
def test_zipf_keys_have_their_frequencies(z):
    keys = zipf_keys(np.random.default_rng(1), 60_000, 1_000, z)
    counts = np.sort(np.bincount(keys, minlength=1_000))[::-1]
    wanted = 60_000 / np.arange(1, 1_001) ** z / (1.0 / np.arange(1, 1_001) ** z).sum()
    assert counts[0] == pytest.approx(wanted[0], rel=0.5 if z < 0.5 else 0.05)
    assert counts[:10].sum() == pytest.approx(wanted[:10].sum(), rel=0.5 if z < 0.5 else 0.05)
    assert (zipf_keys(np.random.default_rng(1), 50, 9, z) == zipf_keys(np.random.default_rng(1), 50, 9, z)).all()


@pytest.mark.paper("000-49", "000-52")
def test_trips_are_skewed_and_have_a_quiet_morning():
    table = trips(np.random.default_rng(2), 50_000)
    fare, distance = table.column("fare").to_numpy(), table.column("distance").to_numpy()
    counts = np.sort(np.unique(fare, return_counts=True)[1])[::-1]
    assert counts[:32].sum() > 0.6 * len(fare)
    assert np.median(fare) == pytest.approx(13.3, rel=0.25)
    assert np.median(distance) == pytest.approx(2.0, rel=0.1)
    assert np.corrcoef(fare, distance)[0, 1] > 0.7
    hours = np.bincount((table.column("t").to_numpy() // 3_600_000_000).astype(int), minlength=24)[:24]
    assert abs(int(hours.argmin()) - 4) <= 1 and abs(int(hours.argmax()) - 19) <= 1


@pytest.mark.paper("000-50", "000-52")
def test_readings_have_heavy_tails():
    table = readings(np.random.default_rng(3), 50_000, every=2)
    for name in ("v", "i"):
        counts = np.sort(np.unique(table.column(name).to_numpy(), return_counts=True)[1])[::-1]
        assert counts[: len(counts) // 10].sum() > (0.12 if name == "v" else 0.4) * 50_000
    assert (np.abs(table.column("v").to_numpy()) < 345).all()


@pytest.mark.paper("000-46", "000-53", "000-54", "000-66", "000-67")
@pytest.mark.parametrize("name", ["5", "6", "32", "33"])
def test_figures_of_the_stream_alone_hold(name):
    figure = FIGURES[name](1.0 if name == "32" else 0.15)
    assert all(len(row) == len(figure.columns) for row in figure.rows)
    assert figure.holds, figure.verdict


@pytest.mark.paper("000-45", "000-68")
def test_completeness_grows_with_skew_and_sta_is_above_the_chain():
    figure = FIGURES["34"](0.25)
    assert figure.holds, figure.verdict


@pytest.mark.paper("000-50")
def test_the_ways_through_two_predicates_agree():
    figure = FIGURES["predicates"](0.05)  # it compares the pairs that they find
    assert len(figure.rows) == 3 and all(len(row) == len(figure.columns) for row in figure.rows)


@pytest.mark.paper("000-43")
def test_the_paper_s_fixed_values():
    assert (Setting().every, Setting().tasks, Setting().window) == (2_000, 40, 50.0)


def test_every_system_is_measured():
    setting = Setting(rate=10, tasks=4, window=10)
    table = trips(np.random.default_rng(1), 3 * setting.batch, every=setting.every)
    pairs = {name: measure(name, setting, table, None, "a.fare > b.fare") for name in SYSTEMS}
    assert len({seen.pairs for name, seen in pairs.items() if SYSTEMS[name].exact}) == 1
    assert all(seen.insertion > 0 and seen.lookup > 0 and seen.latency > 0 for seen in pairs.values())
    assert pairs["STA"].pairs <= pairs["STA exact"].pairs
    assert set(FIGURES) >= {"5", "6", *map(str, range(11, 36))}
