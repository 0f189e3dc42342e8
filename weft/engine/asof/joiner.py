"""As-of joins as a kind of join: what differs is how rows are routed, searched, let go and moved.

In a migration each task takes the left rows that the new plan gives it, and the right rows that these may have. Which right rows
were sent to several tasks is not written down. So of keys that are cut every task takes all rows that any task still held, which
are those of little more than the delay; what it never needs it soon lets go. A row that several tasks held is known by its number
of arrival. Right rows carry that number, and those at the border of a slice go to several tasks from the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.arrivals import Arrivals
from weft.engine.asof.candidates import is_nan
from weft.engine.asof.search import tie_words
from weft.engine.asof.step import asof_step, live_rows, run_whole
from weft.engine.joiner import Joiner
from weft.engine.migrate import Moved, waiting_rows
from weft.engine.pairs import Pairs
from weft.engine.preserve import Accept
from weft.engine.route import PROBE, STORE, Inputs, Roles, Router
from weft.engine.step import Step
from weft.index import Run
from weft.routing import AsofPlan, Plan
from weft.spec import JoinSpec
from weft.state import Pinned, TaskState
from weft.types import SIDES, U32, Block, Bools, Rows, Side, Words

__all__ = ["INDEX", "AsofJoiner", "AsofRouter", "migrate_asof"]


class AsofRouter(Router):
    """Routes the rows of one side and one map partition."""

    def _ordered(self, table: pa.Table, columns: list[Words], u: U32, payload: pa.Table) -> tuple[Block, Rows]:
        """Let right rows carry their position: the task that joins knows what came before them (`number_rows`)."""
        rows = table.num_rows
        position = np.arange(self.position - rows, self.position, dtype=np.int64)
        words = np.stack([*columns, np.zeros(rows, np.int64), position])
        return Block(words, u, payload), np.arange(rows)

    def _roles(self, block: Block) -> tuple[Block, Roles]:
        plan, asof = self.plan, self.spec.asof
        assert isinstance(plan, AsofPlan) and asof is not None
        store = plan.store(self.side, block.words, block.u)
        if self.side == "left":
            return block, store.astype(np.uint8) * np.uint8(STORE | PROBE)
        if asof.floating:
            store[:, is_nan(plan.place("right", block.words))] = False
        if plan.length and plan.tasks > 1:
            kept = np.flatnonzero(store.any(axis=0))
            ties = None if asof.ties is None else tie_words(block.payload, asof.ties)[kept]
            borders = kept[plan.borders(block.words[:, kept], ties)]
            store[:, borders] |= plan.reached(block.words[:, borders])
        return block, store.astype(np.uint8) * np.uint8(STORE)

    def _order_of(self, block: Block) -> None:
        """Keep rows as they came: mostly that is in the order in which they are searched."""


INDEX = "scan"
"""Rows lie as they came."""


@dataclass(frozen=True)
class AsofJoiner(Joiner[Pairs]):
    """Gives each left row the nearest right row; `accept` decides what words cannot of the further condition."""

    accept: Accept | None = None

    def router(self, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int) -> AsofRouter:
        return AsofRouter(self.job.spec, side, inputs, pinned, batch, partition)

    def step(self, task: int, state: TaskState, arrivals: Arrivals, *, last: bool) -> Step[Pairs]:
        return asof_step(self.job.spec, task, state, arrivals, self.accept, last=last)

    def migrate(self, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[TaskState, Moved]:
        return migrate_asof(self.job.spec, self.job.index, task, plan, old)


def migrate_asof(
    spec: JoinSpec, index: str, task: int, plan: Plan, old: Sequence[TaskState]
) -> tuple[TaskState, Moved]:  # fmt: skip
    """Return what `task` holds under `plan`, given the states of all tasks under the plan before."""
    assert isinstance(plan, AsofPlan) and spec.asof is not None
    runs: dict[Side, tuple[Run, ...]] = {}
    gained = lost = 0
    for side in SIDES:
        own: list[Run] = []
        pulled: list[Block] = []
        for owner, state in enumerate(old):
            for run in state.runs[side]:
                live = live_rows(run)
                here = _taken(plan, side, live, task)
                if owner != task:
                    pulled.append(live.filter(here))
                    continue
                lost += int((~here).sum())
                if here.all():
                    own.append(run)
                elif here.any():
                    own.append(run_whole(live.filter(here)))
        pulled = [block for block in pulled if len(block)]
        if pulled:
            more = Block.concat(pulled)
            more = more if side == "left" else _new(more, own, spec.asof.arrival)
            gained += len(more)
            own += [run_whole(more)] if len(more) else []
        runs[side] = tuple(own)
    waiting = {side: waiting_rows(spec, side, task, plan, old) for side in SIDES}
    return TaskState(plan, runs, old[0].before, old[0].clock, index, waiting), Moved(gained, lost)


def _taken(plan: AsofPlan, side: Side, rows: Block, task: int) -> Bools:
    """Tell which rows a task takes."""
    here = np.asarray(plan.store(side, rows.words, rows.u)[task])
    return here if side == "left" else here | plan.cut(plan.key(side, rows.words))


def _new(rows: Block, own: Sequence[Run], arrival: int) -> Block:
    """Return the rows that the task does not hold yet, each once."""
    numbers, first = np.unique(rows.words[arrival], return_index=True)
    held = [live_rows(run).words[arrival] for run in own]
    return rows.take(np.sort(first[~np.isin(numbers, np.concatenate(held))]) if held else np.sort(first))
