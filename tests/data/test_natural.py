"""Natural joins of real log documents: the three queries of json_winlog, with the counts that the data's README states."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import weft
from weft.local import NaturalJoin
from weft.routing.documents import Association

pytestmark = pytest.mark.data

DROPPED = frozenset(  # the projection P
    """@timestamp @version EventReceivedTime EventTime Message RecordNumber ThreadID ExecutionProcessID Keywords Severity
    SeverityValue SourceModuleName SourceModuleType tags host port Task UtcTime Opcode OpcodeValue Version Category EventType
    EventTypeOrignal ProviderGuid ActivityID RelatedActivityID SourceName Channel EventID RuleName""".split()  # noqa: SIM905  as the README lists them
)


def lines(folder: Path, start: int, end: int) -> list[dict[str, Any]]:
    with gzip.open(folder / "json_winlog" / "events.json.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for number, line in enumerate(file) if start <= number < end]


def projected(docs: list[dict[str, Any]], *more: str) -> pa.Table:
    texts = [json.dumps({key: v for key, v in doc.items() if key not in DROPPED and key not in more}) for doc in docs]
    return pa.table({"document": pa.array(texts, pa.large_string())})


def count(left: pa.Table, right: pa.Table | None = None, **how: Any) -> tuple[int, int]:
    """Return the number of pairs, and of those that share only Hostname; the united documents are made and let go."""
    batch = how.pop("batch")
    made = NaturalJoin(left.schema, None if right is None else right.schema, column="document", **how)
    total, host = 0, 0
    for start in range(0, left.num_rows, batch):
        for part in made.feed(left.slice(start, batch), None if right is None else right.slice(start, batch)):
            total += part.num_rows
            host += sum(shared == ["Hostname"] for shared in part["shared"].to_pylist())
    return total, host


@pytest.mark.parametrize(
    "how",
    [{"tasks": 3, "batch": 800, "scheme": "disjoint"}],
    ids=["three tasks"],
)
def test_query_a(data_dir: Path, how: dict[str, Any]) -> None:
    assert count(projected(lines(data_dir, 10_000, 13_000)), **how) == (392_861, 304_398)


@pytest.mark.parametrize(
    "how",
    [
        {"tasks": 4, "batch": 1000, "scheme": Association(unseen="owner")},
        {"tasks": 2, "batch": 2500, "scheme": "set-cover", "window": weft.tumbling_rows(5000)},
    ],
    ids=["association", "set cover"],
)
def test_query_b(data_dir: Path, how: dict[str, Any]) -> None:
    assert count(projected(lines(data_dir, 10_000, 15_000), "Hostname"), **how)[0] == 189_297


def test_query_c(data_dir: Path) -> None:
    docs = lines(data_dir, 10_000, 15_000)
    sides = [[doc for doc in docs if (doc["Channel"].lower() == "security") == secure] for secure in (False, True)]
    assert [len(side) for side in sides] == [2_373, 2_627]
    left, right = (projected(side, "Hostname") for side in sides)
    assert count(left, right, tasks=3, batch=900)[0] == 53_259


@pytest.mark.spark
def test_queries_a_to_c_on_spark(spark: SparkSession, data_dir: Path) -> None:
    docs = lines(data_dir, 10_000, 15_000)
    sides = [[doc for doc in docs if (doc["Channel"].lower() == "security") == secure] for secure in (False, True)]

    def frame(table: pa.Table) -> DataFrame:
        numbered = table.append_column("n", pa.array(range(table.num_rows)))
        return spark.createDataFrame(numbered.cast(pa.schema([("document", pa.string()), ("n", pa.int64())])))

    def counted(*frames: DataFrame) -> tuple[int, int]:
        found = weft.natural_join(*frames, id="n", tasks=2)
        host = "count_if(size(shared) = 1 AND shared[0] = 'Hostname') AS host"
        (row,) = found.selectExpr("count(*) AS pairs", host).collect()
        return row.pairs, row.host

    assert counted(frame(projected(docs[:3000]))) == (392_861, 304_398)
    assert counted(frame(projected(docs, "Hostname")))[0] == 189_297
    assert counted(*(frame(projected(side, "Hostname")) for side in sides))[0] == 53_259
