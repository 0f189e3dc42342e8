"""What reached one task in one batch: messages unpacked and put in order, so that the order of their arrival never shows.

Shipments are sorted by (side, partition, piece) before use, whoever was fetched first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.engine.clock import Header, number_rows
from weft.engine.route import Delivery
from weft.engine.row_ids import ranked
from weft.engine.ship import KEY
from weft.spec import JoinSpec
from weft.state import Clock, one_chunk, read_words
from weft.types import SIDES, Block, Side

__all__ = ["Arrivals", "Shipment", "collect_arrivals", "unpack"]


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


def unpack(data: pa.Buffer) -> Shipment:
    """Read one message; arrays stay views of `data`."""
    with pa.ipc.open_stream(data) as reader:
        note = json.loads(reader.schema.metadata[KEY])
        table = reader.read_all()
    side, partition, piece = note["side"], note["partition"], note["piece"]
    columns = [one_chunk(column) for column in table.columns]
    if piece < 0:
        facts = (note[name] for name in ("refused", "late", "behind", "content", "identity"))
        header = Header(partition, note["rows"], note["newest"], columns[0].to_numpy(), *facts)
        return Shipment(side, partition, piece, header=header, packed=data.size, pinned=note["pinned"])
    first = table.column_names.index("_u")
    words = read_words(table.column_names[:first], columns, columns[first + 2 :], note["words"], table.num_rows)
    payload = table.select(range(first + 2, table.num_columns)).replace_schema_metadata(None)
    block = Block(words, columns[first].to_numpy(), payload)
    delivery = Delivery(note["task"], side, block, columns[first + 1].to_numpy())
    return Shipment(side, partition, piece, delivery=delivery, packed=data.size)


@dataclass(frozen=True)
class Arrivals:
    """What reached one task in one batch: rows of both sides with their roles, and the headers of all partitions."""

    blocks: dict[Side, Block]
    roles: dict[Side, np.ndarray[tuple[int], np.dtype[np.uint8]]]
    headers: dict[Side, list[Header]]


def collect_arrivals(
    spec: JoinSpec, payload: dict[Side, pa.Schema], shipments: Iterable[Shipment], clock: Clock
) -> Arrivals:
    """Put shipments in order, number the rows where the window counts, and make one block per side."""
    ordered = sorted(shipments, key=lambda s: (s.side, s.partition, s.piece))
    headers = {side: [s.header for s in ordered if s.side == side and s.header is not None] for side in SIDES}
    blocks: dict[Side, Block] = {}
    roles = {}
    for side in SIDES:
        parts = [(s.partition, s.delivery) for s in ordered if s.side == side and s.delivery is not None]
        ranks = _ranks(headers[side])
        named = [(where, _ranked(_named(d.block, payload[side]), ranks.get(where))) for where, d in parts]
        numbered = [number_rows(spec, side, where, block, clock, headers) for where, block in named]
        columns = spec.side(side).columns
        empty = Block(np.zeros((columns, 0), np.int64), np.zeros(0, np.uint32), payload[side].empty_table())
        blocks[side] = Block.concat(numbered) if numbered else empty
        roles[side] = np.concatenate([d.role for _, d in parts]) if parts else np.zeros(0, np.uint8)
    return Arrivals(blocks, roles, headers)


def _ranks(headers: list[Header]) -> dict[int, int]:
    """Return the number of every partition in the keys of its rows; none where there are no keys."""
    told = sorted((header.identity, header.partition) for header in headers if header.identity)
    return {partition: rank for rank, (_, partition) in enumerate(told)}


def _ranked(block: Block, rank: int | None) -> Block:
    return block if rank is None else replace(block, payload=ranked(block.payload, rank))


def _named(block: Block, payload: pa.Schema) -> Block:
    """Give the payload the names and nullability it has in segments, whatever it was called on its way."""
    if not payload.names or block.payload.schema == payload:
        return block
    return Block(block.words, block.u, pa.Table.from_arrays(block.payload.columns, schema=payload))
