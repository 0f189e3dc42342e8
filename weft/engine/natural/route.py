"""Route documents: their tasks follow from their pairs, and travel with them as bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.documents import COLUMNS, Coded, DocumentReader, Read
from weft.engine.arrivals import Shipment
from weft.engine.clock import Header
from weft.engine.route import PROBE, STORE, Delivery, Inputs, Roles, Router
from weft.errors import SpecError
from weft.routing.documents import DocumentPlan, tasks_of
from weft.spec import Condition, JoinSpec, Window, Within, build_spec
from weft.types import SIDES, Block, Bools, Side, Words

__all__ = [
    "DocumentRouter", "code_documents", "document_inputs", "document_payload", "either_way", "light", "natural_spec",
    "reported_here", "whole", "with_tasks",
]  # fmt: skip


def either_way(window: Window) -> Window:
    """Return the window of a single stream, whose pairs may be read from either document: it looks as far both ways."""
    if not isinstance(window, Within):
        return window
    span = max(window.before, window.after)
    return replace(window, before=span, after=span)


def natural_spec(window: Window, ids: tuple[pa.DataType, pa.DataType], reading: str, single: bool) -> JoinSpec:
    """Return what joins: documents that share a pair and agree, within a window; `reading` says how they are read."""
    shown = [f"id {kind}, documents {reading}, words 2" for kind in ids]  # another hash of names is another state
    condition = Condition("natural join of documents", ())
    return build_spec(
        condition, window, left_schema=shown[0], right_schema=shown[1], self_join=single, unordered=single
    )


def document_payload(id_type: pa.DataType) -> pa.Schema:
    """Return the columns that travel and are kept: the id and the coded document."""
    return pa.schema([pa.field("id", id_type), *COLUMNS])


def document_inputs(timed: bool) -> Inputs:
    """Return where a routed table has its parts: payload first, then the time or order column."""
    columns = 1 + len(COLUMNS)
    return Inputs(columns, (), columns if timed else None)


def code_documents(reader: DocumentReader, payload: pa.Schema, table: pa.Table) -> tuple[pa.Table, Read]:
    """Read a table of ids, documents and, where the window has a column, times; return it as `document_inputs` says."""
    read = reader.read(table.column(1))
    columns = [table.column(0).cast(payload.field(0).type), *read.coded.to_table().columns, *table.columns[2:]]
    return pa.table(columns, names=[*payload.names, *table.column_names[2:]]), read


class DocumentRouter(Router):
    """Routes documents of one side and one map partition; a document is kept and looked up wherever it goes."""

    def headers(self) -> dict[Side, Header]:
        """Return the header; a single stream is routed once, and has one clock: both sides of it advance."""
        return dict.fromkeys(SIDES if self.spec.self_join else (self.side,), self.header())

    def _roles(self, block: Block) -> tuple[Block, Roles]:
        if not isinstance(self.plan, DocumentPlan):
            raise SpecError.of(
                "This plan does not route documents.", f"It is {self.plan.scheme}.", "use a document scheme."
            )
        self._read(block)
        block = with_tasks(block, self.plan)
        sent = tasks_of(block.words[-self.plan.width :], self.plan.tasks)
        return block, sent.astype(np.uint8) * (STORE | PROBE)

    def _order_of(self, block: Block) -> None:
        """Keep documents as they came: of a single stream, the earlier one is the left one."""

    def _read(self, block: Block) -> None:
        """Add the documents to what the history says of the input: without a window they have no other words."""
        coded = Coded.of_table(block.payload)
        drawn = np.repeat(block.u.astype(np.int64) | 1, np.diff(coded.offsets))
        self._content += int(np.dot(coded.pairs, drawn))


def with_tasks(block: Block, plan: DocumentPlan, old: int = 0) -> Block:
    """Append each document's tasks to its words, in place of the last `old` words."""
    coded = Coded.of_table(block.payload)
    bits, _ = plan.route(coded.offsets, plan.meant(coded.attrs, coded.ends, coded.text), coded.pairs)
    words = block.words[: len(block.words) - old]
    return Block(np.vstack([words, bits]), block.u, block.payload)


def light(delivery: Delivery) -> Delivery:
    """Return a delivery without the words of its pairs: they follow from the text, and are nearly half of what travels."""
    block = delivery.block
    return replace(delivery, block=replace(block, payload=block.payload.select(["id", "members"])))


def whole(shipment: Shipment) -> Shipment:
    """Give a light delivery its words again."""
    if shipment.delivery is None:
        return shipment
    block = shipment.delivery.block
    made = Coded.of_members(block.payload.column(1).combine_chunks()).to_table()
    payload = pa.table([block.payload.column(0), *made.columns], names=["id", *made.column_names])
    return replace(shipment, delivery=replace(shipment.delivery, block=replace(block, payload=payload)))


def reported_here(task: int, one: Words, two: Words) -> Bools:
    """Tell which pairs this task reports: those of which it is the least common task."""
    common = one & two
    word, bit = divmod(task, 64)
    lowest = common[word] & -common[word]
    mine = lowest.view(np.uint64) == np.uint64(1) << np.uint64(bit)
    return np.asarray(mine & (common[:word] == 0).all(axis=0))
