"""Algorithm 5: the plan of a migration, what is copied from whom to whom, dealt out anew, and deleted.

A holding is a set of rectangles, keys by draws. A new cell lacks n = s - (s ∩ h), where h is what its task held under
the old scheme, nothing for a task that had no cell (Eq. 15, 001-39); it copies ν = h' ∩ n from the first old cell that
holds it, which is column 0 for the left stream and row 0 for the right one, on regular cells where there are any
(Eq. 16); and deletes d = h - (s ∩ h) when all copies are done (Eq. 17). The runtime moves state by reading segments and
needs no such plan; it is here to be counted, shown and tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from weft.routing.adsp import SPACE, Area, Mass
from weft.types import SIDES, Side

__all__ = ["Kind", "Move", "Piece", "migration", "volume"]

Kind: TypeAlias = Literal["discard", "copy", "deal", "delete"]
"""*discard* □ states of an old extra line; *copy* <m, m', ν>; *deal* □ states onto a new extra line; *delete* <⊙, m, d>."""

Piece: TypeAlias = tuple[int, int, int, int]
"""Keys from .. to (inclusive) by draws from .. up to (exclusive)."""


@dataclass(frozen=True)
class Move:
    """One entry of the plan; `source` is None where nothing is sent."""

    kind: Kind
    source: int | None
    target: int
    side: Side
    piece: Piece

    def volume(self, mass: Mass) -> float:
        """Return the tuples that the entry stands for."""
        least, most, start, end = self.piece
        return mass(self.side, least, most) * (end - start) / SPACE


def migration(old: Sequence[Area], new: Sequence[Area]) -> list[Move]:
    """Return the migration plan from one scheme to another; cells are paired by their tasks (Algorithm 4)."""
    moves: list[Move] = []
    held = {side: _holdings(old, side, special=True) for side in SIDES}
    for side in SIDES:  # step 1: states that are on an extra cell by chance are dropped, they are copies
        for task, pieces in _holdings(old, side, special=True, regular=False).items():
            moves += [Move("discard", None, task, side, piece) for piece in pieces]
            held[side][task] = [rest for piece in held[side][task] for rest in _without([piece], pieces)]
    for kind, regular, special in (("copy", True, False), ("deal", False, True)):  # step 2, then step 3
        for side in SIDES:
            wanted = _holdings(new, side, special=special, regular=regular)
            for task, pieces in wanted.items():
                lacking = _without(pieces, held[side].get(task, []))
                for source, owned in _first_holders(old, side):
                    for piece in lacking:
                        sent = [both for one in owned if (both := _meet(one, piece)) is not None]
                        moves += [Move("copy" if kind == "copy" else "deal", source, task, side, one) for one in sent]
    for side in SIDES:  # step 4
        after = _holdings(new, side, special=True)
        for task, pieces in held[side].items():
            gone = _without(pieces, after.get(task, []))
            moves += [Move("delete", None, task, side, piece) for piece in gone]
    return moves


def volume(moves: Sequence[Move], mass: Mass) -> float:
    """Return the tuples sent from task to task (001-44: migration volume)."""
    return sum(move.volume(mass) for move in moves if move.source is not None)


def _holdings(areas: Sequence[Area], side: Side, *, special: bool, regular: bool = True) -> dict[int, list[Piece]]:
    """Return what each task holds of a side: by its place (`regular`), by chance on an extra cell (`special`), or both."""
    found: dict[int, list[Piece]] = {}
    for area in areas:
        if area.keys(side)[0] > area.keys(side)[1]:
            continue
        atoms = area.atoms(side)
        ends = (*atoms.starts[1:], SPACE)
        cells = area.rows * area.columns
        for cell, task in enumerate(area.tasks):
            chance = atoms.special & (cell >= cells)
            wanted = atoms.hold[cell] & ((chance & special) | (~chance & regular))
            pieces = [(*area.keys(side), atoms.starts[at], ends[at]) for at in wanted.nonzero()[0]]
            if pieces:
                found[task] = pieces
    return found


def _first_holders(areas: Sequence[Area], side: Side) -> list[tuple[int, list[Piece]]]:
    """Return every tuple of a side once, with the first task that holds it: areas may share keys, cells do share draws."""
    found: list[tuple[int, list[Piece]]] = []
    seen: list[Piece] = []
    for area in areas:
        if area.keys(side)[0] > area.keys(side)[1]:
            continue
        atoms = area.atoms(side)
        ends = (*atoms.starts[1:], SPACE)
        first = atoms.hold.argmax(axis=0)
        for cell, task in enumerate(area.tasks):
            pieces: list[Piece] = [
                (*area.keys(side), atoms.starts[at], ends[at]) for at in (first == cell).nonzero()[0]
            ]
            fresh = _without(pieces, seen)
            if fresh:
                found.append((task, fresh))
        seen.append((*area.keys(side), 0, SPACE))
    return found


def _meet(one: Piece, two: Piece) -> Piece | None:
    least, most, start, end = max(one[0], two[0]), min(one[1], two[1]), max(one[2], two[2]), min(one[3], two[3])
    return (least, most, start, end) if least <= most and start < end else None


def _without(pieces: Sequence[Piece], holes: Sequence[Piece]) -> list[Piece]:
    """Return the pieces less the holes, as disjoint pieces."""
    rest = list(pieces)
    for hole in holes:
        rest = [part for piece in rest for part in _cut(piece, hole)]
    return rest


def _cut(piece: Piece, hole: Piece) -> list[Piece]:
    both = _meet(piece, hole)
    if both is None:
        return [piece]
    least, most, start, end = piece
    parts: list[Piece] = []
    if least < both[0]:
        parts.append((least, both[0] - 1, start, end))
    if both[1] < most:
        parts.append((both[1] + 1, most, start, end))
    if start < both[2]:
        parts.append((both[0], both[1], start, both[2]))
    if both[3] < end:
        parts.append((both[0], both[1], both[3], end))
    return parts
