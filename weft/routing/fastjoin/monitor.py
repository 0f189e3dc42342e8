"""A monitor of FastJoin: one group's load table, and what to change when its tasks drift apart (003-04).

A round takes the heaviest and the lightest task; if LI exceeds the threshold, the selection algorithm picks keys that move
from one to the other, and the table is updated (003-04). Departures from the paper, each because a plan change here moves
everything it moves in one batch boundary, read from shared state:

- several rounds may go into one plan change (`rounds`; 1 is the paper's);
- a heaviest task that no set of keys can relieve (003-13) is set aside and the next heaviest is looked at, so that one hot
  key does not keep the others from being balanced;
- with `split_hot` such a task's hottest key gets a matrix of tasks (`split_keys`): of those that make the heaviest task nearly
  lightest, the one with the fewest copies;
- a change must lower LI or the greatest load by `gain`, and LI must exceed the threshold beyond the noise of the arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weft.routing.fastjoin.load_model import ASK, Floats, Pair, Selection, WorkPair, load_imbalance, loads_of, work_of
from weft.routing.fastjoin.notes import kept_counts, phi_counts
from weft.routing.fastjoin.plan import FastJoinPlan, SplitKey, TaskGrid, shapes_of
from weft.routing.scheme import TaskStats
from weft.types import Side, Words

__all__ = ["LoadTable", "MonitorLimits", "Verdict", "judge", "load_table"]

HOT_KEYS = 64
"""At most so many keys of a group are split."""
ENOUGH = 0.35
"""A key is split so that a load so near to the lowest is reached with the fewest copies."""

COLD = 0.25
"""A split key whose share of rows and arrivals has fallen below this part of a task's fair share is made whole again."""


@dataclass
class LoadTable:
    """The load information table of one group (003-04): sides x tasks in all, and per task sides x keys.

    `sides` are those that the group keeps, `split` the matrices of its split keys. phi of a side looks among what is kept of
    it, so it is of the other side. `keys[t]` are the keys whose counts task `t` has noted; `whole[t]` tells which of them
    live on that task alone. Loads are the paper's products, or work where `share` is given: the part of the pairs of equal
    keys that meet all conditions.
    """

    sides: tuple[Side, ...]
    split: dict[int, TaskGrid]
    stored: Floats
    phi: Floats
    keys: list[Words]
    key_stored: list[Floats]
    key_phi: list[Floats]
    whole: list[NDArray[np.bool_]]
    share: float | None = None
    preserved: tuple[Side, ...] = ()
    """Sides whose tuples must stay on one task each, also those of a split key."""

    @property
    def loads(self) -> Floats:
        """L of each task (1), or its work. Keys that are not noted are light: they count as arrivals, not as pairs."""
        if self.share is None:
            return loads_of(self.stored, self.phi)
        pairs = [float((rows * phi).sum()) for rows, phi in zip(self.key_stored, self.key_phi, strict=True)]
        return np.asarray(ASK * self.phi.sum(axis=0) + self.share * np.array(pairs))

    @property
    def noise(self) -> Floats:
        """Return the standard deviation of each task's load if rows come independently of one another.

        Both factors of a load vary: what arrives, and what a window happens to hold of earlier arrivals.
        """
        if self.share is None:
            return np.asarray(np.sqrt((self.stored**2 * self.phi + self.phi**2 * self.stored).sum(axis=0)))
        found = []
        for rows, phi, total in zip(self.key_stored, self.key_phi, self.phi.T, strict=True):
            light = np.maximum(total - phi.sum(axis=1), 0.0).sum()
            own = (ASK + self.share * rows) ** 2 * phi + (self.share * phi) ** 2 * rows
            found.append(own.sum() + ASK**2 * light)
        return np.sqrt(np.array(found))

    def pair(self, source: int, target: int) -> tuple[Pair, NDArray[np.int64]]:
        """Return the two tasks with the keys that could move, and the positions of those keys."""
        free = np.flatnonzero(self.whole[source])
        both = [source, target]
        parts = self.stored[:, both], self.phi[:, both], self.key_stored[source][:, free], self.key_phi[source][:, free]
        return Pair(*parts) if self.share is None else WorkPair(*parts, self.loads[both], self.share), free

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

    def gathered(self, word: int) -> tuple[Floats, Floats, list[tuple[int, int]]]:
        """Return a key's rows and arrivals, each counted once however many tasks have them, and where it is."""
        found = [(task, np.flatnonzero(keys == word)) for task, keys in enumerate(self.keys)]
        places = [(task, int(at[0])) for task, at in found if len(at)]
        rows = np.stack([self.key_stored[task][:, at] for task, at in places])
        phi = np.stack([self.key_phi[task][:, at] for task, at in places])
        if word not in self.split:
            return rows.sum(axis=0), phi.sum(axis=0), places
        # A tuple that is one of the parts of its side is on as many tasks as the other side has parts.
        shape = self.split[word]
        return rows.sum(axis=0) / shape.asked_parts(self.sides), phi.sum(axis=0) / shape.kept_parts(self.sides), places

    def without(self, word: int) -> LoadTable:
        """Return a copy of the table in which a key is nowhere."""
        rest = LoadTable(
            self.sides, dict(self.split), self.stored.copy(), self.phi.copy(), list(self.keys), list(self.key_stored),
            list(self.key_phi), list(self.whole), self.share,
        )  # fmt: skip
        for task, at in self.gathered(word)[2]:
            rest.stored[:, task] -= self.key_stored[task][:, at]
            rest.phi[:, task] -= self.key_phi[task][:, at]
            rest._drop(task, np.array([at]))
        return rest

    def add(self, word: int, tasks: list[int], shape: TaskGrid, rows: Floats, phi: Floats) -> None:
        """Put a split key on its tasks."""
        rows, phi = rows / shape.kept_parts(self.sides), phi / shape.asked_parts(self.sides)
        self.split[word] = shape
        for task in tasks:
            self.stored[:, task] += rows
            self.phi[:, task] += phi
            self.keys[task] = np.append(self.keys[task], word)
            self.key_stored[task] = np.column_stack([self.key_stored[task], rows])
            self.key_phi[task] = np.column_stack([self.key_phi[task], phi])
            self.whole[task] = np.append(self.whole[task], False)

    def hottest(self, task: int) -> int | None:
        """Return the key, whole or split, without which a task would have least to do."""
        rows, phi = self.key_stored[task], self.key_phi[task]
        if not len(self.keys[task]):
            return None
        if self.share is not None:
            return int(self.keys[task][work_of(rows, phi, self.share).argmax()])
        rest = (self.stored[:, [task]] - rows) * (self.phi[:, [task]] - phi)
        return int(self.keys[task][rest.sum(axis=0).argmin()])

    def matrix_for(self, rows: Floats, phi: Floats, near: float) -> tuple[list[int], TaskGrid, float]:
        """Return tasks and matrix for a key that is not in the table, and the load that each of these tasks would have.

        Of the matrices over the 1, 2, ... lightest tasks that come near to the lowest load, the one for which the fewest
        copies of arriving tuples travel. What else these tasks have is taken as evened out among them: the rounds that
        follow move whole keys to that end.
        """
        order = np.argsort(self.loads, kind="stable")
        shapes = [shape for tasks in range(1, len(order) + 1) for shape in self._shapes(tasks)]
        loads = np.array([self.shared(order[: shape.tasks], shape, rows, phi) for shape in shapes])
        copies = np.array([float((phi * shape.kept_parts(self.sides)).sum()) for shape in shapes])
        best = int(np.where(loads <= loads.min() * (1 + near), copies, np.inf).argmin())
        return sorted(order[: shapes[best].tasks].tolist()), shapes[best], float(loads[best])

    def _shapes(self, tasks: int) -> list[TaskGrid]:
        """Return the matrices to choose from; a product is the same in all of them, and one column or row most even."""
        shapes = [shape for shape in shapes_of(tasks, self.sides) if shape.keeps_whole(self.preserved)]
        return shapes if self.share is not None else [shape for shape in shapes if 1 in shape]

    def shared(self, tasks: NDArray[np.int64], shape: TaskGrid, rows: Floats, phi: Floats) -> float:
        """Return the load of each of some tasks that share such a key, and evenly what else they have."""
        kept, asking = rows / shape.kept_parts(self.sides), phi / shape.asked_parts(self.sides)
        if self.share is not None:
            return float(self.loads[tasks].mean() + work_of(kept, asking, self.share))
        rest = self.stored[:, tasks].mean(axis=1), self.phi[:, tasks].mean(axis=1)
        return float(((rest[0] + kept) * (rest[1] + asking)).sum())


@dataclass(frozen=True)
class MonitorLimits:
    """The numbers a monitor decides by; `FastJoin` explains them."""

    threshold: float
    select: Selection
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
    split: dict[int, SplitKey] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    volume: float = 0.0
    exceeded: bool = False
    """LI was over the threshold, whether or not something useful was found."""

    @property
    def useful(self) -> bool:
        return bool(self.moved or self.split)


def load_table(
    plan: FastJoinPlan, group: int, stats: list[TaskStats], share: float | None = None, preserved: tuple[Side, ...] = ()
) -> LoadTable:  # fmt: skip
    """Make the table of one group from the notes of its tasks; task numbers are those within the group."""
    members, sides = plan.members(group), plan.keeps(group)
    split = {one.key: one.shape for one in plan.split[group]} if plan.split else {}
    hot = np.array(list(split), np.int64)
    shape = len(sides), members.size
    table = LoadTable(sides, split, np.zeros(shape), np.zeros(shape), [], [], [], [], share, preserved)
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


def judge(plan: FastJoinPlan, group: int, table: LoadTable, limits: MonitorLimits) -> Verdict:
    """Go through the rounds; what comes back is useful only if it is worth a migration."""
    start = plan.members(group).start
    before, heaviest = load_imbalance(table.loads), float(table.loads.max())
    verdict = Verdict(before, before)
    already = set(table.split)
    cooled = _cooled(table)
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
        elif limits.split_hot and len(verdict.split.keys() | already) < HOT_KEYS:
            rounds += 1
            aside[source] = not _split(table, source, start, verdict, limits.gain)
        else:
            aside[source] = True
    verdict.after = load_imbalance(table.loads)
    # Two infinities are no gain, but a lower peak beside idle tasks is one. A higher peak never is: a split counts on the
    # rounds behind it to even out the rest, and they may not find how.
    peak = float(table.loads.max())
    better = verdict.after < (1 - limits.gain) * before or peak < (1 - limits.gain) * heaviest
    if not better or peak > heaviest * (1 + 1e-9):
        return Verdict(before, before, exceeded=verdict.exceeded)
    verdict.whole = tuple(key for key in cooled if key not in verdict.split)
    return verdict


def _exceeds(table: LoadTable, source: int, target: int, limits: MonitorLimits) -> bool:
    """LI > threshold (2), and still so when arrivals were `noise` standard deviations off on both tasks."""
    loads, noise = table.loads, limits.noise * table.noise
    low, high = loads[source] - noise[source], loads[target] + noise[target]
    return bool(loads[source] > 0 and low > limits.threshold * high)


def _split(table: LoadTable, source: int, start: int, verdict: Verdict, gain: float) -> bool:
    """Split the key that loads a task most, or split it anew; tell whether that lowers the greatest load involved."""
    word = table.hottest(source)
    if word is None:
        return False
    rows, phi, places = table.gathered(word)
    rest = table.without(word)
    near = ENOUGH if table.share is not None else 1e-9  # the paper's product does not know what asking costs
    tasks, shape, peak = rest.matrix_for(rows, phi, near)
    before = max(float(table.loads[task]) for task, _ in places)
    if word in table.split and tasks == sorted(task for task, _ in places):  # another matrix of the same tasks
        before = min(before, rest.shared(np.array(tasks), table.split[word], rows, phi))
    if len(tasks) == 1 or peak >= (1 - gain) * before:
        return False
    verdict.moved.pop(word, None)
    verdict.split[word] = SplitKey(word, shape.rows, tuple(start + task for task in tasks))
    verdict.volume += float((rows / shape.kept_parts(table.sides)).sum()) * (len(tasks) - 1)
    rest.add(word, tasks, shape, rows, phi)
    for name in ("split", "stored", "phi", "keys", "key_stored", "key_phi", "whole"):
        setattr(table, name, getattr(rest, name))
    return True


def _cooled(table: LoadTable) -> tuple[int, ...]:
    """Return the split keys that have become ordinary; they are made whole when something else changes anyway."""
    found = []
    for word in table.split:
        listed = any(word in keys for keys in table.keys)
        rows, phi, _ = table.gathered(word) if listed else (np.zeros(1), np.zeros(1), [])
        fair = COLD / table.stored.shape[1]
        if (rows <= fair * table.stored.sum(axis=1)).all() and (phi <= fair * table.phi.sum(axis=1)).all():
            found.append(word)
    return tuple(found)
