"""Random staircases of the ordered tuple matrix, and what Definition 3 asks of a scheme for one."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from weft.routing.adsp import EVERY, Area, Staircase, Varietal, lay


def one(side: str, least: int, most: int) -> float:
    """Count both streams as a volume of 1, as Figs. 8 and 9 do."""
    return 1.0


def stairs_of(begin: list[int], end: list[int], rows: list[float], columns: list[float]) -> Staircase:
    return Staircase(
        np.array(rows, float), np.array(columns, float), np.array(begin), np.array(end),
        np.arange(1, len(rows)), np.arange(1, len(columns)),
    )  # fmt: skip


@st.composite
def staircases(draw: st.DrawFn, most: int = 9) -> Staircase:
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    begin = sorted(draw(st.lists(st.integers(0, columns), min_size=rows, max_size=rows)))
    end = sorted(draw(st.lists(st.integers(0, columns), min_size=rows, max_size=rows)))
    end = [max(a, b) for a, b in zip(begin, end, strict=True)]
    weights = st.integers(1, 5).map(float)
    return stairs_of(begin, end, draw(st.lists(weights, min_size=rows, max_size=rows)),
                     draw(st.lists(weights, min_size=columns, max_size=columns)))  # fmt: skip


def check_complete(stairs: Staircase, areas) -> None:
    """Definition 3: every row and column covered, no cell twice, every result cell once."""
    covered = np.zeros((len(stairs.rows), len(stairs.columns)), int)
    rows, columns = np.zeros(len(stairs.rows), bool), np.zeros(len(stairs.columns), bool)
    for r0, r1, c0, c1 in areas:
        covered[r0:r1, c0:c1] += 1
        rows[r0:r1] = True
        columns[c0:c1] = True
    result = np.zeros_like(covered, bool)
    for row, (begin, end) in enumerate(zip(stairs.begin, stairs.end, strict=True)):
        result[row, begin:end] = True
    assert rows.all() and columns.all()
    assert covered.max() <= 1
    assert (covered[result] == 1).all()


def matrix(rows: int, columns: int) -> Area:
    return lay(Varietal(rows, columns), EVERY, EVERY, tuple(range(rows * columns)))
