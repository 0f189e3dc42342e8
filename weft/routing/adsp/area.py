"""One coverage area with its task areas: which keys of each stream it takes, and which of its tasks hold a draw.

Areas own their key intervals on *both* streams (001-29): cells of areas are disjoint, so a pair meets in one area, and
there in the one cell where its row and its column cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from weft.routing.adsp.division import Division
from weft.routing.adsp.varietal import Along, Varietal
from weft.types import WORD_MAX, WORD_MIN, Bools, Side

__all__ = ["EVERY", "Area", "Atoms", "lay"]

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
