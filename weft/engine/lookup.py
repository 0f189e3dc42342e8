"""Look-up: rows of a stream against a table that stays, a pure function of both. No state, no window, no shuffle.

A row of the stream is in one task and meets the whole table there, so it is known at once whether it has a partner: rows of an
outer, semi or anti join leave with their batch. They leave in the order of the stream, where the pairs of one piece fit into
memory; a row that meets many rows of the table meets them in the order of the index.

The table is one run in index order, so that a mapped file of it (`weft.state.tables`) is the index itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from weft.engine.pairs import Pairs, cuts, row_bytes
from weft.engine.preserve import Accept
from weft.engine.route import Inputs
from weft.engine.step import CHUNK
from weft.index import Layout, Matches, Probe, Run, RunPeaks
from weft.kernels import mix_words, words_of
from weft.kernels.peaks import in_probe_order
from weft.kernels.sort import order_of
from weft.spec import JoinSpec
from weft.types import Block, Bools, Rows, Side, Words, columns_at, other

__all__ = ["Found", "Lookup", "TableLookup", "pairs_of", "words_of_rows"]

KEPT = 1 << 20
"""Pairs of one piece that are put in the stream's order together."""

NOTHING = -1
"""The number of the table's row beside a row of the stream that has no partner."""


@dataclass(frozen=True)
class Found:
    """Row numbers of the stream's piece beside those of the table, or `NOTHING`."""

    asking: Rows
    stored: Rows


class TableLookup(Protocol):
    """How rows of a stream, the `asking` side, find rows of a table, the `stored` one; `payload` has what leaves of both."""

    @property
    def spec(self) -> JoinSpec: ...
    @property
    def asking(self) -> Side: ...
    @property
    def stored(self) -> Side: ...
    @property
    def payload(self) -> dict[Side, pa.Schema]: ...

    def run_of(self, inputs: Inputs, table: pa.Table) -> Run:
        """Return the table as one run, as it is to be stored."""

    def index(self, run: Run) -> Any:
        """Return a stored table ready to be asked."""

    def pairs(self, index: Any, run: Run, inputs: Inputs, rows: pa.Table) -> Iterator[Pairs]:
        """Yield what leaves for some rows of the stream."""


@dataclass(frozen=True)
class Lookup:
    """What joins a stream (the `asking` side) with a table.

    `payload` has the columns of both sides as they leave; `accept` decides what words cannot, where that has to be known
    before rows leave (`weft.engine.preserve`).
    """

    spec: JoinSpec
    asking: Side
    payload: dict[Side, pa.Schema]
    accept: Accept | None = None

    @property
    def stored(self) -> Side:
        """Return the side of the table."""
        return other(self.asking)

    def run_of(self, inputs: Inputs, table: pa.Table) -> Run:
        """Return the table as one run whose rows lie in index order; rows that can match nothing are left out."""
        words, alive = words_of_rows(self.spec, self.stored, inputs, table)
        layout = Layout.of(self.spec.access_of(self.asking))
        rows = np.flatnonzero(alive)
        if layout.columns and len(rows):
            rows = rows[order_of([words[column][rows] for column in layout.columns])]
        payload = table.select(range(inputs.payload))
        whole = len(rows) == table.num_rows and bool((rows == np.arange(len(rows))).all())
        block = Block(words, np.zeros(table.num_rows, np.uint32), payload)
        block = block if whole else block.take(rows)
        made = RunPeaks(layout, None)
        made.insert(block)
        return made.snapshot()[0] if len(block) else Run.of(block, np.empty(0, np.int32))

    def index(self, run: Run) -> RunPeaks:
        """Return the table ready to be asked; what speeds up a probe is made when it is first needed, and stays."""
        return RunPeaks.over(run, Layout.of(self.spec.access_of(self.asking)))

    def pairs(self, index: RunPeaks, run: Run, inputs: Inputs, rows: pa.Table) -> Iterator[Pairs]:
        """Yield what leaves for some rows of the stream."""
        payload = rows.select(range(inputs.payload))
        for found in self._found(index, run, inputs, rows):
            yield from pairs_of(payload, run.payload, found, self.asking, bare=not self.spec.kind.pairs)

    def _found(self, index: RunPeaks, run: Run, inputs: Inputs, rows: pa.Table) -> Iterator[Found]:
        kind, count = self.spec.kind, rows.num_rows
        words, alive = words_of_rows(self.spec, self.asking, inputs, rows)
        able = None if bool(alive.all()) else np.flatnonzero(alive).astype(np.int32)
        words = words if able is None else columns_at(words, able)
        block = Block(words, np.zeros(count if able is None else len(able), np.uint32), pa.table({}))
        probe = Probe(block, self.spec.access_of(self.asking), self.spec.terms_of(self.asking))
        met = np.zeros(count, np.bool_)
        if not kind.pairs and self.accept is None:
            met[slice(None) if able is None else able] = index.met(probe)
            yield _alone(met != kind.unmatched)
            return
        kept: list[tuple[Rows, Rows]] = []
        size, overflowed = 0, False
        for match in self.matches(index, probe):
            asking = match.probe if able is None else able[match.probe]
            for one, two in self._accepted(rows, run, asking, match.stored, met):
                met[one] = True
                if kind.pairs:
                    kept.append((one, two))
                    size += len(one)
            if size >= KEPT:
                yield _in_order(kept, count)
                kept, size, overflowed = [], 0, True
        if not kind.pairs:
            yield _alone(met != kind.unmatched)
            return
        if kind.unmatched and not overflowed:
            kept.append(_without(met))
        if kept:
            yield _in_order(kept, count)
        if kind.unmatched and overflowed:
            yield Found(*_without(met))

    def matches(self, index: RunPeaks, probe: Probe) -> Iterator[Matches]:
        """Yield the candidates of a probe. A join that takes only some of them, such as the latest, takes them here."""
        return index.probe(probe, CHUNK)

    def _accepted(
        self, rows: pa.Table, run: Run, asking: Rows, stored: Rows, met: Bools
    ) -> Iterator[tuple[Rows, Rows]]:  # fmt: skip
        """Yield the candidates that also meet what words cannot decide, in pieces that memory has room for."""
        if self.accept is None:
            yield asking, stored
            return
        if not self.spec.kind.pairs:  # one partner is enough
            open_ = ~met[asking]
            asking, stored = asking[open_], stored[open_]
        ours = rows.select(range(len(self.payload[self.asking])))
        sizes = row_bytes(ours, asking) + row_bytes(run.payload, stored)
        for low, high in cuts(sizes, len(asking)):
            one, two = asking[low:high], stored[low:high]
            sides = ((ours, one), (run.payload, two)) if self.asking == "left" else ((run.payload, two), (ours, one))
            holds = self.accept(*sides[0], *sides[1])
            yield one[holds], two[holds]


def pairs_of(here: pa.Table, there: pa.Table, found: Found, asking: Side, *, bare: bool = False) -> Iterator[Pairs]:
    """Take the payload of the rows that leave, `bare`: of the stream alone; rows that all leave once are not copied."""
    sizes = row_bytes(here, found.asking)
    if not bare and there.num_rows:
        sizes = sizes + row_bytes(there, np.maximum(found.stored, 0))
    for low, high in cuts(sizes, len(found.asking)):
        ours = taken(here, found.asking[low:high])
        theirs = pa.table({}) if bare else beside(there, found.stored[low:high])
        yield Pairs(ours, theirs) if asking == "left" else Pairs(theirs, ours)


def _alone(leaves: Bools) -> Found:
    rows = np.flatnonzero(leaves)
    return Found(rows, np.empty(0, np.int32))


def _without(met: Bools) -> tuple[Rows, Rows]:
    """Return the rows without a partner, beside nothing."""
    rows = np.flatnonzero(~met).astype(np.int32)
    return rows, np.full(len(rows), NOTHING, np.int32)


def _in_order(kept: list[tuple[Rows, Rows]], rows: int) -> Found:
    asking, stored = (np.concatenate([pair[side] for pair in kept]) for side in (0, 1))
    return Found(*in_probe_order(asking, stored, rows))


def taken(table: pa.Table, rows: Rows) -> pa.Table:
    """Return the named rows, which ascend; a stretch of them is not copied."""
    if not len(rows):
        return table.slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and bool((rows[1:] > rows[:-1]).all()):
        return table.slice(first, len(rows))
    return table.take(pa.array(rows))


def beside(table: pa.Table, rows: Rows) -> pa.Table:
    """Return the named rows, and NULLs where there is none."""
    missing = rows == NOTHING
    if not missing.any():
        return table.take(pa.array(rows))
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    if not table.num_rows:
        return pa.table([pa.nulls(len(rows), field.type) for field in schema], schema=schema)
    numbers = pa.array(rows, mask=missing)
    return pa.table([column.take(numbers) for column in table.columns], schema=schema)


def words_of_rows(spec: JoinSpec, side: Side, inputs: Inputs, table: pa.Table) -> tuple[Words, Bools]:
    """Return the words of rows, and which rows can match at all: no key that is compared is NULL, and its own condition holds."""
    part, used = spec.side(side), spec.used(side)
    words = np.empty((part.columns, table.num_rows), np.int64)
    alive = np.ones(table.num_rows, np.bool_)
    for number, (key, column) in enumerate(zip(part.keys, inputs.keys, strict=True)):
        words[number], valid = words_of(table.column(column), key.encode)
        if valid is not None and number in used:
            alive &= valid
    if part.mix is not None:
        words[part.mix] = mix_words([words[column] for column in part.equal])
    if inputs.keep is not None:
        keep = table.column(inputs.keep).fill_null(False).combine_chunks()
        alive &= np.asarray(keep.to_numpy(zero_copy_only=False), np.bool_)
    return words, alive
