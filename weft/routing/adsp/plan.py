"""Algorithm 3: a tuple goes to the areas that take its key, and in each to all tasks of its row or its column.

Areas own their key intervals on *both* streams: cells of areas are disjoint, so a pair meets in one area, and there in the
one cell where its row and its column cross. By F(k) and one storage range, as printed, a pair near a boundary could meet
twice (001-29). The random row of step 2 is a function of the draw, so it survives a replay (001-28).

A stream is divided by its draws: a step function from [0, 2**32) to parts. A row of the matrix is an interval of draws at first.
Aligned to the division before it (start-point alignment, 4.2), a new part starts where the old one started and gives up its tail,
so that added parts are fed by tails and nobody else moves (001-35); a part is then a few intervals. Scaling in is the mirror
image: what removed parts held fills the others up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from weft.routing.adsp.varietal import Along, Varietal
from weft.routing.fixed import best_shape
from weft.routing.plan import Plan
from weft.routing.regions import Regions
from weft.types import SIDES, U32, WORD_MAX, WORD_MIN, Bools, Side, Words

__all__ = ["EVERY", "SPACE", "Area", "AreaPlan", "Atoms", "Division", "lay", "overlaps"]

SPACE = 1 << 32
"""Draws lie in [0, SPACE)."""

_PIECES = 16
"""Intervals per part on average; a division that has become finer than this is cut anew."""


@dataclass(frozen=True)
class Division:
    """`starts[i]` up to the next start belongs to part `owners[i]`; the first start is 0."""

    starts: tuple[int, ...] = (0,)
    owners: tuple[int, ...] = (0,)

    @staticmethod
    def of(shares: Sequence[float]) -> Division:
        """Cut the draws into intervals in proportion to the shares.

        >>> Division.of([0.5, 0.5])
        Division(starts=(0, 2147483648), owners=(0, 1))
        """
        ends = _ends(shares)
        held = [(start, part) for part, (start, end) in enumerate(pairwise([0, *ends])) if end > start]
        return Division(tuple(start for start, _ in held), tuple(part for _, part in held))

    @staticmethod
    def equal(parts: int) -> Division:
        """Cut the draws into equal intervals."""
        return Division.of([1 / parts] * parts)

    def pieces(self) -> list[tuple[int, int, int]]:
        """Return (start, end, owner) of every interval."""
        return list(zip(self.starts, (*self.starts[1:], SPACE), self.owners, strict=True))

    def part_of(self, u: U32) -> NDArray[np.int64]:
        """Return the part of each draw."""
        at = np.searchsorted(np.array(self.starts, np.int64), u.astype(np.int64), side="right") - 1
        return np.array(self.owners, np.int64)[at]

    def aligned(self, shares: Sequence[float]) -> Division:
        """Return the division in these shares that moves the least: start points stay (Fig. 8b, 001-36)."""
        ends = _ends(shares)
        wanted = [end - start for start, end in pairwise([0, *ends])]
        kept: list[tuple[int, int, int]] = []
        pool: list[tuple[int, int]] = []
        for start, end, owner in self.pieces():
            take = min(end - start, wanted[owner]) if owner < len(wanted) else 0
            if take:
                wanted[owner] -= take
                kept.append((start, start + take, owner))
            if start + take < end:
                pool.append((start + take, end))
        for part, need in enumerate(wanted):
            missing = need
            while missing:
                start, end = pool.pop(0)
                take = min(missing, end - start)
                kept.append((start, start + take, part))
                missing -= take
                if start + take < end:
                    pool.insert(0, (start + take, end))
        made = _joined(sorted(kept))
        return made if len(made.starts) <= _PIECES * len(wanted) else Division.of(shares)

    def spread(self, parts: int) -> Division:
        """Return the division of the primary stream on an extra line of `parts` cells (001-17).

        Row x < `parts` belongs to cell x; every other row has no cell there and is dealt out evenly, "special" states.
        """
        dealt: list[tuple[int, int, int]] = []
        for start, end, owner in self.pieces():
            if owner < parts:
                dealt.append((start, end, owner))
                continue
            cuts = [start + (end - start) * part // parts for part in range(parts + 1)]
            dealt += [(low, high, part) for part, (low, high) in enumerate(pairwise(cuts)) if high > low]
        return _joined(dealt)

    def measures(self, parts: int) -> list[float]:
        """Return each part's share of the draws."""
        held = [0] * parts
        for start, end, owner in self.pieces():
            held[owner] += end - start
        return [size / SPACE for size in held]


def overlaps(one: Sequence[int], two: Sequence[int]) -> NDArray[np.float64]:
    """Return how much of the draws each pair of intervals shares; intervals are given by their starts."""
    low = np.maximum(np.array(one, np.int64)[:, None], np.array(two, np.int64)[None, :])
    high = np.minimum(np.array([*one[1:], SPACE], np.int64)[:, None], np.array([*two[1:], SPACE], np.int64)[None, :])
    return np.asarray(np.maximum(high - low, 0) / SPACE)


def _ends(shares: Sequence[float]) -> list[int]:
    total = sum(shares)
    ends = [round(SPACE * part) for part in np.cumsum(np.array(shares, np.float64)) / total]
    return [*ends[:-1], SPACE]


def _joined(pieces: Sequence[tuple[int, int, int]]) -> Division:
    starts: list[int] = []
    owners: list[int] = []
    for start, _, owner in pieces:
        if not owners or owners[-1] != owner:
            starts.append(start)
            owners.append(owner)
    return Division(tuple(starts), tuple(owners))


EVERY = (WORD_MIN, WORD_MAX)
"""The interval of all keys."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Draws cut so finely that all of an interval is treated alike; `hold[cell, interval]` tells who keeps it.

    `special` marks intervals of the primary stream that sit on an extra cell by chance, not by their row (□ in Alg. 5).
    """

    starts: tuple[int, ...]
    hold: Bools
    special: Bools


@dataclass(frozen=True)
class Area:
    """Inclusive key intervals, the shape `<α, β, P_δ, +>`, the division of both streams, and the task of each cell.

    Cells are numbered row by row, extra cells last. Along a column the left stream is primary and the right one has one
    part more than columns, the extra line; along a row it is the other way round.
    """

    left: tuple[int, int]
    right: tuple[int, int]
    rows: int
    columns: int
    extra: int
    along: Along
    by_left: Division
    by_right: Division
    tasks: tuple[int, ...]

    def keys(self, side: Side) -> tuple[int, int]:
        """Return the key interval of a side."""
        return self.left if side == "left" else self.right

    def atoms(self, side: Side) -> Atoms:
        """Return who holds which draws of a side."""
        return _atoms(self, side)

    def copies(self, side: Side) -> float:
        """Return in how many of its tasks the area keeps a tuple, on average over the draws."""
        atoms = self.atoms(side)
        sizes = np.diff(np.array([*atoms.starts, 1 << 32], np.float64)) / (1 << 32)
        return float(atoms.hold.sum(axis=0) @ sizes)

    @staticmethod
    def of_json(data: dict[str, Any]) -> Area:
        """Read an area back from JSON data."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        for name in ("by_left", "by_right"):
            fields[name] = Division(*(tuple(data[name][part]) for part in ("starts", "owners")))
        return Area(**fields)


def lay(
    shape: Varietal, left: tuple[int, int], right: tuple[int, int], tasks: tuple[int, ...], before: Area | None = None
) -> Area:
    """Lay a varietal matrix over key intervals, its divisions aligned to those of an area before."""
    shares_left = _shares(shape.rows, shape.rest if shape.along == "row" else 0.0, shape.along == "row")
    shares_right = _shares(shape.columns, shape.rest if shape.along == "column" else 0.0, shape.along == "column")
    if before is None:
        by_left, by_right = Division.of(shares_left), Division.of(shares_right)
    else:
        by_left, by_right = before.by_left.aligned(shares_left), before.by_right.aligned(shares_right)
    return Area(left, right, shape.rows, shape.columns, shape.extra, shape.along, by_left, by_right, tasks)


def _shares(lines: int, rest: float, irregular: bool) -> list[float]:
    return [(1 - rest) / lines] * lines + ([rest] if irregular else [])


@lru_cache(maxsize=4096)
def _atoms(area: Area, side: Side) -> Atoms:
    division = area.by_left if side == "left" else area.by_right
    primary = area.extra > 0 and (area.along == "column") == (side == "left")
    lines = area.rows if side == "left" else area.columns
    dealt = division.spread(area.extra) if primary else Division()
    starts = tuple(sorted({*division.starts, *dealt.starts}))
    at = np.array(starts, np.uint32)
    line = division.part_of(at)
    regular = np.arange(area.rows * area.columns)
    own = regular // area.columns if side == "left" else regular % area.columns
    hold = own[:, None] == line[None, :]
    special = np.zeros(len(starts), np.bool_)
    if area.extra:
        extra = np.arange(area.extra)[:, None]
        if primary:
            more = dealt.part_of(at)[None, :] == extra
            special = line >= area.extra
        else:  # the extra line is the part after the regular ones; each of its cells joins all of it
            more = np.broadcast_to(line[None, :] == lines, (area.extra, len(starts)))
        hold = np.concatenate([hold, more])
    return Atoms(starts, np.ascontiguousarray(hold), special)


def _boxes(area: Area, side: Side, *, first: bool) -> tuple[NDArray[np.int64], ...]:
    """Return task, key interval and draws of each cell and interval that it keeps; of each interval only the first task."""
    atoms = area.atoms(side)
    order = np.argsort(np.array(area.tasks))
    hold = atoms.hold[order]
    if first:
        hold = hold & (np.cumsum(hold, axis=0) == 1)
    cell, interval = np.nonzero(hold)
    cuts = np.array([*atoms.starts, 1 << 32], np.int64)
    low, high = (np.full(len(cell), bound, np.int64) for bound in area.keys(side))
    return np.array(area.tasks, np.int64)[order[cell]], low, high, cuts[interval], cuts[interval + 1] - 1


@dataclass(frozen=True)
class AreaPlan(Plan):
    """Areas of the tuple matrix; a task belongs to one cell of one area, or rests.

    `columns` are the word columns (left, right) that order the matrix, () without an order. `epoch` counts changes, so
    that statistics of an older plan can be told apart.
    """

    scheme: ClassVar[str] = "areas"

    areas: tuple[Area, ...] = ()
    columns: tuple[int, ...] = ()
    epoch: int = 0

    @staticmethod
    def whole(tasks: int, columns: tuple[int, ...] = (), shape: tuple[int, int] | None = None) -> AreaPlan:
        """Return the plan of one area over all keys: 2-DSP, a plain join matrix."""
        rows, across = shape or best_shape(tasks)
        area = lay(Varietal(rows, across), EVERY, EVERY, tuple(range(rows * across)))
        return AreaPlan(tasks, (area,), columns)

    @property
    def active(self) -> tuple[int, ...]:
        """Return the tasks that have a cell."""
        return tuple(sorted(task for area in self.areas for task in area.tasks))

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        visits = np.zeros((self.tasks, len(u)), np.bool_)
        for area in self.areas:
            atoms = area.atoms(side)
            at = np.searchsorted(np.array(atoms.starts, np.int64), u.astype(np.int64), side="right") - 1
            least, most = area.keys(side)
            if not self.columns or (least, most) == EVERY:
                visits[list(area.tasks)] = atoms.hold[:, at]
                continue
            key = words[self.columns[0] if side == "left" else self.columns[1]]
            rows = np.flatnonzero((key >= least) & (key <= most))
            visits[np.array(area.tasks)[:, None], rows[None, :]] = atoms.hold[:, at[rows]]
        return visits

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        parts = [_boxes(area, side, first=first) for area in self.areas]
        task, low, high, start, end = (np.concatenate(part) for part in zip(*parts, strict=True))
        at = 0 if side == "left" else 1
        axis: tuple[str, tuple[int, ...]] | tuple[()] = ("word", self.columns[at : at + 1]) if self.columns else ()
        return Regions(axis, task, low, high, start, end)

    def adapt(self, tasks: int) -> Plan:
        """Keep the areas where their cells fit into the new tasks, numbered anew if need be; else one matrix."""
        active = self.active
        if len(active) > tasks:
            return replace(AreaPlan.whole(tasks, self.columns), epoch=self.epoch + 1)
        if active[-1] < tasks:
            return replace(self, tasks=tasks)
        place = {task: number for number, task in enumerate(active)}
        areas = tuple(replace(area, tasks=tuple(place[task] for task in area.tasks)) for area in self.areas)
        return replace(self, tasks=tasks, areas=areas, epoch=self.epoch + 1)

    def describe(self) -> str:
        order = "A-DSP areas that follow the keys" if self.columns else "shapes that follow the volumes of the streams"
        return f"a matrix of {self.areas[0].rows} x {self.areas[0].columns} tasks, then {order}"

    def copies(self) -> tuple[float, float]:
        """Return the mean over areas: which keys are frequent is not the plan's knowledge."""
        left, right = (float(np.mean([area.copies(side) for area in self.areas])) for side in SIDES)
        return left, right

    def lookups(self) -> tuple[float, float]:
        return self.copies()

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        areas = tuple(Area.of_json(area) for area in data["areas"])
        return cls(data["tasks"], areas, tuple(data["columns"]), data["epoch"])
