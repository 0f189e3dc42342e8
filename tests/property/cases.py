"""Random joins for Hypothesis: the generators of `weft_lab.torture`, with Hypothesis to draw from, so that failures shrink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from weft.routing import Scheme
from weft.spec import INNER, Kind, Window
from weft_lab.torture.cases import (
    SCHEMA,
    Case,
    Predicate,
    a_band,
    a_case,
    a_comparison,
    a_count_window,
    a_time_window,
    a_window,
    an_interval,
    count,
    expected_count,
    fed,
    make,
    spec_of,
    tables,
)
from weft_lab.torture.draw import Draw
from weft_lab.torture.legal import a_number_of_tasks, legal_indexes, legal_schemes

__all__ = [
    "SCHEMA", "Case", "Drawn", "Predicate", "bands", "cases", "comparisons", "count", "counts", "expected_count", "fed",
    "intervals", "legal_indexes", "legal_schemes", "legal_tasks", "make", "spec_of", "tables", "times", "windows",
]  # fmt: skip

T = TypeVar("T")


class Drawn:
    """The laboratory's choices, drawn by Hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return int(self._draw(st.integers(low, high)))

    def pick(self, options: Sequence[T]) -> T:
        found: T = self._draw(st.sampled_from(options))
        return found

    def flag(self) -> bool:
        return bool(self._draw(st.booleans()))


def _strategy(generate: Callable[[Draw], T]) -> Callable[[], st.SearchStrategy[T]]:
    @st.composite
    def strategy(draw: st.DrawFn) -> T:
        return generate(Drawn(draw))

    return strategy


comparisons, bands, intervals = _strategy(a_comparison), _strategy(a_band), _strategy(an_interval)
times, counts, windows = _strategy(a_time_window), _strategy(a_count_window), _strategy(a_window)


@st.composite
def cases(
    draw: st.DrawFn, window: st.SearchStrategy[Window] | None = None, *, itself: bool = False, unordered: bool = False,
    first: st.SearchStrategy[Predicate] | None = None, most: int = 6, kinds: Sequence[Kind] = (INNER,),
) -> Case:  # fmt: skip
    """Draw a join and its input; window and first predicate may be given."""
    return a_case(
        Drawn(draw), a_window if window is None else lambda _: draw(window),
        first=None if first is None else lambda _: draw(first), itself=itself, unordered=unordered, most=most,
        kinds=kinds,
    )  # fmt: skip


def legal_tasks(scheme: str | Scheme) -> st.SearchStrategy[int]:
    """Draw a number of tasks that a scheme can do with."""
    return _strategy(lambda draw: a_number_of_tasks(draw, scheme))()
