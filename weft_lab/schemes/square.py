"""`Square`, the baseline of Eq. 9: one matrix of square cells, V/2 of each stream (001-43)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.routing import SCHEMES, Scheme, best_shape
from weft.routing.adsp import EVERY, AreaLayout, Elastic, Gathered, Varietal
from weft.spec import JoinSpec, Term

__all__ = ["Square", "square_shape"]


def square_shape(left: float, right: float, memory: float) -> tuple[int, int]:
    """Return ⌈|R| / V_h⌉ rows and ⌈|S| / V_h⌉ columns, at least one each.

    >>> square_shape(9, 7, 10)
    (2, 2)
    """
    return max(1, -int(-left * 2 // memory)), max(1, -int(-right * 2 // memory))


@SCHEMES.register
@dataclass(frozen=True)
class Square(Elastic):
    """A regular matrix that follows the volume of both streams. Serves any condition and uses no key order."""

    name: ClassVar[str] = "square"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Square(memory=5, patience=1), Square(patience=1)

    def order(self, spec: JoinSpec) -> Term | None:
        return None

    def layout(self, spec: JoinSpec, seen: Gathered, tasks: int, memory: float | None) -> AreaLayout:
        volumes = seen.left.total, seen.right.total
        rows, columns = best_shape(tasks, *volumes)
        if memory is not None:
            wanted = square_shape(*volumes, memory)
            rows, columns = wanted if wanted[0] * wanted[1] <= tasks else (rows, columns)
        return AreaLayout((EVERY,), (EVERY,), (volumes,), (Varietal(rows, columns),))
