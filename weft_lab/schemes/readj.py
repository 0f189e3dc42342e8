"""`Readj`, the baseline of Gedik: keys are hashed, and a table sends the heaviest elsewhere (001-43).

Whenever the fullest task stands out, moves and swaps of tracked keys between pairs of tasks are tried and the best one
is taken, again and again. A key is tracked from the share `sigma` of a task's mean load on: a smaller one tracks more
keys and finds better tables. It is 1-DSP: under a condition without equality a tuple is kept where its key is hashed to
and asks every task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.routing import (
    SCHEMES,
    BatchView,
    Notes,
    Plan,
    Scheme,
    TaskStats,
    draw_of,
    hash_home,
    ordering,
    owned,
)
from weft.spec import JoinSpec, Op
from weft.spec.options import check_count, check_number
from weft.types import SIDES, U32, Bools, Side, Words

__all__ = ["Readj", "ReadjPlan", "rebalanced"]

TRACKED = 256
"""Keys that a task notes, the heaviest."""


@dataclass(frozen=True)
class ReadjPlan(Plan):
    """The owner of a key is its hash, unless the table names another; `asks_all` without an equality."""

    scheme: ClassVar[str] = "readj"

    left: int = -1
    right: int = -1
    asks_all: bool = False
    keys: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    epoch: int = 0

    def owner(self, side: Side, words: Words, u: U32) -> NDArray[np.int64]:
        """Return the task of each tuple; without any key the draw decides."""
        column = self.left if side == "left" else self.right
        if column < 0:
            return draw_of(u, self.tasks)
        key = words[column]
        found = hash_home(key, self.tasks)
        if self.keys:
            table = np.array(self.keys, np.int64)
            at = np.minimum(np.searchsorted(table, key), len(table) - 1)
            found = np.where(table[at] == key, np.array(self.owners, np.int64)[at], found)
        return found

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(self.owner(side, words, u), self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return np.ones((self.tasks, len(u)), np.bool_) if self.asks_all else self.store(side, words, u)

    def adapt(self, tasks: int) -> Plan:
        """Keep what the table says of tasks that are still there."""
        if tasks == self.tasks:
            return self
        kept = [(key, owner) for key, owner in zip(self.keys, self.owners, strict=True) if owner < tasks]
        return replace(
            self, tasks=tasks, keys=tuple(k for k, _ in kept), owners=tuple(o for _, o in kept), epoch=self.epoch + 1
        )

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return (float(self.tasks),) * 2 if self.asks_all else (1.0, 1.0)


@SCHEMES.register
@dataclass(frozen=True)
class Readj(Scheme):
    """Hash partitioning plus a table of heavy keys, revised if the fullest task has `imbalance` times the mean load."""

    name: ClassVar[str] = "readj"

    sigma: float = 0.05
    imbalance: float = 1.1
    patience: int = 4

    def __post_init__(self) -> None:
        check_number(
            "sigma", self.sigma, "the share of a task's load above which a key is heavy", "use 0.05.", above=True
        )
        check_number(
            "imbalance", self.imbalance, "the load of the fullest task relative to the mean", "use 1.1.", least=1
        )
        check_count("patience", self.patience, "batches for which a plan stays in force", "use patience=4.")

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return (Readj(sigma=0.01, imbalance=1.0, patience=1),)

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        term = ordering(spec)
        if term is None:
            return ReadjPlan(tasks, asks_all=True)
        return ReadjPlan(tasks, term.left, term.right, asks_all=term.op is not Op.EQ)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        """Note the heaviest keys held, both streams together."""
        plan = view.plan
        if not isinstance(plan, ReadjPlan) or plan.left < 0:
            return {}
        same = before.get("epoch") == plan.epoch and "counts" in before
        age = before.get("age", 0) + 1 if same else 1
        if same and age % self.patience:  # looked at by control only this often
            return {**before, "age": age}
        words = np.concatenate([view.held(side)[0][plan.left if side == "left" else plan.right] for side in SIDES])
        keys, counts = np.unique(words, return_counts=True)
        heavy = np.sort(np.argsort(-counts, kind="stable")[:TRACKED])
        return {
            "epoch": plan.epoch, "age": age, "keys": [int(key) for key in keys[heavy]],
            "counts": [int(count) for count in counts[heavy]],
        }  # fmt: skip

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        if not isinstance(plan, ReadjPlan):
            return plan, ""
        if any(one.notes.get("epoch") != plan.epoch or "counts" not in one.notes for one in stats):
            return plan, ""  # told by another plan or another scheme
        if stats[0].notes["age"] % self.patience:
            return plan, ""
        loads = np.array([sum(one.keeps(side) for side in SIDES) for one in stats], np.float64)
        if loads.max() <= self.imbalance * max(loads.mean(), 1.0):
            return plan, ""
        keys = np.array([key for one in stats for key in one.notes["keys"]], np.int64)
        weights = np.array([count for one in stats for count in one.notes["counts"]], np.float64)
        owner = np.repeat(np.arange(len(stats)), [len(one.notes["keys"]) for one in stats])
        tracked = weights >= self.sigma * loads.mean()
        moved = rebalanced(loads, weights[tracked], owner[tracked], self.imbalance)
        if (moved == owner[tracked]).all():
            return plan, ""
        table = dict(zip(plan.keys, plan.owners, strict=True))
        table |= {int(key): int(task) for key, task in zip(keys[tracked], moved, strict=True)}
        named = np.array(sorted(table), np.int64)
        home = hash_home(named, plan.tasks)
        kept = [int(key) for key, at in zip(named, home, strict=True) if table[int(key)] != at]
        after = replace(plan, keys=tuple(kept), owners=tuple(table[key] for key in kept), epoch=plan.epoch + 1)
        return after, f"fullest task at {loads.max() / loads.mean():.2f} times the mean: {len(kept)} keys in the table"


def rebalanced(
    loads: NDArray[np.float64], weights: NDArray[np.float64], owner: NDArray[np.int64], enough: float
) -> NDArray[np.int64]:
    """Return new owners of the tracked keys: the best move or swap between two tasks, until none helps."""
    loads, owner = loads.copy(), owner.copy()
    for _ in range(4 * len(weights) + 1):
        source = int(loads.argmax())
        mine = np.flatnonzero(owner == source)
        if not len(mine) or loads[source] <= enough * loads.mean():
            break
        # What a key (a row) does against nothing or against another task's key (a column), as the larger of both loads.
        others = np.flatnonzero(owner != source)
        back = np.concatenate([np.zeros(len(loads)), weights[others]])
        target = np.concatenate([np.arange(len(loads)), owner[others]])
        shift = weights[mine][:, None] - back[None, :]
        worse = np.maximum(loads[source] - shift, loads[target][None, :] + shift)
        worse[:, source] = np.inf
        at = int(worse.argmin())
        if worse.flat[at] >= loads[source] * (1 - 1e-12):
            break
        key, column = divmod(at, len(back))
        amount = shift[key, column]
        loads[source] -= amount
        loads[target[column]] += amount
        owner[mine[key]] = target[column]
        if column >= len(loads):
            owner[others[column - len(loads)]] = source
    return owner
