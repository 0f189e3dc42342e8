"""Streams from files, one file per batch and side; queries that run until the files are used up; what they left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from weft.state import open_folder, read_sealed
from weft.types import SIDES
from weft_lab.oracle import Batch, Result, Row

__all__ = ["Desk", "pairs_of"]


@dataclass(frozen=True)
class Desk:
    """A session and a folder: writes the input, runs the query, reads the output."""

    spark: SparkSession
    folder: Path

    def stream(self, name: str, tables: Sequence[pa.Table]) -> DataFrame:
        """Return a stream that gives one of the tables per batch."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, table in enumerate(tables):
            self.add(name, number, table)
        # To infer it, Spark would run a job.
        known = from_arrow_schema(tables[0].schema, prefer_timestamp_ntz=True) if tables else None
        schema = known or self.spark.read.parquet(str(folder)).schema
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))

    def add(self, name: str, number: int, table: pa.Table) -> None:
        """Add the file of one batch; the source takes the oldest file first."""
        path = self.folder / name / f"{number:03}.parquet"
        aside = self.folder / f"{name}-{number:03}.aside"
        pq.write_table(table, aside)
        os.utime(aside, (1_700_000_000 + number * 10,) * 2)
        aside.rename(path)

    @property
    def state(self) -> str:
        return (self.folder / "state").as_uri()

    def start(self, frame: DataFrame, name: str = "out") -> StreamingQuery:
        """Start a query into a Parquet sink."""
        return (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / f"{name}-checkpoint"))
            .trigger(availableNow=True)
            .start(str(self.folder / name))
        )

    def run(self, frame: DataFrame, name: str = "out") -> pa.Table:
        """Run a query until its input is used up; return all it wrote."""
        query = self.start(frame, name)
        query.awaitTermination()
        return self.read(name, frame)

    def run_together(self, frames: Mapping[str, DataFrame], name: str = "out") -> dict[str, pa.Table]:
        """Run several joins as one query, a union; return what each wrote. Each needs a state path of its own.

        Most of what a small batch costs is spent once a query: planning, logs, the sink. So ten joins together cost
        little more than two.
        """
        numbered = [frame.withColumn("_number", F.lit(number)) for number, frame in enumerate(frames.values())]
        union = numbered[0]
        for frame in numbered[1:]:
            union = union.unionByName(frame, allowMissingColumns=True)
        written = self.run(union, name)
        parts = (written.filter(pc.equal(written["_number"], number)) for number in range(len(frames)))
        return dict(zip(frames, parts, strict=True))

    def state_of(self, name: str) -> str:
        """Return a state path for one of several joins in a query."""
        return (self.folder / f"state of {name}").as_uri()

    def read(self, name: str, frame: DataFrame) -> pa.Table:
        return self.spark.read.schema(frame.schema).parquet(str(self.folder / name)).toArrow()

    def late(self, name: str = "") -> dict[str, int]:
        """Return the late rows per side, from the manifests of the one query."""
        (query,) = [path for path in self._states(name).iterdir() if path.is_dir()]
        total: dict[str, int] = dict.fromkeys(SIDES, 0)
        for file in query.glob("[0-9]*/[0-9]*.json"):
            if file.stem.isdigit():
                stats = read_sealed(open_folder(str(file.parent)), file.name)["stats"]
                for side in SIDES:
                    total[side] += stats["late"][side]
        return total

    def batches(self, name: str = "") -> int:
        """Return how many batches the query has joined."""
        return 1 + max(int(file.stem) for file in self._states(name).glob("*/0/[0-9]*.json") if file.stem.isdigit())

    def _states(self, name: str) -> Path:
        return self.folder / (f"state of {name}" if name else "state")


def pairs_of(found: pa.Table | Result | Iterable[Row], one: str = "x", two: str = "y") -> Counter[tuple[Any, Any]]:
    """Return the pairs of ids, as often as they occur."""
    if isinstance(found, Result):
        return Counter((left["id"], right["id"]) for left, right in found.pairs)
    rows = found.to_pylist() if isinstance(found, pa.Table) else found
    return Counter((row[one], row[two]) for row in rows)


def tables(batches: Sequence[Batch], side: str, schema: pa.Schema) -> list[pa.Table]:
    """Return one table per batch."""
    found = []
    for batch in batches:
        rows = [dict(row) for part in (batch.left if side == "left" else batch.right) for row in part]
        found.append(pa.Table.from_pylist(rows, schema))
    return found
