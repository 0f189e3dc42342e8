"""Blocks as bytes: how a map partition packs what it sends to a task. `arrivals` is the other end.

A message is an Arrow IPC stream; side, partition, piece and header stand in its metadata, under `KEY`.
"""

from __future__ import annotations

import json

import pyarrow as pa

from weft.engine.clock import Header
from weft.engine.route import Delivery
from weft.state import Derived, derived_note, one_chunk, written_words
from weft.types import Side

__all__ = ["KEY", "pack_delivery", "pack_header"]

KEY = b"weft"


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
        "side": delivery.side, "partition": partition, "piece": piece, "task": delivery.task, "words": derived_note(derived),
    }  # fmt: skip
    schema = pa.schema([*fields, *block.payload.schema], {KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([*arrays, *payload], schema=schema))


def pack_header(sink: pa.NativeFile, side: Side, header: Header, pinned: str = "") -> None:
    """Append a header to a byte sink; `pinned` marks what its partition was routed by."""
    note = {"side": side, "partition": header.partition, "piece": -1, "rows": header.rows, "newest": header.newest,
            "refused": header.refused, "late": header.late, "behind": header.behind, "content": header.content,
            "identity": header.identity, "pinned": pinned}  # fmt: skip
    schema = pa.schema([pa.field("order", pa.int64())], {KEY: json.dumps(note).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array(header.order)], schema=schema))
