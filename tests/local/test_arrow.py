"""Tables of other libraries: what speaks Arrow goes in, and what comes out they take without copying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError
from weft.local import AsofJoin, Join, NaturalJoin
from weft.local.parallel import ParallelJoin

ROWS = pa.table({
    "id": [1, 2, 3, 4],
    "name": ["a", "b", None, "long enough not to be inlined"],
    "at": pa.array([0, 1, 2, 3], pa.timestamp("us")),
})  # fmt: skip
X = pa.schema({"x": pa.int64()})


def from_duckdb(table: pa.Table) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(table)


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=3),
    "struct": lambda table: table.combine_chunks().to_batches()[0].to_struct_array(),
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "duckdb": from_duckdb,
}


@pytest.fixture(params=LIBRARIES)
def of(request: pytest.FixtureRequest) -> Callable[[pa.Table], Any]:
    return LIBRARIES[request.param]


def test_every_function_takes_tables_of_every_library(of: Callable[[pa.Table], Any]) -> None:
    names = weft.local.join(of(ROWS), of(ROWS), on="l.name = r.name AND l.id <= r.id", select=["l.id", "r.name"])
    assert sorted(names.to_pydict()["id"]) == [1, 2, 4]
    later = weft.local.self_join(of(ROWS), on="a.at < b.at", select=["a.id AS x", "b.id AS y"])
    assert later.num_rows == 6
    nearest = weft.local.asof_join(of(ROWS), of(ROWS), on="at", strict=True, select=["l.id", "r.id AS before"])
    assert nearest.to_pydict() == {"id": [1, 2, 3, 4], "before": [None, 1, 2, 3]}
    documents = pa.table({"document": ['{"u": 1, "v": 2}', '{"u": 1, "w": 3}']})
    assert weft.local.natural_join(of(documents)).to_pydict()["merged"] == ['{"u":1,"v":2,"w":3}']


def test_what_is_fed_may_come_from_another_library_than_the_schema(of: Callable[[pa.Table], Any]) -> None:
    join = Join(ROWS, pl.from_arrow(ROWS), on="l.name = r.name")
    assert sum(table.num_rows for table in join.feed(of(ROWS), [ROWS.slice(0, 1), ROWS.slice(1)])) == 3


def test_the_result_is_taken_without_copying() -> None:
    found = weft.local.join(pl.from_arrow(ROWS), ROWS, on="l.id <= r.id", select=["l.id", "r.at"])
    frame = pl.DataFrame(found)
    again = pa.table(frame)
    for name in found.column_names:
        one, two = (table.column(name).chunks for table in (found, again))
        assert [chunk.buffers()[1].address for chunk in one if len(chunk)] == [
            chunk.buffers()[1].address for chunk in two if len(chunk)
        ]
    assert duckdb.connect().from_arrow(found).aggregate("count(*)").fetchall() == [(10,)]
    assert len(found.to_pandas()) == 10


def test_texts_at_every_depth_and_categories_survive() -> None:
    frame = pl.DataFrame({
        "k": [1, 2],
        "list": [["a", "b"], ["c"]],
        "struct": [{"x": "a"}, {"x": "b"}],
        "bytes": [b"a", b"b"],
        "category": pl.Series(["u", "v"], dtype=pl.Categorical),
    })  # fmt: skip
    found = weft.local.join(frame, frame, on="l.k = r.k AND l.category = r.category", select=["l.*"]).sort_by("k")
    assert found.to_pylist() == frame.to_dicts()


def test_an_index_of_pandas_is_a_column_if_it_has_a_name() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=[7, 8])
    assert weft.local.join(frame, frame, on="l.x < r.x").column_names == ["x", "x_right"]
    frame.index.name = "at"
    assert weft.local.join(frame, frame, on="l.at < r.at").column_names == ["x", "at", "x_right", "at_right"]


def test_streams_are_read_batch_by_batch() -> None:
    read: list[int] = []

    def batches() -> Any:
        for number in range(4):
            read.append(number)
            yield pa.record_batch({"x": [number, number + 10]})

    reader = Join(X, X, on="l.x = r.x", how="left", window=weft.within(100, on="x")).stream(
        pa.RecordBatchReader.from_batches(X, batches()), (pl.DataFrame({"x": [number]}) for number in range(3))
    )
    assert read == []
    first = reader.read_next_batch()
    assert (first.to_pydict(), read) == ({"x": [0], "x_right": [0]}, [0])
    rest = pl.DataFrame(reader)  # the other library asks for one batch after the other
    assert rest.rows() == [(1, 1), (2, 2), (10, None), (11, None), (12, None), (3, None), (13, None)]


def test_all_joins_take_streams() -> None:
    tables = [pa.table({"x": [1, 5]}), pa.table({"x": [6]})]
    reader = pa.table({"x": [2, 6, 7]}).to_reader(max_chunksize=1)
    asof = AsofJoin(X, X, on="x", select=["l.x", "r.x AS before"])
    assert asof.stream(tables, reader).read_all().sort_by("x").to_pydict() == {"x": [1, 5, 6], "before": [None, 2, 6]}
    made = ParallelJoin(X, on="abs(a.x - b.x) <= 1", window=weft.last(10), threads=1, select=["a.x", "b.x AS y"])
    assert made.stream(tables).read_all().to_pylist() == [{"x": 6, "y": 5}]
    made.close()
    documents = pa.table({"d": ['{"u": 1, "v": 2}', '{"u": 1, "w": 3}']}).to_reader(max_chunksize=1)
    assert NaturalJoin(documents, column="d").stream(documents).read_all().num_rows == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([{"x": 1}], "is a list, not a table"),
        (pa.array([1]), "is a single column"),
        (pl.Series([1]), "is a single column"),
        (pl.LazyFrame({"x": [1]}), r"LazyFrame(.|\n)*collect it first"),
        (X, "is a Schema"),
        ("orders.parquet", "is a str"),
    ],
)
def test_what_is_no_table_is_refused(given: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        weft.local.join(given, ROWS, on="l.x = r.id")
    with pytest.raises(SpecError, match=says):
        weft.local.natural_join(ROWS, given, column="name")
    with pytest.raises(SpecError, match=says):
        list(Join(X, X, on="l.x = r.x").feed([], [given]))


def test_a_stream_that_is_none_is_refused_at_once() -> None:
    join = Join(X, X, on="l.x = r.x")
    for wrong in (None, 5, "x"):
        with pytest.raises(SpecError, match="right side is a"):
            join.stream([], wrong)  # type: ignore[arg-type]  # what is refused
