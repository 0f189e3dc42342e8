"""STA joins exactly whatever turns hot or cold; its paper mode invents nothing, and misses what can be computed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from tests.property.cases import (
    Case,
    cases,
    comparisons,
    count,
    counts,
    expected_count,
    fed,
    make,
    spec_of,
    times,
)
from tests.routing.meeting import SPECS, Rows
from tests.routing.test_sta import stats_with, view_of
from weft.errors import SpecError
from weft.local import Join
from weft.routing import Scheme, Sta, StaPlan
from weft.state import MemoryStore
from weft_lab import oracle
from weft_lab.oracle import Batch, Compare
from weft_lab.schemes import Chained, Pim

some = share(0.2)
OPS = ("<", "<=", ">", ">=", "!=")
EXACT: list[Scheme] = [
    Sta(top=1, margin=1, worth=0),
    Sta(top=2),
    Sta(hot=1, top=2, margin=1, choices="two choices"),
    Sta(top=2, margin=1, cold="publish"),
    Sta(top=3, margin=1, halve=4),
    Chained("all", "one"),
    Chained("one", "all"),
]
SCHEMA = pa.schema({"id": pa.int64(), "k": pa.int64(), "t": pa.int64()})


def check(case: Case, scheme: Scheme, tasks: int, index: str = "auto") -> None:
    if not spec_of(case).condition.compares:  # nothing but a residual: no key
        with pytest.raises(SpecError, match="needs a comparison"):
            make(case, scheme=scheme, tasks=tasks, index=index)
        return
    join = make(case, scheme=scheme, tasks=tasks, index=index)
    found: Counter[tuple[int, int]] = Counter()
    for batch in case.batches:
        found += count(fed(join, batch))
    assert found == expected_count(case.expected())


@pytest.mark.paper("000-01", "000-02", "000-69", "X02")
@some
@given(cases(first=comparisons(), most=8), st.sampled_from(EXACT), st.integers(3, 7))
def test_any_join(case, scheme, tasks):
    check(case, scheme, tasks)


@pytest.mark.paper("000-01")
@some
@given(cases(counts(), first=comparisons()), st.sampled_from(EXACT), st.integers(3, 7))
def test_count_windows(case, scheme, tasks):
    check(case, scheme, tasks)


@pytest.mark.paper("000-35")
@some
@given(cases(times(), first=comparisons(), most=8), st.integers(1, 9), st.integers(1, 5))
def test_pim_merges_into_its_tree(case, merge, tasks):
    check(case, Pim(merge=merge), tasks)


@pytest.mark.paper("000-51")
@some
@given(cases(itself=True), st.sampled_from(EXACT), st.integers(3, 6), st.booleans())
def test_self_joins(case, scheme, tasks, unordered):
    check(Case(case.predicates, case.window, case.batches, True, unordered), scheme, tasks)


@st.composite
def moods(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Draw batches in which one key after the other is popular, comes back, or shares a batch with the next."""
    number, batches = 0, []
    for batch in range(draw(st.integers(3, 7))):
        bursts = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=3))
        rows = []
        for key, size in bursts:
            for _ in range(size):
                rows.append({"id": number, "k": key, "t": 2 * batch + number % 2})
                number += 1
        batches.append(rows)
    return batches


def run(join: Join, batches: list[list[dict[str, Any]]]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for rows in batches:
        found += count(join.feed(pa.Table.from_pylist(rows, SCHEMA)))
    return found


def self_join(op: str, window: weft.spec.Window, scheme: Scheme, tasks: int, index: str = "auto") -> Join:
    return Join(
        SCHEMA, SCHEMA, on=f"a.k {op} b.k", window=window, scheme=scheme, tasks=tasks, index=index, aliases=("a", "b"),
        select=["a.id AS x", "b.id AS y"],
    )  # fmt: skip


@pytest.mark.paper("000-26", "000-27", "000-28", "000-69")
@pytest.mark.parametrize("op", OPS)
@share(0.15)
@given(
    batches=moods(),
    scheme=st.sampled_from(EXACT),
    counted=st.booleans(),
    index=st.sampled_from(["auto", "scan", "hotcold", "crossed"]),
)
def test_keys_turn_hot_cold_and_hot_again(op, batches, scheme, counted, index):
    window = weft.last(7) if counted else weft.within(3, on="t", delay=2)
    wanted = oracle.self_joined([Batch([rows]) for rows in batches], [Compare("k", op, "k")], window)
    assert run(self_join(op, window, scheme, 4, index), batches) == expected_count(wanted)


@pytest.mark.parametrize(
    "scheme", [Sta(margin=1, worth=0), Sta(mode="paper", checkpoint=2), Chained("one", "one", 2), Pim(4)]
)
def test_plans_and_notes_survive_on_disk(scheme, tmp_path):
    """Notes and plans are JSON: the same pairs come out of a state folder as out of memory."""
    batches = [[{"id": 8 * b + n, "k": (b // 2) * (n % 3), "t": 2 * b} for n in range(8)] for b in range(6)]
    window = weft.within(4, on="t", delay=0)
    stored = Join(
        SCHEMA, SCHEMA, on="a.k > b.k", window=window, scheme=scheme, tasks=4, aliases=("a", "b"),
        select=["a.id AS x", "b.id AS y"], state=str(tmp_path),
    )  # fmt: skip
    assert run(stored, batches) == run(self_join(">", window, scheme, 4), batches)


@pytest.mark.paper("000-24", "000-42", "000-69")
@share(0.2)
@given(moods(), st.sampled_from(OPS), st.sampled_from((1, 3)), st.integers(3, 6))
def test_paper_mode_never_invents_a_pair(batches, op, interval, tasks):
    window = weft.within(4, on="t", delay=2)
    wanted = expected_count(oracle.self_joined([Batch([rows]) for rows in batches], [Compare("k", op, "k")], window))
    schemes = (Sta(mode="paper", checkpoint=interval, top=1, margin=1), Chained("one", "one", interval))
    for scheme in (*schemes, Pim(4, "paper", interval)):
        assert not run(self_join(op, window, scheme, tasks), batches) - wanted


def stream(rows: int, keys: np.ndarray) -> pa.Table:
    return pa.table({"id": np.arange(rows), "k": keys, "t": np.arange(rows)}, SCHEMA)


def completeness(
    scheme: Scheme, table: pa.Table, batch: int, tasks: int, window: weft.spec.Window
) -> tuple[float, Join]:
    whole = weft.local.self_join(table, on="a.k > b.k", window=window, select=["a.id"]).num_rows
    join = self_join(">", window, scheme, tasks)
    found = sum(part.num_rows for at in range(0, len(table), batch) for part in join.feed(table.slice(at, batch)))
    return found / whole, join


@pytest.mark.paper("000-42", "000-68", "000-69")
@pytest.mark.parametrize("cold", [4, 8])
def test_completeness_of_a_chain_that_publishes_nothing_is_one_in_the_cold_tasks(cold):
    """No key occurs twice, so none is hot; nothing is published, so a pair is found when both draws are equal."""
    table = stream(1500, np.random.default_rng(7).permutation(1500))
    scheme = Sta(mode="paper", checkpoint=10**9)
    share, _ = completeness(scheme, table, 300, cold + 2, weft.within(10**6, on="t"))
    assert share == pytest.approx(1 / cold, rel=0.05)


@pytest.mark.paper("000-24", "000-42", "000-69")
def test_completeness_between_checkpoints_is_that_of_what_is_published():
    """Batch b sees what was published by batch b - 2, and one in the cold tasks of the last two batches."""
    rows, batch, cold = 2000, 200, 4
    table = stream(rows, np.random.default_rng(8).permutation(rows))
    share, join = completeness(Sta(mode="paper", checkpoint=1), table, batch, cold + 2, weft.within(10**6, on="t"))
    number = np.arange(rows) // batch
    earlier, later = np.minimum.outer(number, number), np.maximum.outer(number, number)
    newest = np.maximum(later - 1, 0) * batch - 1  # what control knew had arrived when it pinned the plan
    published = np.minimum.outer(np.arange(rows), np.arange(rows)) < newest
    keys = table.column("k").to_numpy()
    wanted = keys[:, None] > keys[None, :]
    expected = np.where(published & (earlier < later - 1), 1.0, 1 / cold)[wanted].mean()
    assert share == pytest.approx(expected, rel=0.03)
    assert isinstance(join.store, MemoryStore)


@pytest.mark.paper("000-38", "000-66")
def test_a_skewed_stream_with_forty_tasks_is_balanced_twice_as_well_as_by_hashing():
    random = np.random.default_rng(9)
    keys = random.zipf(2.0, 20_000)
    words, u = np.stack([keys, keys]), random.integers(0, 2**32, len(keys), dtype=np.uint32)
    top = tuple(sorted(np.unique(keys, return_counts=True)[0][:32].tolist()))
    hashed = weft.routing.HashPlan(40).store("left", words, u).sum(axis=1)
    plan = StaPlan(40, left_hot=top, right_hot=top, hot=2)
    spread = plan.store("left", words, u).sum(axis=1)
    cold = spread[: plan.cold_tasks]
    assert hashed.max() - hashed.mean() >= 2 * (cold.max() - cold.mean())
    assert hashed.max() - hashed.mean() >= 1.2 * (spread.max() - spread.mean())
    # As many hot tasks as the hot keys' share calls for ("PEs can be added", 000-16): what Fig. 32 says of random choice.
    scheme, spec, after = Sta(hot="auto"), SPECS["less"], Sta(hot="auto").initial(SPECS["less"], 40)
    for _ in range(2):
        notes = [scheme.watch(spec, view_of(after, task, Rows(words, u)), {}) for task in range(40)]
        after, _ = scheme.control(spec, after, [stats_with(note) for note in notes])
    assert isinstance(after, StaPlan) and after.hot > 30
    sized = after.store("left", words, u).sum(axis=1)
    assert hashed.max() - hashed.mean() >= 10 * (sized.max() - sized.mean())
    random_choice = weft.routing.SplitPlan(40).store("left", words, u).sum(axis=1)
    assert hashed.max() - hashed.mean() >= 10 * (random_choice.max() - random_choice.mean())
