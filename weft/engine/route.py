"""Route: rows of one side and one map partition, cut into one block per task.

Runs where the rows are read. Keys become words, every row draws its `u`, rows behind the watermark stay behind, the plan
says who keeps the others and who is asked; then whole blocks travel, because moving single rows is what costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from weft.engine.clock import Header, watermark
from weft.engine.row_ids import digest_of, numbered
from weft.errors import WeftError
from weft.kernels import draws, mix_words, order_of, words_of
from weft.routing import draw_of
from weft.spec import JoinSpec, Key, SideSpec, Tumbling
from weft.state import Pinned
from weft.types import U32, WORD_MIN, Block, Bools, Rows, Side, Words

__all__ = ["HOME", "LEAVE", "PROBE", "STORE", "WAIT", "Delivery", "Inputs", "Intake", "Roles", "Router"]

STORE, PROBE, HOME = 1, 2, 4
"""What a task does with a row: keep it, look up its partners, count it (each row is counted by exactly one task)."""

WAIT, LEAVE = 8, 16
"""What a task does with a row of a preserved side that can match nothing: let it leave, unmatched, when its window ends; or,
without a time, at once. Leaving early it would be ahead of all others, and nobody could say by how much."""

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Roles = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
"""What each task does with each row."""


@dataclass(frozen=True)
class Inputs:
    """Where a side's input table has its parts: payload columns first, then keys that are no payload column.

    `keys[i]` is the column of the spec's i-th key; `time` that of the timestamp or order column; `keep` a Boolean column
    of the side's own condition (count windows number the row even where it is false).
    """

    payload: int
    keys: tuple[int, ...]
    time: int | None = None
    keep: int | None = None
    numbered: bool = False
    """Whether the last payload columns are those of the row's identity, to be filled in (`weft.engine.row_ids`)."""

    def derived(self, part: SideSpec) -> dict[int, int]:
        """Return the word columns that follow from a payload column."""
        found = {
            word: column
            for word, (key, column) in enumerate(zip(part.keys, self.keys, strict=True))
            if key.encode == "value" and column < self.payload
        }
        if part.time is not None and self.time is not None and self.time < self.payload:
            found[part.time] = self.time
        return found


class Intake(Protocol):
    """What a runtime reads a stream with: it turns tables as they come into tables as `inputs` describes them."""

    @property
    def inputs(self) -> Inputs: ...

    def prepare(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the table to route, row for row, and how many of its rows could not be read."""


@dataclass(frozen=True)
class Delivery:
    """Rows for one task, with what it is to do with each."""

    task: int
    side: Side
    block: Block
    role: Bytes


class Router:
    """Routes the rows of one side and one map partition of a batch; tables may come in any number of pieces."""

    def __init__(
        self, spec: JoinSpec, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int
    ) -> None:  # fmt: skip
        self.spec, self.side, self.inputs, self.plan = spec, side, inputs, pinned.plan
        self.batch, self.partition = batch, partition
        self.position = 0
        self._mark, self._seen = watermark(spec, pinned.clock), pinned.clock.newest[side]
        self._newest, self._late, self._behind, self._refused = WORD_MIN, 0, 0, 0
        self._content = self._identity = 0
        self._order: Words = np.zeros(0, np.int64)

    def header(self) -> Header:
        """Return what every task must know of this partition, once all rows are routed."""
        return Header(
            self.partition, self.position, self._newest, self._order, self._refused, self._late, self._behind,
            content=f"{self._content & 0xFFFF_FFFF_FFFF_FFFF:016x}",
            identity=f"{self._identity & 0xFFFF_FFFF_FFFF_FFFF:016x}" if self.inputs.numbered else "",
        )  # fmt: skip

    def headers(self) -> dict[Side, Header]:
        """Return the header, by each side whose clock it advances."""
        return {self.side: self.header()}

    def route(self, table: pa.Table, refused: int = 0) -> Iterator[Delivery]:
        """Yield the deliveries of one piece, of which so many rows could not be read.

        With a count window the piece must be the whole partition.
        """
        self._refused += refused
        block, unmatched = self._block(table)
        if not len(block):
            return
        block, role = self._roles(block)
        if self.side in self.spec.kind.preserved:
            self._settle(block, role, unmatched)
        homeless = np.ones(len(block), np.bool_)
        for task in range(self.plan.tasks):  # the first one with anything to do for a row is its home
            here = (role[task] != 0) & homeless
            role[task] |= here.astype(np.uint8) * np.uint8(HOME)
            homeless ^= here
        if homeless.any():
            role[0, homeless] |= HOME
        order = self._order_of(block)
        for task in range(self.plan.tasks):
            rows = np.flatnonzero(role[task]) if order is None else order[role[task][order] != 0]
            if order is None and len(rows) == len(block):
                yield Delivery(task, self.side, block, role[task])
            elif len(rows):
                yield Delivery(task, self.side, block.take(rows), role[task][rows])

    def _settle(self, block: Block, role: Roles, unmatched: Bytes) -> None:
        """Send rows that match nothing to the task they draw, and make sure that each row is on one task alone."""
        alone = np.flatnonzero(unmatched)
        role[:, alone] = 0
        role[draw_of(block.u[alone], self.plan.tasks), alone] = unmatched[alone]
        rest = unmatched == 0
        if not bool(((role == STORE | PROBE).sum(axis=0) == 1)[rest].all() and ((role != 0).sum(axis=0) == 1).all()):
            raise WeftError.of(
                f"The plan {self.plan.title!r} stores rows of the {self.side} side on several tasks.",
                f"how={self.spec.kind.name!r} needs each of them on one task.",
                "please report it; scheme='matrix' works in any case.",
            )

    def _roles(self, block: Block) -> tuple[Block, Roles]:
        """Return the rows as they travel, and who keeps and who looks up each of them."""
        store = self.plan.store(self.side, block.words, block.u)
        probe = self.plan.probe(self.side, block.words, block.u)
        return block, store.astype(np.uint8) * STORE | probe.astype(np.uint8) * PROBE

    def _order_of(self, block: Block) -> Rows | None:
        """Return the rows by the word that partners are looked up by; None where rows count as they came.

        Rows that are alike then lie side by side wherever they are kept, and so do the rows of the pairs that are found
        one after the other: taking them reads memory in order.
        """
        access, side = self.spec.access, 0 if self.side == "left" else 1
        if self.spec.counted or access.until is not None:
            return None
        if access.equal is not None:
            return order_of([block.words[access.equal[side]]])
        if access.within is not None:
            return order_of([block.words[access.within.left if side == 0 else access.within.right]])
        return None

    def _block(self, table: pa.Table) -> tuple[Block, Bytes]:
        """Make words and draws of the rows that can match at all, and of unmatched rows that leave some day (`WAIT`, `LEAVE`).

        The watermark follows every row with a timestamp that its side's own condition lets pass, even one whose key
        is NULL, and such a row can be late. A self join has one stream and one watermark, so there it follows every row,
        whichever role its conditions refuse; so it does where the side is preserved, for which no condition is a filter.
        """
        part, rows = self.spec.side(self.side), table.num_rows
        columns: list[Words] = []
        alive = np.ones(rows, np.bool_)
        keep, used = self._kept(table), self.spec.used(self.side)
        preserved = self.side in self.spec.kind.preserved
        unmatched = np.full(rows, WAIT if preserved and self.spec.kind.unmatched else 0, np.uint8)
        nulls = np.zeros(rows if part.nulls is not None else 0, np.int64)
        for number, (key, column) in enumerate(zip(part.keys, self.inputs.keys, strict=True)):
            words, valid = words_of(table.column(column), key.encode)
            columns.append(words)
            if valid is not None and number in used:
                alive &= valid
            if valid is not None and part.nulls is not None:
                nulls |= (~valid).astype(np.int64) << np.int64(number)
        if part.time is not None:
            assert self.inputs.time is not None
            timed = np.ones(rows, np.bool_) if self.spec.self_join or preserved else keep.copy()
            time = self._words(table, self.inputs.time, Key("time"), timed)
            columns.append(time)
            if timed.any():
                self._newest = max(self._newest, int(time[timed].max()))
            if isinstance(self.spec.window, Tumbling):
                columns.append(time // self.spec.window.size)
            late = self._late_ones(time, timed)
            alive &= timed & ~late
            unmatched[~timed & (unmatched != 0)] = LEAVE
            unmatched[late] = 0
        if part.mix is not None:
            columns.append(mix_words([columns[column] for column in part.equal]))
        alive &= keep
        u = draws(self.batch, self.partition, self.position, rows)
        if part.rid is not None:  # tells the tuples of one batch apart, in their order
            columns.append((np.int64(self.partition) << np.int64(43)) + np.arange(self.position, self.position + rows))
        if part.nulls is not None:
            columns.append(nulls)
        payload = table.select(range(self.inputs.payload))
        if self.inputs.numbered:
            payload = numbered(payload, self.batch, self.position)
            self._identity += digest_of(table, self.position)
        self.position += rows
        if part.seq is None:
            block = Block(_stack(columns, rows), u, payload)
        else:
            block, order = self._ordered(table, columns, u, payload)
            alive, unmatched = alive[order], unmatched[order]
        unmatched[alive] = 0
        stays = alive | (unmatched != 0)
        block, unmatched = block.filter(stays), unmatched[stays]
        # Sums wrap around and do not depend on the order of the rows, but on which row has which draw: a partition that is
        # read again in another order is routed otherwise, and must not pass for the same.
        drawn = block.u.astype(np.int64) | 1
        for number, column in enumerate(block.words):
            self._content += (2 * number + 1) * int(np.dot(column, drawn))
        return block, unmatched

    def _late_ones(self, time: Words, timed: Bools) -> Bools:
        """Tell which of the rows with a timestamp are late, and count them."""
        late: Bools = timed & (time < self._mark)  # no word is less than the least, which stands for no watermark
        if late.any():
            self._late += int(late.sum())
            self._behind = max(self._behind, self._seen - int(time[late].min()))
        return late

    def _kept(self, table: pa.Table) -> Bools:
        """Tell which rows the side's own condition lets pass."""
        if self.inputs.keep is None:
            return np.ones(table.num_rows, np.bool_)
        keep = table.column(self.inputs.keep).fill_null(False).combine_chunks()
        return np.array(keep.to_numpy(zero_copy_only=False), np.bool_)

    def _ordered(self, table: pa.Table, columns: list[Words], u: U32, payload: pa.Table) -> tuple[Block, Rows]:
        """Bring the partition into the window's order; `seq` and `opp` carry order word and position to the task."""
        rows = table.num_rows
        position = np.arange(rows, dtype=np.int64)
        if self.inputs.time is None:
            return Block(_stack([*columns, np.zeros(rows, np.int64), position], rows), u, payload), position
        ordered = np.ones(rows, np.bool_)
        word = self._words(table, self.inputs.time, Key("order"), ordered)
        word = np.where(ordered, word, WORD_MIN)  # NULLs first, as Spark sorts
        order = order_of([word])
        self._order = word[order]
        block = Block(_stack([*columns, word, position], rows), u, payload).take(order)
        block.words[-1] = position
        return block, order

    def _words(self, table: pa.Table, column: int, key: Key, alive: Bools) -> Words:
        words, valid = words_of(table.column(column), key.encode)
        if valid is not None:
            alive &= valid
        return words


def _stack(columns: list[Words], rows: int) -> Words:
    return np.stack(columns) if columns else np.zeros((0, rows), np.int64)
