"""Random windows, conditions and streams on Spark, one file per batch and side, against the oracle.

The same cases every time; `WEFT_FUZZ=200` asks for so many instead of a minute's worth.
"""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import weft
from tests.property.cases import SCHEMA, Case, bands, cases, comparisons, counts, expected_count, intervals
from tests.spark.streams import Desk, pairs_of, tables
from weft.spec import Window
from weft_lab.oracle import Batch, Row

CASES = int(os.environ.get("WEFT_FUZZ", "14"))
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TIMED = SCHEMA.set(SCHEMA.get_field_index("t"), pa.field("t", pa.timestamp("us", tz="UTC")))
WEFT: Any = weft


@dataclass(frozen=True)
class Run:
    """A case, and how Spark is to run it; with `clock` its times are timestamps, else whole numbers."""

    case: Case
    clock: bool
    tasks: int
    scheme: str
    file_sink: bool


def _shown(value: int, clock: bool) -> Any:
    return f"{value} seconds" if clock else value


@st.composite
def time_windows(draw: st.DrawFn, clock: bool, itself: bool) -> Window:
    """Draw a window over time: either kind, wide or narrow, with one delay, one per side (if there are two), or none."""
    length = st.integers(0, 5).map(lambda value: _shown(value, clock))
    delays: dict[str, Any] = draw(
        st.one_of(
            st.just({}), st.fixed_dictionaries({"delay": length}),
            st.fixed_dictionaries({"delay": length} if itself else {"left_delay": length, "right_delay": length}),
        )
    )  # fmt: skip
    if draw(st.booleans()):
        return weft.tumbling(_shown(draw(st.integers(1, 6)), clock), on="t", **delays)
    if draw(st.booleans()):
        return weft.within(draw(length), on="t", **delays)
    return weft.within(before=draw(length), after=draw(length), on="t", **delays)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    clock, itself = draw(st.booleans()), draw(st.integers(0, 3)) == 3
    timed = time_windows(clock, itself)
    window = draw(st.one_of(timed, timed, counts(), st.just(weft.unbounded())))
    anything = st.one_of(comparisons(), bands(), intervals())
    case = draw(cases(st.just(window), itself=itself, unordered=itself and draw(st.booleans()), first=anything, most=9))
    silent = draw(st.sampled_from((None, None, None, "left", "right")))
    batches = [_in_one_file(batch, silent, clock) for batch in case.batches]
    case = replace(case, batches=tuple([*batches, Batch([[]], [[]])] if draw(st.booleans()) else batches))
    scheme = draw(st.sampled_from(("auto", "auto", "matrix", "broadcast", "split")))
    return Run(case, clock, draw(st.integers(1, 4)), scheme, draw(st.integers(0, 3)) == 3)


def _in_one_file(batch: Batch, silent: str | None, clock: bool) -> Batch:
    """Put the rows of a side into one partition, or none where it is silent."""

    def rows(side: str) -> list[Row]:
        found = [row for part in (batch.left if side == "left" else batch.right) for row in part if side != silent]
        return [{**row, "t": _time(row["t"])} for row in found] if clock else found

    return Batch([rows("left")], [rows("right")])


def _time(value: int | None) -> datetime | None:
    return None if value is None else START + timedelta(seconds=value)


seen: Counter[str] = Counter()


@settings(
    max_examples=CASES, derandomize=True, database=None, phases=(Phase.generate,),
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(run=runs())
def _every_case(spark: Any, folder: Path, run: Run) -> None:
    number = sum(seen.values())
    desk = Desk(spark, folder / str(number))
    found = _found(desk, run)
    expected = run.case.expected()
    seen[type(run.case.window).__name__] += 1
    assert found == expected_count(expected), f"case {number}, {run}"
    shutil.rmtree(desk.folder)


def _found(desk: Desk, run: Run) -> Counter[tuple[Any, Any]]:
    """Join on Spark; return the pairs of ids."""
    case, schema = run.case, TIMED if run.clock else SCHEMA
    frames = [desk.stream(side, tables(case.batches, side, schema)) for side in ("left", "right")[: 2 - case.itself]]
    a, b = case.aliases
    options: dict[str, Any] = {
        "on": case.on, "window": case.window, "tasks": run.tasks, "scheme": run.scheme, "state": desk.state,
        "select": [f"{a}.id AS x", f"{b}.id AS y"],
    }  # fmt: skip
    pairs = (
        WEFT.self_join(*frames, unordered=case.unordered, **options) if case.itself else WEFT.join(*frames, **options)
    )
    if run.file_sink:
        return pairs_of(desk.run(pairs))
    name = f"fuzz_{sum(seen.values())}"
    writer = pairs.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    writer.option("checkpointLocation", str(desk.folder / "checkpoint")).start().awaitTermination()
    return pairs_of([row.asDict() for row in desk.spark.table(name).collect()])


def test_random_windows_on_spark(spark, tmp_path) -> None:
    _every_case(spark, tmp_path)
    print(dict(seen))
    assert sum(seen.values()) >= CASES and len(seen) >= min(4, math.isqrt(CASES))
