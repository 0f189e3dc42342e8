"""What a parallel join refuses, it refuses in three parts; and what it must take although it is odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError
from weft.kernels.parallel import shared as at
from weft.local.parallel import Interleaved, ParallelJoin, Settings, word_join
from weft.local.parallel.request import text_reads_alike

SCHEMA = pa.schema({"x": pa.int64(), "s": pa.string(), "t": pa.int64()})


def rows(*times: int | None) -> pa.Table:
    return pa.table({"x": [1] * len(times), "s": ["one"] * len(times), "t": times}, SCHEMA)


def made(**changed: Any) -> ParallelJoin:
    options = {
        "on": "l.x = r.x",
        "window": weft.within(5, on="t"),
        "threads": 1,
        "select": ["l.t AS one", "r.t AS two"],
    }
    return ParallelJoin(SCHEMA, SCHEMA, **{**options, **changed})


def found(join: ParallelJoin, *tables: pa.Table) -> list[tuple[int, int]]:
    return [tuple(pair.values()) for part in join.feed(*tables) for pair in part.to_pylist()]


def test_a_row_without_a_time_matches_nothing_and_moves_nothing() -> None:
    join = made(runner=Interleaved(2, 1))
    assert sorted(found(join, rows(None, 1, 2), rows(1, None, 2))) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert found(join, rows(None), rows(3)) == [(1, 3), (2, 3)]
    assert found(join, rows(None), rows(None)) == []
    assert found(join, rows(7), rows()) == [(7, 2), (7, 3)]


def test_closed_is_closed() -> None:
    join = made()
    join.close()
    join.close()
    for use in (lambda: join.feed(rows(1), rows(1)), lambda: join.resize(2)):
        with pytest.raises(SpecError, match="closed"):
            use()
    join = made(settings=Settings(output=1))
    half = join.feed(rows(1, 1, 1), rows(1, 1, 1))
    next(half)
    join.close()
    with pytest.raises(SpecError, match="closed"):
        list(half)


def test_one_feed_after_the_other() -> None:
    join = made(settings=Settings(output=1))
    half = join.feed(rows(1, 1, 1), rows(1, 1, 1))
    next(half)
    with pytest.raises(SpecError, match="The previous feed has not ended"):
        join.feed(rows(2), rows(2))
    assert sum(part.num_rows for part in half) == 8
    assert len(found(join, rows(2), rows(2))) == 7
    join.close()


def test_a_self_join_on_text() -> None:
    options: dict[str, Any] = {
        "window": weft.last(2),
        "select": ["a.t AS one", "b.t AS two"],
        "runner": Interleaved(2, 3),
    }
    join = ParallelJoin(SCHEMA, on="a.s = b.s", **options)
    table = pa.table({"x": [1, 1, 1, 1], "s": ["u", "v", "u", None], "t": [0, 1, 2, 3]}, SCHEMA)
    assert found(join, table) == [(2, 0)]
    with pytest.raises(SpecError, match="fed on the right"):
        join.feed(table, table)
    with pytest.raises(SpecError, match="must be symmetric"):
        ParallelJoin(SCHEMA, on="a.s < b.s", **options)


@pytest.mark.parametrize(
    ("condition", "alike"),
    [
        ("a.s = b.s", True), ("b.x + a.x > 5 AND (a.s <> b.s OR a.x * b.x = 4)", True), ("a.x > 1 AND b.x > 1", True),
        ("a.x > b.x OR b.x > a.x", True), ("abs((b.x - a.x)) < 3", True), ("lower(a.s) = lower(b.s)", True),
        ("a.s < b.s", False), ("a.x > 1", False), ("a.x - b.x > 1", False), ("a.s = lower(b.s)", False),
        ("abs(a.x - 2 * b.x) < 3", False), ("a.s LIKE b.s", False), ("a.x IN (1, b.x)", False),
    ],
)  # fmt: skip
def test_what_reads_alike_both_ways(condition: str, alike: bool) -> None:
    assert text_reads_alike(condition) is alike


@pytest.mark.parametrize(
    "arguments",
    [
        {"window": 5}, {"window": "5 seconds"}, {"window": None}, {"on": None}, {"threads": "2"}, {"threads": 2.5},
        {"threads": True}, {"threads": 0}, {"threads": 17}, {"settings": {"task": 4}}, {"suffix": 3},
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(arguments))}=") as error:
        made(**arguments)
    assert "Hint: " in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"task": 0}, {"batch": 0}, {"output": 0}, {"merge_ratio": -1}, {"merge_ratio": float("nan")}, {"depth": 1.5},
        {"merge_ratio": float("inf")}, {"leaf": 1}, {"fan": "4"}, {"workers": 63}, {"blocking": "yes"}, {"task": 1 << 60},
    ],
)  # fmt: skip
def test_settings_that_cannot_hold(settings: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(settings))}="):
        Settings(**settings)


def test_what_is_fed_and_how_many_threads() -> None:
    join = made()
    for count in ("3", None, 2.5, 0):
        with pytest.raises(SpecError, match="threads="):
            join.resize(count)  # type: ignore[arg-type]
    for table in ([], None, [rows(1)], rows(1).drop_columns("s"), rows(1).set_column(0, "x", pa.array([1.0]))):
        with pytest.raises(SpecError, match="left side"):
            join.feed(table, rows(1))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="right side"):
        join.feed(rows(1), "table")  # type: ignore[arg-type]
    join.close()
    with pytest.raises(SpecError, match="runner"):
        made(runner=Interleaved(1, 0)).resize(2)
    with pytest.raises(SpecError, match="not enough memory"):
        made(settings=Settings(batch=1 << 32, task=1 << 32, output=1 << 32, workers=62), runner=Interleaved(1, 0))


@pytest.mark.parametrize("n", [40, 200_000_000, 2**62])
@pytest.mark.paper("002-16")
def test_memory_follows_what_a_count_window_holds(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_join, "START", 8)
    small = Settings(merge_ratio=0.5, task=2, leaf=2, fan=4, workers=3, batch=16, output=8)
    random = np.random.default_rng(5)
    options: dict[str, Any] = {"on": "abs(l.x - r.x) <= 1", "window": weft.last(n)}
    join = made(**options, settings=small, runner=Interleaved(3, 7))
    plain = weft.local.Join(SCHEMA, SCHEMA, **options, select=["l.t AS one", "r.t AS two"])
    assert join.words.shared.m[at.WINDOW] == 8
    for now in range(0, 120, 30):
        left, right = (
            pa.table({"x": random.integers(0, 9, m), "s": ["one"] * m, "t": np.arange(now, now + m)}, SCHEMA)
            for m in (30, 7)
        )
        wanted = [tuple(pair.values()) for part in plain.feed(left, right) for pair in part.to_pylist()]
        assert sorted(found(join, left, right)) == sorted(wanted)
    assert join.words.shared.m[at.WINDOW] == min(n, 128)
    assert "the last" in str(join.explain())
