"""A monitor of FastJoin: one group's load table, and what to change when its tasks drift apart (003-04).

A round takes the heaviest and the lightest task; if LI exceeds the threshold, the selection algorithm picks keys that move
from one to the other, and the table is updated (003-04). Departures from the paper, each because a plan change here moves
everything it moves in one batch boundary, read from shared state:

- several rounds may go into one plan change (`rounds`; 1 is the paper's);
- a heaviest task that no set of keys can relieve (003-13) is set aside and the next heaviest is looked at, so that one hot
  key does not keep the others from being balanced;
- with `split_hot` such a task's hottest key is split over as many tasks as make the heaviest one lightest;
- a change must lower LI or the greatest load by `gain`, and LI must exceed the threshold beyond the noise of the arrivals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weft.routing.fastjoin_plan import FastJoinPlan
from weft.routing.keywatch import kept_counts, phi_counts
from weft.routing.loads import Floats, Pair, load_imbalance, loads_of
from weft.routing.scheme import TaskStats
from weft.types import Words

__all__ = ["Limits", "LoadTable", "Verdict", "judge", "load_table"]

HOT_KEYS = 64
"""At most so many keys of a group are split."""

COLD = 0.25
"""A split key whose share of rows and arrivals has fallen below this part of a task's fair share is made whole again."""


@dataclass
class LoadTable:
    """The load information table of one group (003-04): sides x tasks in all, and per task sides x keys.

    `keys[t]` are the keys whose counts task `t` has noted; `whole[t]` tells which of them live on that task alone.
    """

    stored: Floats
    phi: Floats
    keys: list[Words]
    key_stored: list[Floats]
    key_phi: list[Floats]
    whole: list[NDArray[np.bool_]]

    @property
    def loads(self) -> Floats:
        """L of each task (1)."""
        return loads_of(self.stored, self.phi)

    def pair(self, source: int, target: int) -> tuple[Pair, NDArray[np.int64]]:
        """Return the two tasks with the keys that could move, and the positions of those keys."""
        free = np.flatnonzero(self.whole[source])
        both = [source, target]
        made = Pair(
            self.stored[:, both], self.phi[:, both], self.key_stored[source][:, free], self.key_phi[source][:, free]
        )
        return made, free

    def move(self, source: int, target: int, chosen: NDArray[np.int64]) -> None:
        """Update the table as if the chosen keys had moved."""
        rows, phi = self.key_stored[source][:, chosen], self.key_phi[source][:, chosen]
        for table, part in ((self.stored, rows), (self.phi, phi)):
            table[:, source] -= part.sum(axis=1)
            table[:, target] += part.sum(axis=1)
        self.keys[target] = np.concatenate([self.keys[target], self.keys[source][chosen]])
        self.key_stored[target] = np.concatenate([self.key_stored[target], rows], axis=1)
        self.key_phi[target] = np.concatenate([self.key_phi[target], phi], axis=1)
        self.whole[target] = np.concatenate([self.whole[target], np.ones(len(chosen), np.bool_)])
        self._drop(source, chosen)

    def _drop(self, task: int, gone: NDArray[np.int64]) -> None:
        self.keys[task] = np.delete(self.keys[task], gone)
        self.key_stored[task] = np.delete(self.key_stored[task], gone, axis=1)
        self.key_phi[task] = np.delete(self.key_phi[task], gone, axis=1)
        self.whole[task] = np.delete(self.whole[task], gone)

    def spread(self, source: int, key: int, tasks: NDArray[np.int64]) -> None:
        """Update the table as if a key had been split: rows in equal parts, arrivals in full on each task."""
        rows, phi = self.key_stored[source][:, key], self.key_phi[source][:, key]
        self.stored[:, source] -= rows
        self.phi[:, source] -= phi
        self.stored[:, tasks] += rows[:, None] / len(tasks)
        self.phi[:, tasks] += phi[:, None]
        self._drop(source, np.array([key]))


@dataclass(frozen=True)
class Limits:
    """The numbers a monitor decides by; `FastJoin` explains them."""

    threshold: float
    select: Callable[[Pair], NDArray[np.int64]]
    rounds: int
    gain: float
    noise: float
    split_hot: bool


@dataclass
class Verdict:
    """What a monitor wants changed: owners by key, tasks by split key, keys made whole; and what it expects of it."""

    before: float
    after: float
    moved: dict[int, int] = field(default_factory=dict)
    split: dict[int, tuple[int, ...]] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    volume: float = 0.0
    exceeded: bool = False
    """LI was over the threshold, whether or not something useful was found."""

    @property
    def useful(self) -> bool:
        return bool(self.moved or self.split)


def load_table(plan: FastJoinPlan, group: int, stats: list[TaskStats]) -> LoadTable:
    """Make the table of one group from the notes of its tasks; task numbers are those within the group."""
    members, sides = plan.members(group), plan.keeps(group)
    hot = np.array([key for key, _ in plan.split[group]] if plan.split else [], np.int64)
    table = LoadTable(np.zeros((len(sides), members.size)), np.zeros((len(sides), members.size)), [], [], [], [])
    for task in range(members.size):
        notes = stats[members.start + task].notes
        kept, phi = [kept_counts(notes, side) for side in sides], [phi_counts(notes, side) for side in sides]
        table.stored[:, task], table.phi[:, task] = [one.total for one in kept], [one.total for one in phi]
        keys = np.unique(np.concatenate([one.keys for one in (*kept, *phi)]))
        table.keys.append(keys)
        table.key_stored.append(np.stack([one.sure(keys) for one in kept]))
        table.key_phi.append(np.stack([one.sure(keys) for one in phi]))
        table.whole.append(~np.isin(keys, hot))
    return table


def judge(plan: FastJoinPlan, group: int, table: LoadTable, limits: Limits) -> Verdict:
    """Go through the rounds; what comes back is useful only if it is worth a migration."""
    start = plan.members(group).start
    before, heaviest = load_imbalance(table.loads), float(table.loads.max())
    verdict = Verdict(before, before)
    cooled = _cooled(plan, group, table)
    aside = np.zeros(len(table.loads), np.bool_)
    rounds = 0
    while rounds < limits.rounds and not aside.all():
        loads = table.loads
        source, target = int(np.where(aside, -1.0, loads).argmax()), int(loads.argmin())
        if source == target or not _exceeds(table, source, target, limits):
            break
        verdict.exceeded = True
        pair, free = table.pair(source, target)
        chosen = limits.select(pair)
        if len(chosen):
            rounds += 1
            verdict.volume += float(pair.rows[chosen].sum())
            verdict.moved |= dict.fromkeys(table.keys[source][free[chosen]].tolist(), start + target)
            table.move(source, target, free[chosen])
        elif limits.split_hot and len(verdict.split) + len(plan.split[group] if plan.split else ()) < HOT_KEYS:
            rounds += 1
            aside[source] = not _split(table, source, start, verdict, limits.gain)
        else:
            aside[source] = True
    verdict.after = load_imbalance(table.loads)
    # Two infinities are no gain, but a lower peak beside idle tasks is one.
    if not (verdict.after < (1 - limits.gain) * before or table.loads.max() < (1 - limits.gain) * heaviest):
        return Verdict(before, before, exceeded=verdict.exceeded)
    verdict.whole = cooled
    return verdict


def _exceeds(table: LoadTable, source: int, target: int, limits: Limits) -> bool:
    """LI > threshold (2), and still so when arrivals were `noise` standard deviations off on both tasks."""
    loads, arrived = table.loads, table.phi.sum(axis=0)
    low = loads[source] * max(0.0, 1 - limits.noise / max(arrived[source], 1.0) ** 0.5)
    high = loads[target] * (1 + limits.noise / max(arrived[target], 1.0) ** 0.5)
    return bool(loads[source] > 0 and low > limits.threshold * high)


def _split(table: LoadTable, source: int, start: int, verdict: Verdict, gain: float) -> bool:
    """Split the key that loads a task most; tell whether that lowers the greatest load of the tasks involved."""
    pair, free = table.pair(source, source)
    if not len(free):
        return False
    rest = ((pair.stored[:, :1] - pair.key_stored) * (pair.phi[:, :1] - pair.key_phi)).sum(axis=0)
    key = free[int(rest.argmin())]
    rows, phi = table.key_stored[source][:, key], table.key_phi[source][:, key]
    stored, arriving = table.stored.copy(), table.phi.copy()
    stored[:, source] -= rows
    arriving[:, source] -= phi
    order = np.argsort(loads_of(stored, arriving), kind="stable")  # the lightest tasks first
    best, peak = 1, float(table.loads[source])
    for parts in range(2, len(order) + 1):
        tasks = order[:parts]
        share = loads_of(stored[:, tasks] + rows[:, None] / parts, arriving[:, tasks] + phi[:, None])
        if share.max() < peak * (1 - 1e-9):
            best, peak = parts, float(share.max())
    if best == 1 or peak >= (1 - gain) * float(table.loads[source]):
        return False
    word = int(table.keys[source][key])
    verdict.moved.pop(word, None)
    verdict.split[word] = tuple(sorted(start + int(task) for task in order[:best]))
    verdict.volume += float(rows.sum()) * (best - 1) / best
    table.spread(source, int(key), order[:best])
    return True


def _cooled(plan: FastJoinPlan, group: int, table: LoadTable) -> tuple[int, ...]:
    """Return the split keys that have become ordinary; they are made whole when something else changes anyway."""
    found = []
    for word, tasks in plan.split[group] if plan.split else ():
        rows = np.zeros(len(table.stored))
        phi = np.zeros(len(table.phi))
        for task in (number - plan.members(group).start for number in tasks):
            at = np.flatnonzero(table.keys[task] == word)
            if len(at):
                rows += table.key_stored[task][:, at[0]]
                phi = np.maximum(phi, table.key_phi[task][:, at[0]])
        fair = COLD / table.stored.shape[1]
        if (rows <= fair * table.stored.sum(axis=1)).all() and (phi <= fair * table.phi.sum(axis=1)).all():
            found.append(word)
    return tuple(found)
