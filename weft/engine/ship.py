"""Blocks as bytes: what travels from a map partition to a task.

A shipment is an Arrow IPC stream; side, partition, piece and header stand in its metadata. Shipments are sorted by
(side, partition, piece) before use, so the order in which they were fetched never shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from weft.engine.clock import Header
from weft.engine.route import Delivery
from weft.state.columns import Derived, note_of, one_chunk, read_words, written_words
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
    packed: int = 0
    """Bytes it had on its way; 0 where it was handed over in memory."""
    pinned: str = ""
    """Of a header, the mark of what its partition was routed by; "" where route and join cannot differ."""

    @property
    def size(self) -> int:
        """Return the bytes routed: those of the message, or of its arrays if it never was one."""
        if self.packed or self.delivery is None:
            return self.packed
        block = self.delivery.block
        return int(block.words.nbytes + block.u.nbytes + self.delivery.role.nbytes + block.payload.nbytes)


def pack_delivery(
    sink: pa.NativeFile, delivery: Delivery, partition: int, piece: int, derived: Derived | None = None
) -> None:
    """Append a delivery to a byte sink; words that follow from the payload stay behind."""
    block, derived = delivery.block, derived or {}
    arrays, names = written_words(block.words, derived)
    arrays += [pa.array(block.u), pa.array(delivery.role)]
    names += ["_u", "_role"]
    fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    payload = [one_chunk(column) for column in block.payload.columns]
    note = {
        "side": delivery.side, "partition": partition, "piece": piece, "task": delivery.task, "words": note_of(derived),
    }  # fmt: skip
    schema = pa.schema([*fields, *block.payload.schema], {_KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([*arrays, *payload], schema=schema))


def pack_header(sink: pa.NativeFile, side: Side, header: Header, pinned: str = "") -> None:
    """Append a header to a byte sink; `pinned` marks what its partition was routed by."""
    note = {"side": side, "partition": header.partition, "piece": -1, "rows": header.rows, "newest": header.newest,
            "refused": header.refused, "late": header.late, "behind": header.behind, "content": header.content,
            "pinned": pinned}  # fmt: skip
    schema = pa.schema([pa.field("order", pa.int64())], {_KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array(header.order)], schema=schema))


def unpack(data: pa.Buffer) -> Shipment:
    """Read one message; arrays stay views of `data`."""
    with pa.ipc.open_stream(data) as reader:
        note = json.loads(reader.schema.metadata[_KEY])
        table = reader.read_all()
    side, partition, piece = note["side"], note["partition"], note["piece"]
    columns = [one_chunk(column) for column in table.columns]
    if piece < 0:
        facts = (note[name] for name in ("refused", "late", "behind", "content"))
        header = Header(partition, note["rows"], note["newest"], columns[0].to_numpy(), *facts)
        return Shipment(side, partition, piece, header=header, packed=data.size, pinned=note["pinned"])
    first = table.column_names.index("_u")
    words = read_words(table.column_names[:first], columns, columns[first + 2 :], note["words"], table.num_rows)
    payload = table.select(range(first + 2, table.num_columns)).replace_schema_metadata(None)
    block = Block(words, columns[first].to_numpy(), payload)
    delivery = Delivery(note["task"], side, block, columns[first + 1].to_numpy())
    return Shipment(side, partition, piece, delivery=delivery, packed=data.size)
