"""Outer, semi and anti joins on Spark: static ones beside Spark's own, streams beside the nested loop."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError
from weft.spec import INNER, KINDS, Window
from weft_lab.oracle import Batch, Compare, joined, self_joined

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
OTHERS = [kind for kind in KINDS.values() if kind != INNER]
CONDITIONS = {
    "equality": "l.k = r.k",
    "text": "l.s = r.s AND l.x >= r.x",
    "band": "abs(l.x - r.x) <= 0.5",
    "inequality": "l.x < r.x AND l.k > r.k",
    "own conditions": "l.k = r.k AND l.x > 1 AND r.x < 3",
    "residual": "l.k = r.k AND (l.s LIKE 'a%' OR l.x < r.x)",
    "interval": "l.x BETWEEN r.x AND r.y",
}


def _rows(seed: int, rows: int = 60) -> pa.Table:
    rng = np.random.default_rng(seed)
    values = [
        None if rng.random() < 0.1 else math.nan if rng.random() < 0.05 else float(v)
        for v in rng.integers(0, 9, rows) / 2
    ]
    return pa.table({
        "id": np.arange(rows), "k": pa.array([None if v == 5 else int(v) for v in rng.integers(0, 12, rows)], pa.int64()),
        "x": pa.array(values, pa.float64()), "y": pa.array(rng.integers(0, 9, rows) / 2 + 0.5),
        "s": pa.array([None if v == 3 else "abcd"[v % 4] * (1 + v % 3) for v in rng.integers(0, 9, rows)]),
    })  # fmt: skip


def _counted(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_static_frames_join_as_spark_joins_them(spark, condition) -> None:
    left, right = spark.createDataFrame(_rows(1)), spark.createDataFrame(_rows(2))
    on = CONDITIONS[condition]
    for kind in OTHERS:
        columns = ["l.id AS x", "r.id AS y"] if kind.pairs else ["l.id AS x"]
        own = left.alias("l").join(right.alias("r"), F.expr(on), kind.name.replace("left_", "left"))
        expected = _counted(own.selectExpr(*columns).collect())
        found = weft.join(left, right, on=on, how=kind.name, select=columns, tasks=3)
        assert _counted(found.collect()) == expected, (kind.name, on)


def test_all_columns_and_their_names(spark) -> None:
    left, right = spark.createDataFrame(_rows(1, 5)), spark.createDataFrame(_rows(2, 5))
    semi = weft.join(left, right, on="l.k = r.k", how="semi")
    assert semi.columns == left.columns
    full = weft.join(left, right, on="l.k = r.k AND l.s < r.s", how="fullouter")
    assert full.columns == [*left.columns, *(f"{name}_right" for name in right.columns)]
    own = left.alias("l").join(right.alias("r"), F.expr("l.k = r.k AND l.s < r.s"), "full")
    assert _counted(full.collect()) == _counted(own.collect())


def _stream(seed: int, batches: int = 6) -> list[pa.Table]:
    """Return rows mostly in order, some late, some without a key or a time."""
    rng = np.random.default_rng(seed)
    tables = []
    for batch in range(batches):
        rows = int(rng.integers(0, 12))
        late = np.where(rng.random(rows) < 0.15, 9, 0)
        times = [
            None if rng.random() < 0.05 else START + timedelta(seconds=int(2 * batch + ahead - back))
            for ahead, back in zip(rng.integers(0, 4, rows), late, strict=True)
        ]
        tables.append(pa.table({
            "id": pa.array(np.arange(rows) + 100 * batch), "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "k": pa.array([None if v == 4 else int(v) for v in rng.integers(0, 5, rows)], pa.int64()),
            "x": pa.array(rng.integers(0, 5, rows).astype(float)), "s": pa.array(["ab"[v] for v in rng.integers(0, 2, rows)]),
        }))  # fmt: skip
    return tables


WINDOWS: dict[str, Window] = {
    "within": weft.within(before="2 seconds", after="1 second", on="ts", delay="2 seconds"),
    "tumbling": weft.tumbling("3 seconds", on="ts", left_delay="1 second", right_delay="4 seconds"),
    "last": weft.last(7, order="ts"),
    "rows": weft.tumbling_rows(5),
}
THETA = {
    "l.k = r.k": [Compare("k", "=", "k")],
    "abs(l.x - r.x) <= 1": [Compare("x", "band", "x", -1, 1)],
    "l.s = r.s AND l.x < r.x": [Compare("s", "=", "s"), Compare("x", "<", "x")],
}


@pytest.mark.parametrize("window", WINDOWS)
def test_streams(spark, tmp_path, window) -> None:
    """All kinds in one query; over the windows, each kind meets each condition."""
    tables = {"left": _stream(3), "right": _stream(4)}
    batches = [
        Batch([left.to_pylist()], [right.to_pylist()])
        for left, right in zip(tables["left"], tables["right"], strict=True)
    ]
    desk = Desk(spark, tmp_path)
    left, right = desk.stream("l", tables["left"]), desk.stream("r", tables["right"])
    theta = {kind: list(THETA)[(OTHERS.index(kind) + list(WINDOWS).index(window)) % len(THETA)] for kind in OTHERS}
    frames = {
        kind.name: weft.join(
            left, right, on=on, how=kind.name, window=WINDOWS[window],
            select=["l.id AS x", "r.id AS y"] if kind.pairs else ["l.id AS x"], tasks=3, state=desk.state_of(kind.name),
        )
        for kind, on in theta.items()
    }  # fmt: skip
    written = desk.run_together(frames)
    for kind, on in theta.items():
        found = Counter((row["x"], row["y"]) for row in written[kind.name].to_pylist())
        expected = joined(batches, THETA[on], WINDOWS[window], kind=kind)
        assert found == Counter((a and a["id"], b and b["id"]) for a, b in expected.rows(kind)), (kind.name, on)
        assert found or not kind.unmatched, kind.name


def test_a_self_join_without_a_partner(spark, tmp_path) -> None:
    tables, desk, window = _stream(5), Desk(spark, tmp_path), WINDOWS["within"]
    alone = weft.self_join(
        desk.stream("s", tables),
        on="a.k = b.k AND a.x <= b.x",
        how="left_anti",
        window=window,
        state=desk.state,
        tasks=2,
    )
    found = Counter(desk.run(alone).column("id").to_pylist())
    theta = [Compare("k", "=", "k"), Compare("x", "<=", "x")]
    expected = self_joined([Batch([table.to_pylist()]) for table in tables], theta, window)
    assert found == Counter(row["id"] for row in expected.unmatched["left"])


def test_an_aggregation_behind_an_outer_join_is_right(spark, tmp_path) -> None:
    """Unmatched rows leave late, but never later than the watermark of the result says."""
    tables = {"left": _stream(6, 7), "right": _stream(7, 7)}
    desk = Desk(spark, tmp_path)
    window = weft.within("2 seconds", on="ts", delay="2 seconds")
    outer = weft.join(
        desk.stream("l", tables["left"]), desk.stream("r", tables["right"]), on="l.k = r.k", how="left", window=window,
        select=["l.id", "l.ts", "r.id AS y"], tasks=2, state=desk.state,
    )  # fmt: skip
    counts = desk.run(outer.groupBy(F.window("ts", "1 second")).count().select("window.start", "count"))
    assert counts.num_rows > 3
    batches = [Batch([a.to_pylist()], [b.to_pylist()]) for a, b in zip(tables["left"], tables["right"], strict=True)]
    result = joined(batches, THETA["l.k = r.k"], window, kind=KINDS["left"])
    times = Counter(left["ts"] for left, _ in result.rows(KINDS["left"]) if left is not None)
    for row in counts.to_pylist():
        assert row["count"] == times[row["start"].astimezone(timezone.utc)], row


@pytest.mark.parametrize("window", [weft.unbounded(), weft.within("1 second", on="ts")], ids=["unbounded", "no delay"])
def test_windows_without_an_end_are_refused(spark, tmp_path, window) -> None:
    desk = Desk(spark, tmp_path)
    left, right = (desk.stream(name, _stream(1, 2)) for name in "lr")
    for kind in OTHERS:
        build = lambda kind=kind: weft.join(left, right, on="l.k = r.k", how=kind.name, window=window, state=desk.state)
        if kind.unmatched:
            with pytest.raises(SpecError, match=f"how='{kind.name}' needs a window that ends"):
                build()
        else:
            assert build().isStreaming


def test_what_cannot_be_asked(spark) -> None:
    left, right = spark.createDataFrame(_rows(1, 5)), spark.createDataFrame(_rows(2, 5))
    with pytest.raises(
        SpecError, match=r"There is no how='cross'.\nKnown: inner, left, right, full, left_semi, left_anti."
    ):
        weft.join(left, right, on="l.k = r.k", how="cross")
    with pytest.raises(SpecError, match=r"select= names columns of r.\nSemi and anti joins return only rows of l."):
        weft.join(left, right, on="l.k = r.k", how="semi", select=["l.id", "r.id AS other"])
    with pytest.raises(SpecError, match="unordered=True cannot be combined with how='left'"):
        weft.self_join(left, on="a.k = b.k", how="left", unordered=True)
    with pytest.raises(SpecError, match=r"scheme='split' does not support how='left'"):
        weft.join(left, right, on="l.k < r.k", how="left", scheme="split", tasks=4)
    with pytest.raises(SpecError, match="is not supported in this kind of join"):
        weft.join(left, right, on="l.k = r.k AND rlike(concat(l.s, r.s), 'a+')", how="left")
