"""`weft.natural_join` on Spark gives what `weft.local.natural_join` and a nested loop give, for streams and static frames."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError, UnknownColumn
from weft.observe import find_query, read_documents
from weft_lab.schemes import Disjoint, Everywhere

pytestmark = pytest.mark.spark

WEFT: Any = weft
Doc = dict[str, Any]


def documents(count: int, base: int = 0) -> list[Doc]:
    return [
        {"user": n % 7, "ok": n % 2 == 0} if n % 3 else {"user": n % 7, "file": n % 5}
        for n in range(base, base + count)
    ]


def table(docs: list[Doc], base: int = 0) -> pa.Table:
    return pa.table({
        "n": pa.array(range(base, base + len(docs)), pa.int64()), "ts": pa.array(range(base, base + len(docs)), pa.int64()),
        "document": pa.array([json.dumps(doc) for doc in docs], pa.string()),
    })  # fmt: skip


def joins(a: Doc, b: Doc) -> bool:
    common = a.keys() & b.keys()
    return bool(common) and all(a[key] == b[key] for key in common)


def pairs(result: pa.Table) -> list[tuple[int, int]]:
    return sorted(zip(result["left_id"].to_pylist(), result["right_id"].to_pylist(), strict=True))


@pytest.mark.parametrize("scheme", [weft.schemes.Association(enough=1), Disjoint(enough=1), Everywhere()], ids=str)
def test_one_stream(spark: SparkSession, tmp_path: Path, scheme: Any) -> None:
    desk, docs = Desk(spark, tmp_path), documents(90)
    stream = desk.stream("docs", [table(docs[start : start + 18], start) for start in range(0, 90, 18)])
    frame = WEFT.natural_join(stream, id="n", window=weft.within(20, on="ts"), scheme=scheme, tasks=3, state=desk.state)
    found = desk.run(frame)
    answer = [(i, j) for i, j in itertools.combinations(range(90), 2) if j - i <= 20 and joins(docs[i], docs[j])]
    assert pairs(found) == sorted(answer)
    for row in found.to_pylist():
        one, two = docs[row["left_id"]], docs[row["right_id"]]
        assert json.loads(row["merged"]) == one | two and set(row["shared"]) == one.keys() & two.keys()


def test_two_streams(spark: SparkSession, tmp_path: Path) -> None:
    desk, left, right = Desk(spark, tmp_path), documents(60), documents(60, 5)
    sides = [
        desk.stream(name, [table(docs[start : start + 20], start) for start in range(0, 60, 20)])
        for name, docs in (("left", left), ("right", right))
    ]
    frame = WEFT.natural_join(*sides, id="n", window=weft.tumbling_rows(30), tasks=2, state=desk.state)
    answer = [(i, j) for i in range(60) for j in range(60) if i // 30 == j // 30 and joins(left[i], right[j])]
    assert pairs(desk.run(frame)) == sorted(answer)


def test_static_frames_structs_and_maps(spark: SparkSession) -> None:
    docs = documents(40)
    frame = spark.createDataFrame(table(docs).to_pandas())
    answer = sorted((i, j) for i, j in itertools.combinations(range(40), 2) if joins(docs[i], docs[j]))
    assert pairs(WEFT.natural_join(frame, id="n", tasks=3).toArrow()) == answer
    parsed = frame.selectExpr("n", "from_json(document, 'user INT, ok BOOLEAN, file INT') AS document")
    assert pairs(WEFT.natural_join(parsed, id="n", tasks=2).toArrow()) == answer
    mapped = frame.selectExpr("n", "from_json(document, 'map<string, string>') AS document")
    assert pairs(WEFT.natural_join(mapped, id="n", tasks=2).toArrow()) == answer


def test_mistakes_are_told_before_anything_runs(spark: SparkSession) -> None:
    frame = spark.range(3).withColumnRenamed("id", "n")
    with pytest.raises(UnknownColumn, match="document"):
        WEFT.natural_join(frame, id="n")
    with pytest.raises(SpecError, match="DataFrames"):
        WEFT.natural_join([1], id="n")
    with pytest.raises(SpecError, match="The column of documents is int64"):
        WEFT.natural_join(frame, id="n", column="n")
    with pytest.raises(SpecError, match="window= is '10 s'"):
        WEFT.natural_join(frame, id="n", column="n", window="10 s")
    with pytest.raises(SpecError, match="takes a PySpark DataFrame"):
        WEFT.refused_documents(None)


def test_lines_that_are_no_documents_are_counted_and_can_be_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Malformed, not UTF-8, too deep: refused with a reason. Ten megabytes, 500 levels, a doubled key: read."""
    desk = Desk(spark, tmp_path)
    deep, deeper = (b'{"a":' * levels + b"1" + b"}" * levels for levels in (500, 501))
    huge = b'{"a": 1, "text": "' + b"x" * 10_000_000 + b'"}'
    lines = [b'{"a": 1}', b"nonsense", b'{"a": 7, "b": 2, "a": 1.0}', b"[1, 2]", None, b'{"a": ', b'{"a": "\xff"}',
             deep, deeper, huge, deep]  # fmt: skip
    docs = pa.table({"n": range(len(lines)), "document": pa.array(lines, pa.binary())})
    stream = desk.stream("docs", [docs])
    found = desk.run(weft.natural_join(stream, id="n", window=weft.unbounded(), tasks=2, state=desk.state))
    assert pairs(found) == [(0, 2), (0, 9), (2, 9), (7, 10)]
    query = find_query(str(tmp_path / "state"))
    measured = read_documents(query, 0)
    refused = weft.refused_documents(spark.read.parquet(str(tmp_path / "docs"))).toArrow().sort_by("n")
    assert refused["n"].to_pylist() == [1, 3, 4, 5, 6, 8] and all(refused["reason"].to_pylist())
    assert measured is not None and measured["refused"] == 6 and measured["pairs"] == 4
    assert 1 <= measured["replication"] <= 2 and measured["build seconds"] > 0
    with pytest.raises(UnknownColumn):
        weft.refused_documents(stream, column="nothing")
