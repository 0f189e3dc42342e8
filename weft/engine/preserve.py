"""The step of joins that must know which rows have found a partner: outer, semi and anti joins.

Right comes before left, as in every step, and a pair is found by its later tuple. But the flags that pairs set are part of the
state, so pairs are found before it is saved, and leave afterwards. Their row numbers are kept meanwhile; where there are
too many of them they are found twice.

A row of a preserved side is on one task, with everything it can match (`Plan.keeps_whole`). Unmatched rows leave in the batch
after which no other can match them: when their window has ended by the clock behind the batch. By the clock before it, those of
earlier batches had not left yet, so each of them leaves once, and nothing else has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.engine.arrivals import Arrivals
from weft.engine.clock import advance, expired_before
from weft.engine.pairs import Pairs, cuts, row_bytes, told_apart
from weft.engine.route import LEAVE, PROBE, STORE, WAIT
from weft.engine.step import CHUNK, Step, finished, index_of, outliving
from weft.index import Index, Matches, Probe, Run, make_index
from weft.spec import Access, JoinSpec
from weft.state import TaskState
from weft.types import SIDES, WORD_MAX, WORD_MIN, Block, Bools, Rows, Side, other

__all__ = ["Accept", "preserving_step"]

Accept = Callable[[pa.Table, Rows, pa.Table, Rows], Bools]
"""Tells which candidates meet what words cannot decide: rows of the left payload beside rows of the right one."""

KEPT = 1 << 22
"""Pairs whose row numbers are kept until they leave; more of them are found twice."""


class Met(NamedTuple):
    """Matches of one probe. `new`: it looked among the rows of its own batch."""

    side: Side
    block: Block
    match: Matches
    new: bool

    def pairs(self) -> Pairs:
        """Take the payload of both rows of every match."""
        probing, stored = self.block.payload, self.match.run.payload
        here, there = probing.take(pa.array(self.match.probe)), stored.take(pa.array(self.match.stored))
        return Pairs(here, there) if self.side == "left" else Pairs(there, here)

    def pieces(self) -> Iterator[Met]:
        """Yield the matches in pieces that memory has room for."""
        probe, stored = self.match.probe, self.match.stored
        sizes = row_bytes(self.block.payload, probe) + row_bytes(self.match.run.payload, stored)
        for low, high in cuts(sizes, len(self.match)):
            yield self._replace(match=Matches(self.match.run, probe[low:high], stored[low:high]))


class Flags:
    """Which rows of a side have found a partner: rows that were stored before, by their run, and new ones."""

    def __init__(self, runs: Sequence[Run], fresh: int) -> None:
        self.runs = tuple(runs)
        self.fresh = np.zeros(fresh, np.bool_)
        self._known = {id(run) for run in runs}
        self._found: dict[int, Bools] = {}

    def mark(self, run: Run, rows: Rows) -> None:
        """Note that some rows of a run have found a partner."""
        assert id(run) in self._known, "the index answered with a run that is not the state's"
        if id(run) not in self._found:
            self._found[id(run)] = run.matched.copy()
        self._found[id(run)][rows] = True

    def after(self) -> tuple[Run, ...]:
        """Return the runs with all flags."""
        return tuple(run.flagged(self._found[id(run)]) if id(run) in self._found else run for run in self.runs)

    def newly(self) -> Iterator[tuple[Run, Rows]]:
        """Yield the rows of each run that had no partner before."""
        for run in self.runs:
            if id(run) in self._found:
                yield run, np.flatnonzero(self._found[id(run)] & ~run.matched)


def preserving_step(
    spec: JoinSpec, index: str, state: TaskState, arrivals: Arrivals, *, accept: Accept | None = None, last: bool = False,
    chunk: int = CHUNK, task: int = 0,
) -> Step[Pairs]:  # fmt: skip
    """Join one batch; behind the `last` one all windows have ended."""
    kind, parts = spec.kind, {role: _of_role(arrivals, role) for role in (STORE, PROBE, WAIT, LEAVE)}
    clock = advance(state.clock, arrivals.headers)
    before = {side: expired_before(spec, side, state.clock) for side in SIDES}
    until = {side: WORD_MAX if last else expired_before(spec, side, clock) for side in SIDES}
    probes = _Probes(spec, index, state, parts[STORE], parts[PROBE], accept, chunk)
    flags = {side: Flags(state.runs[side], len(parts[STORE][side])) for side in SIDES}
    found: list[Met] | None = [] if kind.pairs else None
    count = 0
    for met in probes.run():
        for side in kind.preserved:
            if side == met.side:
                flags[side].fresh[met.match.probe] = True
            elif met.new:
                flags[side].fresh[met.match.stored] = True
            else:
                flags[side].mark(met.match.run, met.match.stored)
        count += len(met.match)
        if found is not None:
            found = [*found, met] if count <= KEPT else None

    runs: dict[Side, tuple[Run, ...]] = {}
    kept: dict[Side, tuple[Run, ...]] = {}
    waiting: dict[Side, tuple[Run, ...]] = {}
    waited: dict[Side, tuple[Run, ...]] = {}
    for side in SIDES:
        old, fresh = flags[side].after(), parts[STORE][side].flagged(flags[side].fresh)
        if side in kind.preserved and not kind.pairs:
            fresh = fresh.filter(~flags[side].fresh)  # it has left, or never will
        runs[side] = _stored(index_of(spec, index, side, old, state.before[side]), before[side], fresh)
        kept[side] = tuple(outliving(spec, side, runs[side], old, until[side]))
        holder = make_index("scan", Access(), spec.expiry(side), kept=True)
        holder.restore(state.waiting[side], state.before[side])
        waited[side] = _stored(holder, before[side], parts[WAIT][side])
        waiting[side] = tuple(outliving(spec, side, waited[side], state.waiting[side], until[side]))
    after = replace(state, runs=kept, waiting=waiting, before=before, clock=clock)

    def rows() -> Iterator[Pairs]:
        if kind.pairs:
            for met in probes.run() if found is None else found:
                yield from (piece.pairs() for piece in met.pieces())
        elif not kind.unmatched:
            yield from _alone(arrivals, "left", parts[STORE]["left"], np.flatnonzero(flags["left"].fresh), kind.pairs)
            for run, newly in flags["left"].newly():
                yield from _alone(arrivals, "left", run.block, newly, kind.pairs)
        for side in kind.preserved if kind.unmatched else ():
            fresh = parts[STORE][side].flagged(flags[side].fresh)
            ended = _ended(spec, side, (*runs[side], *waited[side]), before[side], until[side])
            over = _over_on_arrival(spec, side, (fresh, parts[WAIT][side]), before[side])
            at_once = [(parts[LEAVE][side], np.arange(len(parts[LEAVE][side])))]
            for block, numbers in (*ended, *over, *at_once):
                yield from _alone(arrivals, side, block, numbers, kind.pairs)

    return finished(spec, state, after, arrivals, parts[STORE], parts[PROBE], rows, task)


def _of_role(arrivals: Arrivals, role: int) -> dict[Side, Block]:
    return {side: arrivals.blocks[side].filter((arrivals.roles[side] & role) != 0) for side in SIDES}


@dataclass(frozen=True)
class _Probes:
    """The probes of one batch: what is new on the right among old left rows, what is new on the left among all right ones."""

    spec: JoinSpec
    index: str
    state: TaskState
    fresh: dict[Side, Block]
    asking: dict[Side, Block]
    accept: Accept | None
    chunk: int

    def run(self) -> Iterator[Met]:
        """Yield the matches."""
        spec, state = self.spec, self.state
        old = {side: index_of(spec, self.index, side, state.runs[side], state.before[side]) for side in SIDES}
        # One run with the rows as they arrived, so that a row number is that of a flag: other indexes may split them.
        new = index_of(spec, "runs" if spec.access != Access() else "scan", "right", (), WORD_MIN)
        new.insert(self.fresh["right"])
        yield from self._met("right", old["left"], new=False)
        yield from self._met("left", old["right"], new=False)
        yield from self._met("left", new, new=True)

    def _met(self, side: Side, index: Index, *, new: bool) -> Iterator[Met]:
        block, spec = self.asking[side], self.spec
        if not len(block):
            return
        terms = told_apart(spec) if spec.self_join and new else spec.terms_of(side)
        for match in index.probe(Probe(block, spec.access_of(side), terms), self.chunk):
            if len(match):
                yield from self._accepted(Met(side, block, match, new))

    def _accepted(self, met: Met) -> Iterator[Met]:
        if self.accept is None:
            yield met
            return
        for piece in met.pieces():
            probing, stored = (met.block.payload, piece.match.probe), (met.match.run.payload, piece.match.stored)
            left, right = (probing, stored) if met.side == "left" else (stored, probing)
            holds = self.accept(*left, *right)
            if holds.any():
                match = Matches(met.match.run, piece.match.probe[holds], piece.match.stored[holds])
                yield met._replace(match=match)


def _stored(holder: Index, before: int, block: Block) -> tuple[Run, ...]:
    holder.expire(before)
    if len(block):
        holder.insert(block)
    return tuple(holder.snapshot())


def _ended(
    spec: JoinSpec, side: Side, runs: Sequence[Run], before: int, until: int
) -> Iterator[tuple[Block, Rows]]:  # fmt: skip
    """Yield the rows without a partner whose windows ended with this batch."""
    column = spec.expiry(side)
    for part in (part for run in runs for part in run.parts):
        ends = np.ones(len(part), np.bool_)
        if column is None:
            ends &= until == WORD_MAX
        else:
            low, high = part.limits[column]
            if high < before or low >= until:
                continue
            ends = (part.words[column] >= before) & ((part.words[column] < until) | (until == WORD_MAX))
        if part.matched is not None:
            ends &= ~part.matched
        yield part, np.flatnonzero(ends)


def _over_on_arrival(
    spec: JoinSpec, side: Side, blocks: Sequence[Block], before: int
) -> Iterator[tuple[Block, Rows]]:  # fmt: skip
    """Yield new rows without a partner whose windows had ended before they came: groups of rows that the other side has left."""
    column = spec.expiry(side)
    for block in blocks if column is not None else ():
        alone = block.words[column] < before
        if block.matched is not None:
            alone &= ~block.matched
        yield block, np.flatnonzero(alone)


def _alone(arrivals: Arrivals, side: Side, block: Block, rows: Rows, pairs: bool) -> Iterator[Pairs]:
    """Yield rows of one side; where pairs leave too, beside NULLs."""
    schema = arrivals.blocks[other(side)].payload.schema
    for low, high in cuts(row_bytes(block.payload, rows), len(rows), CHUNK):
        here = block.payload.take(pa.array(rows[low:high]))
        nothing = [pa.nulls(high - low, field.type) for field in schema] if pairs else []
        there = pa.table(nothing, schema=pa.schema([f.with_nullable(True) for f in schema] if pairs else []))
        yield Pairs(here, there) if side == "left" else Pairs(there, here)
