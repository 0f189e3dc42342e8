"""Blocks as bytes: what travels from a map partition to a task.

A shipment is an Arrow IPC stream; side, partition, piece and header stand in its metadata. Shipments are sorted by
(side, partition, piece) before use, so the order in which they were fetched never shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.clock import Header
from weft.engine.route import Delivery
from weft.types import Block, Side

__all__ = ["Shipment", "pack_delivery", "pack_header", "unpack"]

_KEY = b"weft"


@dataclass(frozen=True)
class Shipment:
    """One unpacked message: a header, or a delivery of one map partition."""

    side: Side
    partition: int
    piece: int
    header: Header | None = None
    delivery: Delivery | None = None


def pack_delivery(sink: pa.BufferOutputStream, delivery: Delivery, partition: int, piece: int) -> None:
    """Append a delivery to a byte sink."""
    block = delivery.block
    arrays = [pa.array(column) for column in block.words] + [pa.array(block.u), pa.array(delivery.role)]
    names = [f"_w{number}" for number in range(len(block.words))] + ["_u", "_role"]
    fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    payload = [_chunk(column) for column in block.payload.columns]
    note = {"side": delivery.side, "partition": partition, "piece": piece, "task": delivery.task}
    schema = pa.schema([*fields, *block.payload.schema], {_KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([*arrays, *payload], schema=schema))


def pack_header(sink: pa.BufferOutputStream, side: Side, header: Header) -> None:
    """Append a header to a byte sink."""
    note = {"side": side, "partition": header.partition, "piece": -1, "rows": header.rows, "newest": header.newest}
    schema = pa.schema([pa.field("order", pa.int64())], {_KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array(header.order)], schema=schema))


def unpack(data: pa.Buffer) -> Shipment:
    """Read one message; arrays stay views of `data`."""
    with pa.ipc.open_stream(data) as reader:
        note = json.loads(reader.schema.metadata[_KEY])
        table = reader.read_all()
    side, partition, piece = note["side"], note["partition"], note["piece"]
    columns = [_chunk(column) for column in table.columns]
    if piece < 0:
        header = Header(partition, note["rows"], note["newest"], columns[0].to_numpy())
        return Shipment(side, partition, piece, header=header)
    words = sum(name.startswith("_w") for name in table.column_names)
    stacked = np.stack([c.to_numpy() for c in columns[:words]]) if words else np.zeros((0, table.num_rows), np.int64)
    payload = table.select(range(words + 2, table.num_columns)).replace_schema_metadata(None)
    block = Block(stacked, columns[words].to_numpy(), payload)
    delivery = Delivery(note["task"], side, block, columns[words + 1].to_numpy())
    return Shipment(side, partition, piece, delivery=delivery)


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
