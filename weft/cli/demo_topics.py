"""`weft demo --kafka`: the same plant, with topics between the sensors and the join, and between the join and the alarms.

The sensors write files, so that DuckDB and the plot have them; small queries carry them into topics of the demo's own, and at
the end the alarms from their topic into files.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.job import SourcePart
from weft.errors import WeftError
from weft.types import Side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DemoTopics"]


@dataclass
class DemoTopics:
    """The topics of one demo at a broker; `ddl` has what the sensors send."""

    spark: Any
    servers: str
    out: Path
    ddl: dict[Side, str]
    name: str = field(default_factory=lambda: f"weft-demo-{uuid.uuid4().hex[:6]}")
    carriers: list[Any] = field(default_factory=list)

    def frames(self, folders: dict[Side, Path]) -> list[DataFrame]:
        """Make the topics, begin to carry the sensors' files into them, and return the topics as streams."""
        from weft.spark import jobs

        topics = {side: f"{self.name}-{side}" for side in self.ddl}
        jobs.create_topics(self.spark, self.servers, [*topics.values(), self.alarms], 2)
        frames = []
        for side, schema in self.ddl.items():
            files = jobs.read_stream(self.spark, SourcePart("parquet", {"path": str(folders[side])}, schema), side)
            options = {**self._servers, "topic": topics[side]}
            self.carriers.append(
                jobs.carry(files, "kafka", options, str(self.out / f"carried-{side}"), value="json", seconds=0.5)
            )
            frames.append(jobs.read_stream(self.spark, self._source(topics[side], schema), side))
        return frames

    @property
    def alarms(self) -> str:
        """Return the topic of the pairs."""
        return f"{self.name}-alarms"

    @property
    def sink(self) -> dict[str, str]:
        """Return the options of the pairs' sink."""
        return {**self._servers, "topic": self.alarms}

    def collect(self, schema: str, folder: Path) -> None:
        """Write the alarms into files, each once by its key, and stop carrying."""
        from weft.spark import jobs

        for carrier in self.carriers:
            carrier.stop()
        found = jobs.read_stream(self.spark, self._source(self.alarms, schema), "sink")
        query = jobs.carry(
            found.dropDuplicates(["pair_id"]).drop("pair_id"), "parquet", {"path": str(folder)},
            str(self.out / "collected"),
        )  # fmt: skip
        query.awaitTermination()

    def check(self) -> None:
        """Raise what ended a query that carries the sensors' rows."""
        for carrier in self.carriers:
            error = None if carrier.isActive else carrier.exception()
            if error is not None:
                first = str(error).splitlines()[0]
                raise WeftError.of(f"The sensors' rows did not reach Kafka: {first}", f"The broker is {self.servers}.")

    @property
    def _servers(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers}

    def _source(self, topic: str, schema: str) -> SourcePart:
        options = {**self._servers, "subscribe": topic, "startingOffsets": "earliest"}
        return SourcePart("kafka", options, schema, value="json")
