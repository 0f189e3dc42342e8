"""As-of joins on Spark: static frames and streams beside the nested loop, what stands behind them, and what is refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
import weft.spark.asof as runtime
from tests.spark.streams import Desk
from weft.errors import SpecError
from weft.routing import AsofScheme
from weft.spec import INNER, KINDS
from weft.spec.asof import DIRECTIONS
from weft_lab.oracle import Batch, asof_joined

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def _seconds(batches: list[pa.Table]) -> list[list[dict[str, Any]]]:
    """Return rows with their times as microseconds: the nested loop counts."""
    found = []
    for batch in batches:
        rows = batch.to_pylist()
        for row in rows:
            row["ts"] = None if row["ts"] is None else (row["ts"] - START) // timedelta(microseconds=1)
        found.append(rows)
    return found


def _rows(seed: int, batch: int = 0, rows: int = 40, *, step: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed * 100 + batch)
    late = np.where(rng.random(rows) < 0.15, 9, 0)
    times = [
        None if rng.random() < 0.05 else START + timedelta(seconds=int(step * batch + ahead - back))
        for ahead, back in zip(rng.integers(0, 6, rows), late, strict=True)
    ]
    return pa.table({
        "id": pa.array(np.arange(rows) + 1000 * batch + 100_000 * seed), "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array([None if v == 4 else int(v) for v in rng.integers(0, 5, rows)], pa.int32()),
        "s": pa.array([None if v == 3 else "abcd"[v] * 9 for v in rng.integers(0, 4, rows)]),
        "x": pa.array([math.nan if v == 5 else v / 2 for v in rng.integers(0, 6, rows)], pa.float64()),
        "v": pa.array(rng.integers(0, 4, rows)),
    })  # fmt: skip


def _ids(found: pa.Table) -> Counter[tuple[Any, Any]]:
    return Counter(zip(found.column("x").to_pylist(), found.column("y").to_pylist(), strict=True))


def _expected(result: list[tuple[Any, Any]]) -> Counter[tuple[Any, Any]]:
    return Counter((one["id"], two and two["id"]) for one, two in result)


SELECT = ["l.id AS x", "r.id AS y"]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_static_frames(spark, direction) -> None:
    tables = [_rows(1), _rows(2)]
    one, two = map(_seconds, ([tables[0]], [tables[1]]))
    left, right = (spark.createDataFrame(table).coalesce(1) for table in tables)
    for by, strict, tolerance, tasks in (
        ((), False, None, 3), (("k",), True, "2 seconds", 3), (("k", "s"), False, "0 seconds", 2), (("s",), False, None, 1),
    ):  # fmt: skip
        how = "inner" if strict else "left"
        found = weft.asof_join(
            left, right, on="ts", by=by, direction=direction, strict=strict, tolerance=tolerance, how=how, ties="v",
            select=SELECT, tasks=tasks,
        )  # fmt: skip
        width = None if tolerance is None else int(tolerance.split()[0]) * 1_000_000
        expected = asof_joined(
            [Batch([one[0]], [two[0]])], on="ts", by=by, direction=direction, strict=strict, tolerance=width, ties="v",
            kind=INNER if how == "inner" else KINDS["left"],
        )  # fmt: skip
        # Rows come in whatever order: those that ties do not tell apart may be either.
        seen, wanted = found.toArrow(), expected.left_by()
        assert sorted(seen.column("x").to_pylist()) == sorted(one["id"] for one, _ in wanted)
        places = {row["id"]: (row["ts"], row["v"]) for row in two[0]}
        got = Counter((x, places.get(y)) for x, y in _ids(seen).elements())
        assert got == Counter((a["id"], b and (b["ts"], b["v"])) for a, b in wanted), (by, strict)


def test_doubles_and_a_further_condition(spark) -> None:
    tables = [_rows(3), _rows(4)]
    left, right = (spark.createDataFrame(table).coalesce(1) for table in tables)
    found = weft.asof_join(
        left,
        right,
        on="x",
        by="k",
        where="l.v >= r.v AND l.v + r.v < 5",
        tolerance=1.5,
        ties="id",
        select=SELECT,
        tasks=2,
    )
    expected = asof_joined(
        [Batch([tables[0].to_pylist()], [tables[1].to_pylist()])], on="x", by=("k",), tolerance=1.5, ties="id",
        residual=lambda a, b: a["v"] >= b["v"] and a["v"] + b["v"] < 5, kind=KINDS["left"],
    )  # fmt: skip
    assert _ids(found.toArrow()) == _expected(expected.left_by())


def test_columns_of_the_result(spark) -> None:
    left, right = spark.createDataFrame(_rows(1, rows=5)), spark.createDataFrame(_rows(2, rows=5))
    renamed = right.withColumnsRenamed({"k": "key", "ts": "time"})
    assert weft.asof_join(left, right, on="ts", by="K").columns == [
        *left.columns, "id_right", "ts_right", "s_right", "x_right", "v_right",
    ]  # fmt: skip
    both = weft.asof_join(left, renamed, on=("ts", "time"), by={"k": "key"})
    assert both.columns == [*left.columns, "id_right", "time", "s_right", "x_right", "v_right"]
    assert both.count() == 5


CASES: dict[str, dict[str, Any]] = {
    "backward": {"by": ("k",)},
    "strict": {"by": ("s",), "strict": True, "how": "inner"},
    "forward": {"by": ("k",), "direction": "forward", "tolerance": "2 seconds"},
    "nearest": {"direction": "nearest", "tolerance": "1 second", "ties": "v"},
    "where": {"by": ("k",), "where": "l.v >= r.v AND l.s <> r.s", "tolerance": "4 seconds"},
}


@pytest.mark.parametrize("cut", [True, False], ids=["keys are cut", "whole"])
def test_streams(spark, tmp_path, monkeypatch, cut) -> None:
    """Half of them with keys that are cut after a few rows."""
    if cut:
        monkeypatch.setattr(runtime, "_SCHEME", AsofScheme(enough=0, hot=0.1))
    asked = {name: options for name, options in CASES.items() if (name in ("backward", "nearest", "where")) == cut}
    tables = {side: [_rows(seed, batch, 14) for batch in range(6)] for seed, side in ((3, "left"), (4, "right"))}
    desk = Desk(spark, tmp_path)
    left, right = desk.stream("l", tables["left"]), desk.stream("r", tables["right"])
    written = desk.run_together({
        name: weft.asof_join(
            left, right, on="ts", left_delay="2 seconds", right_delay="1 second", select=SELECT, tasks=3,
            state=desk.state_of(name), **options,
        )
        for name, options in asked.items()
    })  # fmt: skip
    rows = {side: _seconds(tables[side]) for side in tables}
    batches = [Batch([one], [two]) for one, two in zip(rows["left"], rows["right"], strict=True)]
    test = lambda a, b: a["v"] >= b["v"] and None not in (a["s"], b["s"]) and a["s"] != b["s"]
    for name, options in asked.items():
        width = None if "tolerance" not in options else int(options["tolerance"].split()[0]) * 1_000_000
        expected = asof_joined(
            batches, on="ts", by=options.get("by", ()), direction=options.get("direction", "backward"),
            strict=options.get("strict", False), tolerance=width, ties=options.get("ties"), delays=(2_000_000, 1_000_000),
            residual=test if "where" in options else None, kind=INNER if options.get("how") == "inner" else KINDS["left"],
        )  # fmt: skip
        found = _ids(written[name])
        assert found == _expected(expected.left_by(desk.batches(name) - 1)), name
        assert len(found) > 10, name
        plans = [json.loads(file.read_text()) for file in tmp_path.glob(f"state of {name}/*/plans/*.json")]
        assert plans and any(plan["body"]["plan"]["length"] for plan in plans) == cut, name


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_aggregation_behind_it_is_right(spark, tmp_path, direction) -> None:
    """Rows leave late, but never later than the watermark of the result says."""
    tables = {side: [_rows(seed, batch, 12) for batch in range(7)] for seed, side in ((5, "left"), (6, "right"))}
    desk = Desk(spark, tmp_path)
    joined = weft.asof_join(
        desk.stream("l", tables["left"]).withWatermark("ts", "2 seconds"),
        desk.stream("r", tables["right"]).withWatermark("ts", "2 seconds"),
        on="ts", by="k", direction=direction, tolerance=None if direction == "backward" else "3 seconds",
        select=["l.id", "l.ts", "r.id AS y"], tasks=2, state=desk.state,
    )  # fmt: skip
    counts = desk.run(joined.groupBy(F.window("ts", "1 second").alias("at")).count())
    assert counts.num_rows > 3
    rows = {side: _seconds(tables[side]) for side in tables}
    result = asof_joined(
        [Batch([one], [two]) for one, two in zip(rows["left"], rows["right"], strict=True)], on="ts", by=("k",),
        direction=direction, tolerance=None if direction == "backward" else 3_000_000, delays=(2_000_000,) * 2,
        kind=KINDS["left"],
    )  # fmt: skip
    times = Counter(left["ts"] for left, _ in result.left_by(desk.batches() - 1) if left["ts"] is not None)
    for row in counts.to_pylist():
        at = (row["at"]["start"].astimezone(timezone.utc) - START) // timedelta(microseconds=1)
        assert row["count"] == times[at], row


def test_a_chain_knows_its_delays(spark, tmp_path) -> None:
    desk = Desk(spark, tmp_path)
    one, two, three = (desk.stream(name, [_rows(seed, b, 5) for b in range(3)]) for seed, name in enumerate("abc"))
    first = weft.asof_join(
        one, two, on="ts", by="k", delay="2 seconds", select=["l.id", "l.ts", "l.k"], state=desk.state, tasks=2
    )
    second = weft.asof_join(
        first, three.withWatermark("ts", "1 second"), on="ts", by="k", select=SELECT, state=desk.state, tasks=2
    )
    told = str(weft.explain_asof_join(first, three.withWatermark("ts", "1 second"), on="ts", by="k"))
    assert "(0 seconds on the left and 1 second on the right)" in told, told
    found = desk.run(second)
    assert found.num_rows > 3


def test_what_cannot_be_asked(spark, tmp_path) -> None:
    desk, table = Desk(spark, tmp_path), spark.createDataFrame(_rows(1, rows=3))
    left, right = (desk.stream(name, [_rows(1, 0, 3)]) for name in "lr")
    with pytest.raises(
        SpecError, match=r"An as-of join of streams needs to know how late rows can be.\nA left row leaves"
    ):
        weft.asof_join(left, right, on="ts")
    with pytest.raises(SpecError, match=r"direction='nearest' on streams needs a tolerance.\nA left row after which"):
        weft.asof_join(left, right, on="ts", direction="nearest", delay="1 second")
    with pytest.raises(SpecError, match=r"where= on streams needs a tolerance.\nAny earlier right row"):
        weft.asof_join(left, right, on="ts", where="l.x > r.x", delay="1 second")
    with pytest.raises(
        SpecError, match=r"refresh='1 hour' needs a stream and a table.\nHere both sides are streaming."
    ):
        weft.asof_join(left, right, on="ts", delay="1 second", refresh="1 hour")
    with pytest.raises(SpecError, match=r"The right side is a Table.\nweft.asof_join takes PySpark DataFrames."):
        weft.asof_join(table, _rows(1), on="ts")
    with pytest.raises(SpecError, match=r"select='l.id' is a string, not a list."):
        weft.asof_join(table, table, on="ts", select="l.id")
    with pytest.raises(SpecError, match=r"suffix=3"):
        weft.asof_join(table, table, on="ts", suffix=3)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"The left side has two columns named 'id'."):
        weft.asof_join(table.select("id", "ts", "id"), table, on="ts")
    with pytest.raises(SpecError, match=r"The left side has no column 'when'."):
        weft.asof_join(table, table, on=("when", "ts"))
    with pytest.raises(SpecError, match=r"l.s is string and r.s is string.\nBoth order columns must be times"):
        weft.asof_join(table, table, on="s")
    with pytest.raises(SpecError, match=r"is not supported in where=: rlike .*\nTasks choose the nearest right row"):
        weft.asof_join(table, table, on="ts", where="rlike(concat(l.s, r.s), 'a+')")


def test_explain(spark) -> None:
    left, right = spark.createDataFrame(_rows(1, rows=3)), spark.createDataFrame(_rows(2, rows=3))
    told = weft.explain_asof_join(left, right, on="ts", by="k", tasks=2).to_dict()
    assert told["match"] == "the right row whose ts is the nearest at or before l.ts among those with l.k = r.k"
    assert told["state"] == "none: both sides are read completely, in one batch"
