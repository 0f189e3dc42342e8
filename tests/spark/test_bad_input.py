"""Mistakes: each is told where the join is built, in three parts: what is wrong, what there is, what to try."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError, UnknownColumn, UnknownName, WeftError

LEFT = pa.table(
    {"id": [1, 2], "price": [1.0, 2.0], "ts": pa.array([1, 2], pa.timestamp("us", tz="UTC")), "tags": [["a"], []]}
)
RIGHT = pa.table(
    {"id": [1, 2], "bid": [1.5, 2.5], "ts": pa.array([1, 2], pa.timestamp("us", tz="UTC")), "name": ["a", "b"]}
)
COLUMNS = r"l \(left\) has: id, price, ts, tags. r \(right\) has: id, bid, ts, name"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bad")


@pytest.fixture
def desk(spark, folder):
    return Desk(spark, folder)


def joined(desk: Desk, **options: Any) -> Any:
    left, right = options.pop("left", None), options.pop("right", None)
    frames = {"left": LEFT, "right": RIGHT}
    for side, table in frames.items():
        (desk.folder / side).mkdir(exist_ok=True)
        if not (desk.folder / side / "000.parquet").exists():
            desk.add(side, 0, table)
    left = desk.stream("left", []) if left is None else left
    right = desk.stream("right", []) if right is None else right
    given = {"on": "l.price < r.bid", "window": weft.unbounded(), "state": desk.state, **options}
    return weft.join(left, right, **{name: value for name, value in given.items() if value is not ...})


CASES: dict[str, tuple[dict[str, Any], type[WeftError], str, str, str]] = {
    "unknown column": (
        {"on": "l.prize < r.bid"},
        UnknownColumn,
        "The left side has no column 'prize'",
        "It has: id, price, ts, tags",
        "did you mean 'price'",
    ),
    "unknown column of the right": (
        {"on": "l.price < r.ask"},
        UnknownColumn,
        "The right side has no column 'ask'",
        "It has: id, bid, ts, name",
        "",
    ),
    "unknown column without alias": (
        {"on": "prize < r.bid"},
        UnknownColumn,
        "Neither side has a column 'prize'",
        COLUMNS,
        "before the join",
    ),
    "unknown alias": (
        {"on": "x.price < r.bid"},
        UnknownColumn,
        "the unknown alias 'x'",
        COLUMNS,
        r"write l\.price",
    ),
    "a column both sides have": (
        {"on": "id < r.bid"},
        SpecError,
        "'id', which both sides have",
        COLUMNS,
        r"write l\.id or r\.id",
    ),
    "types that cannot be compared": (
        {"on": "l.tags < r.bid"},
        SpecError,
        "cannot be typed",
        r"l\.tags array<string>",
        "cast one of them",
    ),
    "a date and a number": (
        {"on": "l.ts < r.bid"},
        SpecError,
        "cannot be typed",
        r"l\.ts timestamp",
        "cast one of them",
    ),
    "not a condition": ({"on": "l.price + r.bid"}, SpecError, "on= ", "", ""),
    "one side only": (
        {"on": "l.price > 3"},
        SpecError,
        "does not mention the right side",
        "relates a column of l with one of r",
        r"write l\.x < r\.x",
    ),
    "no comparison between the sides": (
        {"on": "l.price > 3 AND r.bid < 2"},
        SpecError,
        "has no comparison between the sides",
        "relates a column of l with one of r",
        r"\.where",
    ),
    "no column at all": ({"on": "1 < 2"}, SpecError, "comparison between the sides", "relates a column", "write"),
    "does not parse": (
        {"on": "l.price <> AND r.bid"},
        SpecError,
        "on= does not parse",
        r"Given: l\.price <> AND r\.bid",
        "write a SQL condition such as",
    ),
    "empty": ({"on": "  "}, SpecError, "on= is empty", "relates both sides", "write on="),
    "of another type": ({"on": 7}, SpecError, "on= is a int", "SQL text or a PySpark Column", "write on="),
    "unknown function": ({"on": "nofun(l.price) < r.bid"}, SpecError, "nofun", "Given: nofun", "check the spelling"),
    "no window for streams": ({"window": None}, SpecError, "needs a window", "within, last, tumbling", "write window="),
    "not a window": (
        {"window": "10 seconds"},
        SpecError,
        "window= is '10 seconds'",
        "Windows are: within, last",
        "write window=",
    ),
    "a time column that is not there": (
        {"window": weft.within("1 second", on="time")},
        UnknownColumn,
        "The left side has no column 'time'",
        "It has: id, price, ts, tags",
        "",
    ),
    "a time column that is no time": (
        {"window": weft.within("1 second", left="ts", right="name")},
        SpecError,
        "right column 'name' is string",
        "needs a timestamp or date",
        "cast the column",
    ),
    "plain numbers over a timestamp": (
        {"window": weft.within(5, on="ts")},
        SpecError,
        "left column 'ts' is timestamp",
        "needs an integer",
        "write a duration, such as '10 seconds'",
    ),
    "an order that is no order": (
        {"window": weft.last(5, left="ts", right="name")},
        SpecError,
        "order column 'name' is string",
        "an integer, float, date or timestamp",
        "name another column",
    ),
    "orders of two kinds": (
        {"window": weft.last(5, left="id", right="bid")},
        SpecError,
        "orders the left side by bigint and the right side by double",
        "of one kind",
        "cast one of them",
    ),
    "collision in select": (
        {"select": ["l.id", "r.id"]},
        SpecError,
        "two columns named 'id'",
        "Its columns: id, id",
        "give the columns different names",
    ),
    "collision with suffix": ({"suffix": ""}, SpecError, "two columns named", "Its columns: id, price", "set suffix="),
    "unknown column in select": (
        {"select": ["l.nothing"]},
        UnknownColumn,
        "The left side has no column 'nothing'",
        "It has: ",
        "",
    ),
    "unknown column without alias in select": (
        {"select": ["prize"]},
        UnknownColumn,
        "Neither side has a column 'prize'",
        COLUMNS,
        "did you mean 'price'",
    ),
    "durations over a number": (
        {"window": weft.within("5 seconds", on="id")},
        SpecError,
        "left column 'id' is bigint",
        "needs a timestamp or date",
        "write plain numbers",
    ),
    "aggregate in select": ({"select": ["count(l.id) AS n"]}, SpecError, "aggregate", "", "afterwards"),
    "explode in select": ({"select": ["explode(l.tags) AS n"]}, SpecError, "explode", "over one pair", r"\.select\(\)"),
    "window function in select": (
        {"select": ["row_number() OVER (ORDER BY l.id) AS n"]},
        SpecError,
        "a window function",
        "over one pair",
        "afterwards",
    ),
    "nothing in select": ({"select": []}, SpecError, "select= is empty", "SQL texts", "leave it out"),
    "a number in select": ({"select": [1]}, SpecError, "select= holds 1", "SQL texts", "leave it out"),
    "an aggregate": (
        {"on": "count(l.id) > r.bid"},
        SpecError,
        "an aggregate",
        "one row of each side",
        "before the join",
    ),
    "a subquery": ({"on": "l.price > r.bid + (SELECT 1)"}, SpecError, "subquery", "one row of each side", "first"),
    "a state path that is no text": ({"state": 5}, SpecError, "state=5", "path of a folder", "write state="),
    "a name that is no name": ({"name": "a/b"}, SpecError, "name='a/b'", "part of a folder's name", "write name="),
    "an index that is no name": ({"index": None}, UnknownName, "no index named None", "Known: auto", "choose"),
    "no tasks": ({"tasks": 0}, SpecError, "tasks=0", "at least 1", "leave it out"),
    "half a task": ({"tasks": 1.5}, SpecError, "tasks=1.5", "at least 1", "leave it out"),
    "unknown scheme": (
        {"scheme": "hsah"},
        UnknownName,
        "no scheme named 'hsah'",
        "Known: adsp, auto, biclique",
        "did you mean 'hash'",
    ),
    "unknown index": ({"index": "btree9"}, UnknownName, "no index named 'btree9'", "Known: auto, boxes, bplustree", ""),
    "hash without equality": (
        {"scheme": "hash"},
        SpecError,
        "scheme='hash' needs an equality",
        "The condition is",
        "use scheme='auto'",
    ),
    "hash index without equality": (
        {"index": "hash"},
        SpecError,
        "index='hash' needs an equality",
        "The condition is",
        "use index='runs'",
    ),
    "range without range": (
        {"scheme": "range", "on": "l.id = r.id"},
        SpecError,
        "scheme='range' needs a band",
        "The condition is",
        "use scheme='hash'",
    ),
    "a matrix too large": (
        {"scheme": weft.schemes.Matrix(3, 3), "tasks": 4},
        SpecError,
        "A matrix of 3 rows and 3 columns needs 9 tasks",
        "There are 4",
        "tasks=",
    ),
    "no state path": ({"state": None}, SpecError, "needs a state path", "one folder per query", "give state="),
    "a state path that cannot be written": (
        {"state": "file:///proc/weft"},
        SpecError,
        "/proc/weft cannot be written",
        "can still match",
        "give state= a folder",
    ),
    "a state path of an unknown kind": (
        {"state": "ftp://host/weft"},
        SpecError,
        "'ftp://host/weft' cannot be opened",
        "file, hdfs, s3",
        "write state=",
    ),
    "a frame that is none": (
        {"right": 7},
        SpecError,
        "The right side is a int",
        "takes PySpark DataFrames",
        r"weft\.local\.join",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_told_when_the_join_is_built(desk, name):
    options, kind, what, there_is, hint = CASES[name]
    with pytest.raises(WeftError) as caught:
        joined(desk, **options)
    check(caught.value, kind, what, there_is, hint)


def check(error: WeftError, kind: type[WeftError], what: str, there_is: str, hint: str) -> None:
    assert type(error) is kind
    first, *rest = str(error).split("\n")
    assert len(rest) >= 2 and rest[-1].startswith("Hint: "), str(error)
    assert re.search(what, first), first
    assert re.search(there_is, "\n".join(rest[:-1])), rest
    assert re.search(hint, rest[-1]), rest[-1]


WINDOWS: dict[str, tuple[Callable[[], object], str, str, str]] = {
    "no time column": (
        lambda: weft.within("1 second"),
        "needs a time column for the left and right side",
        "Given: on=None",
        "on='ts'",
    ),
    "one time column": (
        lambda: weft.tumbling("1 second", left="ts"),
        "a time column for the right side",
        "left='ts'",
        "else left= and right=",
    ),
    "negative": (
        lambda: weft.within("-5 seconds", on="ts"),
        "within is '-5 seconds', which is negative",
        "at least zero",
        "before= and after=",
    ),
    "negative number": (
        lambda: weft.within(-5, on="ts"),
        "within is -5, which is negative",
        "at least zero",
        "before= and after=",
    ),
    "negative delay": (
        lambda: weft.within("5 seconds", on="ts", delay="-1 second"),
        "delay is '-1 second', which is negative",
        "at least zero",
        "",
    ),
    "empty tumbling": (
        lambda: weft.tumbling("0 seconds", on="ts"),
        "tumbling is '0 seconds', which is too short",
        "at least",
        "",
    ),
    "no duration": (
        lambda: weft.within("soon", on="ts"),
        "within is 'soon', which is not a duration",
        "Units are",
        "'10 seconds'",
    ),
    "numbers and durations": (
        lambda: weft.within(5, on="ts", delay="1 second"),
        "mixes plain numbers with durations",
        "integer column",
        "all of them as text",
    ),
    "nothing near": (
        lambda: weft.within(on="ts"),
        "needs either one span or before= and after=",
        "Given: span=None",
        "write within",
    ),
    "no rows": (lambda: weft.last(0), r"last\(\) got 0 rows", "at least 1", r"last\(100_000\)"),
    "half ordered": (lambda: weft.last(5, left="ts"), "orders only one of the two sides", "right=None", "order='ts'"),
    "no rows to tumble": (
        lambda: weft.tumbling_rows(-1),
        r"tumbling_rows\(\) got -1 rows",
        "at least 1",
        "tumbling_rows",
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_mistake_in_a_window_is_told_at_once(name):
    make, what, there_is, hint = WINDOWS[name]
    with pytest.raises(WeftError) as caught:
        make()
    check(caught.value, SpecError, what, there_is, hint)


def test_a_column_of_another_frame_is_refused(desk):
    other = desk.spark.createDataFrame([(1, 2.0)], "id long, bid double")
    with pytest.raises(WeftError) as caught:
        joined(desk, on=F.col("l.price") < other.bid)
    assert type(caught.value) in (SpecError, UnknownColumn)
    assert "\nHint: " in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(desk, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(WeftError, match="cannot be written"):
        joined(desk, state=tmp_path.as_uri())


def test_explain_raises_the_same_mistakes(desk):
    joined(desk)
    with pytest.raises(UnknownColumn, match="no column 'prize'"):
        weft.explain(desk.stream("left", []), desk.stream("right", []), on="l.prize < r.bid", window=weft.unbounded())
