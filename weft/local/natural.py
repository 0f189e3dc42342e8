"""`weft.local.natural_join`: joins documents without a join key."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from weft.documents import DocumentReader
from weft.engine import Job
from weft.engine.natural import (
    INDEX,
    DocumentJoiner,
    TreeCache,
    as_typed,
    document_payload,
    either_way,
    natural_spec,
    result_schema,
)
from weft.errors import SpecError, UnknownColumn
from weft.local.arrow import Batches, Tabular, as_schema, as_table, fed_parts, joined_batches
from weft.local.checks import check_window, next_batch, opened
from weft.local.runtime import DocumentSource, LocalRun, Refused, carried, feed_whole, time_orders
from weft.planner import check_tasks
from weft.routing.documents import DocumentScheme, document_measures, document_scheme
from weft.spec import Tumbling, Window, Within, unbounded, window_column, with_delays
from weft.state import MemoryStore, StateStore
from weft.types import SIDES, Side

__all__ = ["NaturalJoin", "natural_join"]


class NaturalJoin:
    """A natural join that takes its input batch by batch; `natural_join` takes whole tables.

    `refused` counts the lines that are not documents, by reason; with `collect=True`, `rejected` lists them. With a state folder,
    the next batch follows the last finished one, even if another process finished it; `batch` sets a different one.

    Examples
    --------
    >>> join = NaturalJoin(pa.schema({"event": pa.string()}), column="event")
    >>> list(join.feed(pa.table({"event": ['{"user": "ann", "login": "failed"}']})))
    []
    >>> for found in join.feed(pa.table({"event": ['{"user": "ann", "file": "/pay"}']})):
    ...     print(*found["merged"].to_pylist())
    {"user":"ann","login":"failed","file":"/pay"}
    """

    def __init__(
        self, left: pa.Schema | Tabular, right: pa.Schema | Tabular | None = None, *, column: str, id: str | None = None,  # noqa: A002
        window: Window | None = None, scheme: str | DocumentScheme = "auto", tasks: int = 1, nulls: str = "absent",
        arrays: str = "whole", collect: bool = False, state: StateStore | str | None = None, batch: int | None = None,
    ) -> None:  # fmt: skip
        check_tasks(tasks, "leave it out for one.")
        self.window = window if window is not None else unbounded()
        self.single, reader = right is None, DocumentReader(nulls, arrays)
        one = as_schema("left", left)
        schemas: dict[Side, pa.Schema] = {"left": one, "right": one if right is None else as_schema("right", right)}
        self.schemas = schemas
        for side in SIDES:
            for name in (column, *([id] if id is not None else [])):
                if name not in schemas[side].names:
                    raise UnknownColumn.on_side(side, name, schemas[side].names)
        check_window(self.window, schemas["left"], schemas["right"])
        self.window = with_delays(self.window, time_orders(self.window, schemas), one_stream=self.single)
        if self.single:
            self.window = either_way(self.window)
        kinds = tuple(pa.int64() if id is None else schemas[side].field(id).type for side in SIDES)
        times = self._times()
        self.schema = carried(
            result_schema((kinds[0], kinds[1]), times), self.window,
            {} if times is None else {"left_time": "left", "right_time": "right"},
            one_stream=self.single,
        )  # fmt: skip
        spec = natural_spec(self.window, (kinds[0], kinds[1]), f"nulls {nulls}, arrays {arrays}", self.single)
        payload = {side: document_payload(kind) for side, kind in zip(SIDES, kinds, strict=True)}
        self.job = Job(spec, document_scheme(scheme), INDEX, tasks, payload)
        fingerprint = spec.fingerprint()
        self.store: StateStore = MemoryStore(fingerprint) if state is None else opened(state, fingerprint)
        at = batch if batch is not None else next_batch(self.store, spec) if isinstance(state, str) else 0
        before = self.store.manifest(0, at - 1) if at else None
        self.rejected: list[dict[str, Any]] = []
        refused = Refused(rows=self.rejected if collect else None)
        self.refused: Counter[str] = refused.counts
        self.sources = {
            side: DocumentSource(
                side, payload[side], reader, column, id, window_column(self.window, side), refused,
                before.clock["count"][side] if before is not None else 0,
            )
            for side in SIDES
        }  # fmt: skip
        self.run = LocalRun(DocumentJoiner(self.job, TreeCache(time.perf_counter)), self.sources, self.store, at)

    def feed(
        self, left: Tabular | Sequence[Tabular], right: Tabular | Sequence[Tabular] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the result of one batch, chunk by chunk; drain it before the next. One stream takes input on the left only."""
        if self.single and right is not None:
            raise SpecError.of(
                "A natural join of one stream was fed on the right.",
                "It reads one stream.",
                "feed it on the left only.",
            )
        given = zip(SIDES, (left, () if right is None else right), strict=True)
        for found in self.run.feed(*(fed_parts(side, tables, self.schemas[side]) for side, tables in given)):
            yield as_typed(found, self.schema)

    def stream(self, left: Batches, right: Batches | None = None) -> pa.RecordBatchReader:
        """Join streams of record batches, of which each side's next one is a batch; read the result as a stream."""
        streams = zip(SIDES, (left,) if self.single and right is None else (left, right), strict=False)
        return joined_batches(self.feed, self.schema, streams)

    def metrics(self, batch: int | None = None) -> dict[str, Any]:
        """Return the metrics of a finished batch, by default the last: see `document_measures` (004-34)."""
        at = self.run.batch - 1 if batch is None else batch
        return document_measures([self.store.read_metrics(task, at) or {} for task in range(self.job.tasks)])

    def _times(self) -> tuple[pa.DataType, pa.DataType] | None:
        """Return the types of both time columns, None where the window is not one of time."""
        if not isinstance(self.window, (Within, Tumbling)):
            return None
        return self.schemas["left"].field(self.window.left).type, self.schemas["right"].field(self.window.right).type


def natural_join(
    left: Tabular, right: Tabular | None = None, *, column: str = "document", id: str | None = None,  # noqa: A002
    window: Window | None = None, scheme: str | DocumentScheme = "auto", tasks: int = 1, batch: int | None = None,
    nulls: str = "absent", arrays: str = "whole",
) -> pa.Table:  # fmt: skip
    """Join documents that share at least one attribute-value pair and agree on every attribute they have in common.

    Parameters
    ----------
    left, right
        Tables, as in `weft.local.join`, with a column of documents: JSON text, structs or maps. Without `right`, the
        documents of one table join each other; each pair appears once, the earlier document on the left.
    column, id
        The column of documents, and the column that identifies them in the result (by default, their number in the stream).
    window
        `weft.tumbling`, `weft.tumbling_rows`, `weft.within`, `weft.last`; by default the full history.
    scheme, tasks
        "auto", "association" or an object from `weft.schemes`; the number of tasks.
    batch
        How many rows arrive at a time; by default all at once.
    nulls, arrays
        A null is "absent" or a "value"; arrays compare as "whole" values or as "sets".

    Examples
    --------
    >>> import pyarrow as pa
    >>> docs = pa.table({"document": ['{"user": "A", "ip": 1}', '{"user": "A", "file": "x"}', '{"user": "B", "ip": 1}']})
    >>> natural_join(docs).to_pylist()
    [{'left_id': 0, 'right_id': 1, 'shared': ['user'], 'merged': '{"user":"A","ip":1,"file":"x"}'}]
    """
    tables = [as_table("left", left), *([] if right is None else [as_table("right", right)])]
    made = NaturalJoin(
        *(table.schema for table in tables), column=column, id=id, window=window, scheme=scheme, tasks=tasks, nulls=nulls,
        arrays=arrays,
    )  # fmt: skip
    return feed_whole(made.feed, made.schema, batch, *tables)
