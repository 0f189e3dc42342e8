"""The step of an as-of join: left rows leave with their right row in the batch after which no nearer one can come.

What is searched is a pure function of the rows that are held and those that came, so what leaves is known before the state is
saved. Right rows that no left row may have any longer are let go: a left row that is still to come is at the watermark or
later, and those that wait are known. What a run has lost is a bit per row in the manifest, so its file is not written again; it
is when a quarter of it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.engine.arrivals import Arrivals
from weft.engine.asof.candidates import I32, Gaps
from weft.engine.asof.search import Search
from weft.engine.clock import advance, late_rows, watermark
from weft.engine.pairs import Pairs, cuts, row_bytes
from weft.engine.preserve import Accept
from weft.engine.route import LEAVE, STORE, WAIT
from weft.engine.step import CHUNK, Step, arrived_rows
from weft.index import Run
from weft.routing import BatchView, TaskStats
from weft.spec import JoinSpec
from weft.spec.asof import Asof
from weft.state import TaskState
from weft.types import SIDES, U32, WORD_MAX, WORD_MIN, Block, Bools, Rows, Side, Words

__all__ = ["Held", "asof_step", "beside", "live_rows", "run_whole"]

_RUNS = 8
"""More runs than that are made one."""


def run_whole(block: Block) -> Run:
    """Return rows as a run, in their order."""
    whole = replace(block, payload=block.payload.combine_chunks(), matched=None)
    return Run.of(whole, np.arange(len(block), dtype=np.int32), WORD_MIN)


def live_rows(run: Run) -> Block:
    """Return the rows of a run that are not done with."""
    done = run.matched
    return replace(run.block.filter(~done) if done.any() else run.block, matched=None)


@dataclass(frozen=True)
class Held:
    """Runs of before the batch, and the rows that came with it."""

    runs: tuple[Run, ...]
    fresh: Block

    @cached_property
    def live(self) -> tuple[Block, ...]:
        """Return the rows that are not done with, run by run; the new ones come last."""
        return (*(live_rows(run) for run in self.runs), self.fresh)

    @cached_property
    def block(self) -> Block:
        """Return them as one block."""
        whole = Block.concat([block for block in self.live if len(block)] or [self.fresh])
        return replace(whole, payload=whole.payload.combine_chunks())

    def after(self, done: Bools, *, flagged: bool = True) -> tuple[Run, ...]:
        """Return the runs without the rows of `block` that are done with now; not `flagged`, such rows are gone at once."""
        kept, start = list[Run](), 0
        for run, live in zip((*self.runs, None), self.live, strict=True):
            gone = done[start : start + len(live)]
            start += len(live)
            if gone.all():
                continue
            if run is not None and not gone.any():
                kept.append(run)
            elif run is None or not flagged or 4 * (len(live) - int(gone.sum())) < 3 * run.rows:
                kept.append(run_whole(live.filter(~gone)))
            else:
                flags = run.matched.copy()
                flags[np.flatnonzero(~flags)[gone]] = True
                kept.append(run.flagged(flags))
        if len(kept) > _RUNS:
            return (run_whole(Block.concat([live_rows(run) for run in kept])),)
        return tuple(kept)


class Answers(NamedTuple):
    """Left rows that leave, and their right rows (-1: none)."""

    block: Block
    rows: Rows
    found: I32


def asof_step(
    spec: JoinSpec, task: int, state: TaskState, arrivals: Arrivals, accept: Accept | None = None, *, last: bool = False
) -> Step[Pairs]:  # fmt: skip
    """Join one batch; behind the `last` one nothing follows, and every left row leaves."""
    asof = spec.asof
    assert asof is not None
    clock = advance(state.clock, arrivals.headers)
    mark = WORD_MAX if last else watermark(spec, clock)
    fresh = {side: _of_role(arrivals, side, STORE) for side in SIDES}
    held = {side: Held(state.runs[side], fresh[side]) for side in SIDES}
    left, right = held["left"].block, held["right"].block
    search = Search(asof, left, right, accept)
    found, apart = search.found()
    goes = np.ones(len(left), np.bool_) if last else _settled(asof, left, apart, mark)
    alone = Held(state.waiting["left"], _of_role(arrivals, "left", WAIT))
    ended = np.ones(len(alone.block), np.bool_) if last else _settled(asof, alone.block, None, mark)
    runs: dict[Side, tuple[Run, ...]] = {
        "left": held["left"].after(goes),
        "right": held["right"].after(_done_with(search, left.words[asof.order[0]][~goes], mark, last)),
    }
    after = replace(state, runs=runs, waiting={"left": alone.after(ended, flagged=False), "right": ()}, clock=clock)
    at_once = _of_role(arrivals, "left", LEAVE)
    rows = np.flatnonzero(goes)
    leaving = [
        Answers(left, rows, found[rows]), _without(alone.block, np.flatnonzero(ended)),
        _without(at_once, np.arange(len(at_once))),
    ]  # fmt: skip

    def pairs() -> Iterator[Pairs]:
        for one in leaving:
            yield from _beside(spec, one, right)

    kept = {side: Held(after.runs[side], fresh[side].filter(np.zeros(len(fresh[side]), np.bool_))) for side in SIDES}
    alive = {side: sum(map(len, kept[side].live)) for side in SIDES}
    nothing: dict[Side, tuple[int, ...]] = dict.fromkeys(SIDES, ())
    stats = TaskStats(arrived_rows(arrivals), after.rows, late_rows(arrivals.headers, task), nothing, alive=alive)

    def view_held(side: Side) -> tuple[Words, U32]:
        return kept[side].block.words, kept[side].block.u

    asking = {"left": fresh["left"].words, "right": fresh["right"].words[:, :0]}
    stored = {side: fresh[side].words for side in SIDES}
    view = BatchView(task, state.plan, stored, asking, {side: fresh[side].u for side in SIDES}, view_held)  # type: ignore[arg-type]
    return Step(after, stats, view, pairs)


def _of_role(arrivals: Arrivals, side: Side, role: int) -> Block:
    return arrivals.blocks[side].filter((arrivals.roles[side] & role) != 0)


def _settled(asof: Asof, block: Block, apart: Gaps | None, mark: int) -> Bools:
    """Tell for which left rows no nearer right row can come: all that come are at `mark` or later.

    `apart` is how far their nearest right rows are; None where they match nothing, and leave when others would that found
    nothing.
    """
    if mark == WORD_MIN or not len(block):
        return np.zeros(len(block), np.bool_)
    place = block.words[asof.order[0]]
    if not asof.ahead:
        return np.asarray(place <= mark if asof.strict else place < mark)
    limit = np.uint64(asof.limit)
    near = np.full(len(block), limit) if apart is None else np.minimum(apart, limit)
    behind = np.uint64(mark % (1 << 64)) - place.view(np.uint64)  # true where the place is before the mark
    return np.asarray((place < mark) & (behind > near))


def _done_with(search: Search, waiting: Words, mark: int, last: bool) -> Bools:
    """Tell which right rows no left row may have any longer."""
    if last or mark == WORD_MIN:
        return np.full(search.right.words.shape[1], last, np.bool_)
    return search.superseded(min(mark, int(waiting.min()) if len(waiting) else mark))


def _without(block: Block, rows: Rows) -> Answers:
    return Answers(block, rows, np.full(len(rows), -1, np.int32))


def _beside(spec: JoinSpec, leaving: Answers, right: Block) -> Iterator[Pairs]:
    """Yield left rows beside their right rows; without one, beside NULLs or not at all."""
    rows, found = leaving.rows, leaving.found
    if not spec.kind.preserved:
        rows, found = rows[found >= 0], found[found >= 0]
    sizes = row_bytes(leaving.block.payload, rows)
    for low, high in cuts(sizes, len(rows), CHUNK):
        here = leaving.block.payload.take(pa.array(rows[low:high]))
        yield Pairs(here, beside(right.payload, found[low:high]))


def beside(payload: pa.Table, found: I32) -> pa.Table:
    """Take rows by number; -1 is a row of NULLs."""
    schema = pa.schema([field.with_nullable(True) for field in payload.schema])
    missing = found < 0
    numbers = pa.array(found, mask=missing) if missing.any() else pa.array(found)
    return pa.table([column.take(numbers) for column in payload.columns], schema=schema)
