"""FastJoin's plan: a hash, a routing table of moved keys per group, and the hot keys that are split over several tasks.

The routing table is asked first, the hash decides where it has no entry (003-02). Entries are per group (003-21): moving
key k in the group that keeps R changes where R(k) is kept *and* where S(k) asks, and nothing in the other group. In the
shared layout, where all tasks keep both sides, one table serves both.

A split key is ours, not the paper's: a key that no migration can help gets a small matrix of tasks of its own (003-13). A left
tuple draws a row of the matrix by `u` and goes to all tasks in it, a right tuple draws a column, so each pair meets on one
task. A key that is hot on one side only gets one column (or one row): its many tuples go to one task each, as under a hash, and
the few partners to all. A group of a biclique keeps one side, each tuple of it once: there the matrix always has one column
(or one row), and what arrives asks all of its tasks.

What the monitors remember (`age` to `volume`) travels in the plan but is no part of its equality: a plan that routes the
same is the same plan, and nothing migrates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import gcd
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from weft.kernels import find_listed
from weft.routing.plan import Plan, TaskGroup, draw_of, group_of, hash_draw, hash_home, key_word, owned
from weft.routing.regions import Regions
from weft.types import SIDES, U32, Bools, Rows, Side, Words, other

__all__ = ["FastJoinPlan", "Memory", "SplitKey", "Splits", "Table", "TaskGrid", "shapes_of"]


class TaskGrid(NamedTuple):
    """Rows and columns of a matrix of tasks. What is said of sides follows the order of `sides`."""

    rows: int
    columns: int

    @property
    def tasks(self) -> int:
        """Return how many tasks it has."""
        return self.rows * self.columns

    def keeps_whole(self, sides: Sequence[Side]) -> bool:
        """Tell whether each tuple of these sides goes to one task."""
        return all((self.columns if side == "left" else self.rows) == 1 for side in sides)

    def kept_parts(self, sides: Sequence[Side]) -> NDArray[np.int64]:
        """Return, for each side, into how many parts its stored tuples are split: a task stores one of them."""
        return np.array([self.rows if side == "left" else self.columns for side in sides])

    def asked_parts(self, sides: Sequence[Side]) -> NDArray[np.int64]:
        """Return, for each stored side, into how many parts the opposite side's probes are split."""
        return np.array([self.columns if side == "left" else self.rows for side in sides])


def shapes_of(tasks: int, sides: Sequence[Side]) -> list[TaskGrid]:
    """Return the matrices of so many tasks, for tasks that keep these sides.

    >>> shapes_of(6, ("left", "right"))
    [TaskGrid(rows=1, columns=6), TaskGrid(rows=2, columns=3), TaskGrid(rows=3, columns=2), TaskGrid(rows=6, columns=1)]
    """
    if len(sides) < len(SIDES):
        return [TaskGrid(tasks, 1) if sides[0] == "left" else TaskGrid(1, tasks)]
    return [TaskGrid(rows, tasks // rows) for rows in range(1, tasks + 1) if tasks % rows == 0]


class SplitKey(NamedTuple):
    """A key and its tasks, row by row of its matrix."""

    key: int
    rows: int
    tasks: tuple[int, ...]

    @property
    def shape(self) -> TaskGrid:
        """Return rows and columns."""
        return TaskGrid(self.rows, len(self.tasks) // self.rows)

    def tasks_of(self, side: Side, u: U32) -> NDArray[np.int64]:
        """Return the tasks that tuples of one side go to: tuples x tasks."""
        grid = np.array(self.tasks, np.int64).reshape(self.shape)
        grid = grid if side == "left" else grid.T
        return np.asarray(grid[draw_of(u, len(grid))])

    def on(self, tasks: Sequence[int]) -> SplitKey:
        """Return the key on other tasks: in one column or row if it was, else in as many rows as still fit."""
        rows, columns = self.shape
        fit = len(tasks) if columns == 1 else gcd(rows, len(tasks))
        return SplitKey(self.key, fit, tuple(tasks))


Table = tuple[tuple[int, int], ...]
"""(key, task), ascending by key: the keys that do not live where their hash says."""

Splits = tuple[SplitKey, ...]
"""Ascending by key: the keys that live on several tasks."""


class Memory(NamedTuple):
    """What a monitor remembers from one control step to the next."""

    ready: int = 0
    """The age from which it may act again."""
    streak: int = 0
    """Actions that soon had to be followed by another."""
    failures: int = 0
    """Control steps in a row that found nothing useful."""
    acted: int = 0
    """The age at which it last acted."""
    called: int = 0
    """Control steps in a row that found LI too high."""


@dataclass(frozen=True)
class FastJoinPlan(Plan):
    """`moved[g]` and `split[g]` belong to group g: 0 keeps the left side, 1 the right one; in the shared layout 0 keeps both."""

    scheme: ClassVar[str] = "fastjoin"

    left: tuple[int, ...] = (0,)
    right: tuple[int, ...] = (0,)
    shared: bool = False
    moved: tuple[Table, ...] = ()
    split: tuple[Splits, ...] = ()
    version: int = 0
    """Grows with every change of route, so that statistics tell which plan they were taken under."""
    age: int = field(default=0, compare=False)
    """Control steps so far."""
    memory: tuple[Memory, ...] = field(default=(), compare=False)
    migrations: int = field(default=0, compare=False)
    """Migrations so far."""
    moving: bool = field(default=False, compare=False)
    """A migration was decided and statistics taken behind it have not come in yet."""
    volume: int = field(default=0, compare=False)
    """Rows that the last migration moved, as estimated when it was decided."""

    @property
    def groups(self) -> int:
        """Return the number of groups with a routing table of their own."""
        return 1 if self.shared else 2

    def number(self, keeper: Side) -> int:
        """Return the number of the group that keeps a side."""
        return 0 if self.shared else SIDES.index(keeper)

    def keeps(self, group: int) -> tuple[Side, ...]:
        """Return the sides that a group keeps."""
        return SIDES if self.shared else (SIDES[group],)

    def members(self, group: int) -> TaskGroup:
        """Return the tasks of a group."""
        return group_of(self.keeps(group)[0], self.tasks, shared=self.shared)

    def key(self, side: Side, words: Words) -> Words:
        """Return the routing key of each tuple."""
        return key_word(words, self.left if side == "left" else self.right)

    def home(self, group: int, keys: Words) -> NDArray[np.int64]:
        """Return the task that the hash alone gives each key."""
        members = self.members(group)
        return members.start + hash_home(keys, members.size)

    @cached_property
    def _tables(self) -> tuple[tuple[Words, NDArray[np.int64]], ...]:
        return tuple(
            (np.array([key for key, _ in table], np.int64), np.array([task for _, task in table], np.int64))
            for table in self.moved
        )

    @cached_property
    def _hot(self) -> tuple[Words, ...]:
        return tuple(np.array([one.key for one in splits], np.int64) for splits in self.split)

    def owner(self, group: int, keys: Words) -> NDArray[np.int64]:
        """Return the task of each key that is not split: by table, else by hash."""
        owner = self.home(group, keys)
        if group < len(self._tables) and len(self._tables[group][0]):
            listed, tasks = self._tables[group]
            place = np.minimum(np.searchsorted(listed, keys), len(listed) - 1)
            owner = np.where(listed[place] == keys, tasks[place], owner)
        return owner

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return self._tasks(self.number(side), side, words, u)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self._tasks(self.number(other(side)), side, words, u)

    def keeps_whole(self, side: Side) -> bool:
        return self.shared and all(one.shape.keeps_whole((side,)) for splits in self.split for one in splits)

    def _tasks(self, group: int, side: Side, words: Words, u: U32) -> Bools:
        """Return the tasks of a group that tuples go to: the owner of their key or, of a split key, a part of its matrix."""
        keys = self.key(side, words)
        tasks = owned(self.owner(group, keys), self.tasks)
        for rows, split in self._split_rows(group, keys):
            tasks[:, rows] = False
            tasks[split.tasks_of(side, u[rows]), rows[:, None]] = True
        return tasks

    def _split_rows(self, group: int, keys: Words) -> list[tuple[NDArray[np.int64], SplitKey]]:
        """Return the rows of each split key."""
        if group >= len(self._hot) or not len(self._hot[group]):
            return []
        hot = self._hot[group]
        place = np.minimum(np.searchsorted(hot, keys), len(hot) - 1)
        rows = np.flatnonzero(hot[place] == keys)
        return [(rows[place[rows] == number], self.split[group][number]) for number in np.unique(place[rows])]

    def changed(self, old: Plan, side: Side) -> Callable[[Words], Rows] | None:
        if not isinstance(old, FastJoinPlan) or self._layout != old._layout:
            return None
        keys = self._changed(old, self.number(side))
        return lambda words: find_listed(self.key(side, words), keys)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del first
        group = self.number(side)
        members = self.members(group)
        homes = Regions.by_hash(self._columns(side), members.size, members.start)
        keys = np.array(sorted(self._entries(group)), np.int64)
        return (
            homes.and_also(self._boxes(group, keys, "hash", self._columns(side), hash_draw(keys)))
            if len(keys)
            else homes
        )

    def gained(self, old: Plan, side: Side, task: int) -> tuple[Bools, Regions] | None:
        """Where only keys have moved, only they are gained."""
        if not isinstance(old, FastJoinPlan) or self._layout != old._layout:
            return super().gained(old, side, task)
        group, columns = self.number(side), self._columns(side)
        keys = self._changed(old, group)
        axis = "word" if len(columns) == 1 else "hash"
        at = keys if axis == "word" else hash_draw(keys)
        mine, held = (plan._boxes(group, keys, axis, columns, at) for plan in (self, old))
        mine = mine.of_task(task)
        owners = np.zeros(old.tasks, np.bool_)
        owners[held.task[mine.meet(held)]] = True
        return owners, mine

    def _boxes(self, group: int, keys: Words, kind: str, columns: tuple[int, ...], at: Words) -> Regions:
        """Return on which tasks some keys are, which lie `at` places of a coordinate."""
        split = {one.key: one.tasks for splits in self.split[group : group + 1] for one in splits}
        owner = self.owner(group, keys)
        places = [split.get(key, (home,)) for key, home in zip(keys.tolist(), owner.tolist(), strict=True)]
        rows = np.repeat(at, np.array([len(tasks) for tasks in places], np.int64))
        tasks = np.array([task for place in places for task in place], np.int64)
        return Regions.of(tasks, axis=(kind, columns), low=rows, high=rows)

    def _columns(self, side: Side) -> tuple[int, ...]:
        return self.left if side == "left" else self.right

    def _changed(self, old: FastJoinPlan, group: int) -> Words:
        """Return the keys that are on other tasks than under a plan of the same layout."""
        here, there = self._entries(group), old._entries(group)
        return np.array(sorted({key for key, _ in here.items() ^ there.items()}), np.int64)

    @property
    def _layout(self) -> tuple[object, ...]:
        return self.tasks, self.left, self.right, self.shared

    def _entries(self, group: int) -> dict[int, int | SplitKey]:
        """Return where each key lives that does not live where its hash says."""
        found: dict[int, int | SplitKey] = dict(self.moved[group]) if group < len(self.moved) else {}
        return found | {one.key: one for one in self.split[group]} if group < len(self.split) else found

    def adapt(self, tasks: int) -> Plan:
        """Keep what still makes sense with another number of tasks; keys of tasks that are gone go back to their hash."""
        if tasks == self.tasks:
            return self
        bare = replace(
            self, tasks=tasks, moved=(), split=(), version=self.version + 1, memory=(), moving=False, volume=0
        )
        moved, split = [], []
        for group, table in enumerate(self.moved):
            members, old = bare.members(group), self.members(group)
            kept = tuple(
                (key, task - old.start + members.start) for key, task in table if task < old.start + members.size
            )
            moved.append(bare.without_homes(group, kept))
        for group, splits in enumerate(self.split):
            members, old = bare.members(group), self.members(group)
            shrunk = [
                one.on([task - old.start + members.start for task in one.tasks if task < old.start + members.size])
                for one in splits
            ]
            split.append(tuple(one for one in shrunk if len(one.tasks) > 1))
        return replace(bare, moved=tuple(moved), split=tuple(split))

    def without_homes(self, group: int, table: Table) -> Table:
        """Drop the entries that say what the hash says."""
        if not table:
            return ()
        home = self.home(group, np.array([key for key, _ in table], np.int64))
        return tuple(entry for entry, task in zip(table, home.tolist(), strict=True) if entry[1] != task)

    def describe(self) -> str:
        moves = "a table of moved and split keys"
        return f"hash, plus {moves}" if self.shared else f"a biclique with hash in each group, plus {moves}"

    def copies(self) -> tuple[float, float]:
        return self._most(self.split[:1], "left"), self._most(self.split[-1:], "right")

    def lookups(self) -> tuple[float, float]:
        return self._most(self.split[-1:], "left"), self._most(self.split[:1], "right")

    def _most(self, tables: tuple[Splits, ...], side: Side) -> float:
        """Return how many tasks a tuple of a split key goes to, where that is most."""
        shapes = [one.shape for splits in tables for one in splits]
        return float(max((shape.columns if side == "left" else shape.rows for shape in shapes), default=1))

    def to_json(self) -> dict[str, Any]:
        return {"scheme": self.scheme, **{one.name: getattr(self, one.name) for one in fields(self)}}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """Make the plan from its JSON data; tables are long and read by every task, so they get a path of their own."""
        tables: dict[str, Any] = {"moved": tuple(tuple(map(tuple, table)) for table in data["moved"])}
        tables["split"] = tuple(
            tuple(SplitKey(key, rows, tuple(tasks)) for key, rows, tasks in s) for s in data["split"]
        )
        tables["memory"] = tuple(Memory(*one) for one in data.get("memory", ()))
        rest = {name: _tuples(value) for name, value in data.items() if name not in tables}
        return cls(**rest, **tables)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
