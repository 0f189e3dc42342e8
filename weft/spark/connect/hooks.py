"""Where PySpark's Connect classes call Weft: when a query starts, and when a watermark is set behind a join.

They are the counterparts of those in `weft.spark.hooks`, as far as a client can be one. It cannot see the server's files, so the
restart is checked by a worker of the server, and not before the query runs: a query that does not belong to its state is stopped.
What `foreachBatch` does runs on the server alone; a batch that it reads in part is found out by the batch behind it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

from weft.engine import Job
from weft.errors import StateError, StateMismatch, WeftError
from weft.spark.hooks import Registered, enough, joins_of
from weft.spark.state_place import StatePlace
from weft.state import read_sealed

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Put Weft in place in PySpark's Connect classes."""
    writer: Any = DataStreamWriter
    for name in ("start", "toTable"):
        setattr(writer, name, _checked(getattr(writer, name)))
    ConnectDataFrame.withWatermark = enough(ConnectDataFrame.withWatermark)  # type: ignore[method-assign]


def _checked(start: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(start)
    def checked(writer: Any, *args: Any, **kwargs: Any) -> Any:
        frame = ConnectDataFrame(writer._write_stream._child, writer._session)
        joins = joins_of(frame)
        query = start(writer, *args, **kwargs)
        try:
            for join in joins:
                _check_restart(writer._session, join, str(query.id))
        except BaseException:
            query.stop()
            raise
        return query

    return checked


def _check_restart(spark: Any, join: Registered, query: str) -> None:
    told = (
        spark.range(0, 1, 1, 1)
        .mapInArrow(Restarted(join.where, join.job, query), "told string")
        .toArrow()
        .column(0)
        .to_pylist()
    )
    refused = json.loads(told[0])
    if refused:
        kind: type[WeftError] = StateMismatch if refused["kind"] == "StateMismatch" else StateError
        raise kind(refused["text"])


@dataclass(frozen=True)
class Restarted:
    """Looks, in a worker of the server, whether the state of a query is that of its join."""

    where: StatePlace
    job: Job
    query: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Answer with what is wrong, or nothing."""
        for _ in batches:
            pass
        yield pa.record_batch([pa.array([json.dumps(self._wrong())])], names=["told"])

    def _wrong(self) -> dict[str, str]:
        try:
            store = self.where.store(self.job, self.query)
            if store.folder.exists("spec.json"):
                store.check(str(read_sealed(store.folder, "spec.json")["fingerprint"]), self.job.spec.identity())
        except WeftError as error:
            return {"kind": type(error).__name__, "text": str(error)}
        return {}
