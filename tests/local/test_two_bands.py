"""Two bands through the local runtime: every spelling, ints and doubles with all their odd values, and what explain says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import at_most

WHOLE = st.one_of(st.integers(-9, 9), st.sampled_from([-(2**62), 2**62]))
REAL = st.one_of(
    st.integers(-9, 9).map(float), st.sampled_from([-math.inf, -0.0, 0.0, 0.1, 0.30000000000000004, math.inf, math.nan])
)

SPELLINGS: dict[str, Callable[[Any, Any], bool]] = {
    "abs(l.x - r.x) <= 2 AND abs(l.y - r.y) <= 3": lambda x, y: abs(x) <= 2 and abs(y) <= 3,
    "abs(l.x - r.x) < 2 AND abs(l.y - r.y) <= 0": lambda x, y: abs(x) < 2 and abs(y) <= 0,
    "l.x BETWEEN r.x - 2 AND r.x + 3 AND l.y BETWEEN r.y - 1 AND r.y + 1": lambda x, y: -2 <= x <= 3 and -1 <= y <= 1,
    "l.x > r.x - 2 AND l.x < r.x + 3 AND r.y >= l.y - 1 AND r.y < l.y + 4": lambda x, y: -2 < x < 3 and -4 < y <= 1,
    "abs(l.x - r.x) <= 2 AND l.y BETWEEN r.y - 1 AND r.y + 2": lambda x, y: abs(x) <= 2 and -1 <= y <= 2,
}


Points = list[tuple[Any, Any]]


def found(left: Points, right: Points, kind: pa.DataType, on: str, **how: Any) -> Counter[Any]:
    tables = [
        pa.table({"id": pa.array(range(len(rows)), pa.int64()), **{
            name: pa.array([row[at] for row in rows], kind) for at, name in enumerate("xy")
        }}) for rows in (left, right)
    ]  # fmt: skip
    pairs = weft.local.join(*tables, on=on, select=["l.id", "r.id AS o"], **how)
    return Counter(zip(pairs.column("id").to_pylist(), pairs.column("o").to_pylist(), strict=True))


@pytest.mark.parametrize("on", SPELLINGS)
@given(
    rows=st.tuples(*[st.lists(st.tuples(WHOLE, WHOLE), max_size=40)] * 2), batch=st.sampled_from([None, 5]),
    tasks=st.integers(1, 2),
)  # fmt: skip
@at_most(12)
def test_whole_numbers(on, rows, batch, tasks) -> None:
    wanted = Counter(
        (i, j) for i, (a, b) in enumerate(rows[0]) for j, (c, d) in enumerate(rows[1]) if SPELLINGS[on](a - c, b - d)
    )
    assert found(rows[0], rows[1], pa.int64(), on, index="boxes", batch=batch, tasks=tasks) == wanted


@pytest.mark.parametrize("on", SPELLINGS)
@given(rows=st.tuples(*[st.lists(st.tuples(REAL, REAL), max_size=40)] * 2))
@at_most(12)
def test_doubles(on, rows) -> None:
    """As a scan of all pairs does it: NaN, infinities and rounding are those of the kernels that check, tested elsewhere."""
    assert found(rows[0], rows[1], pa.float64(), on, index="boxes") == found(
        rows[0], rows[1], pa.float64(), on, index="scan"
    )


def test_explain_says_that_a_second_band_is_used() -> None:
    schema = pa.schema({"id": pa.int64(), "x": pa.float64(), "y": pa.float64(), "ts": pa.timestamp("us")})
    two, one = (
        weft.local.explain(schema, schema, on=on).to_dict()["index"]
        for on in (next(iter(SPELLINGS)), "abs(l.x - r.x) <= 2")
    )
    assert two.startswith("runs: sorted runs; blocks sorted by a second range")
    assert "second" not in one
    asked = weft.local.explain(schema, schema, on=next(iter(SPELLINGS)), index="boxes").to_dict()["index"]
    assert asked.startswith("boxes: ")


def test_clusters_and_lone_points_agree_with_a_grid_of_all_pairs() -> None:
    random = np.random.default_rng(5)
    rows = [[(int(x), int(y)) for x, y in np.where(random.random((900, 1)) < 0.5, random.integers(0, 4, (900, 2)),
             random.integers(0, 4000, (900, 2)))] for _ in range(2)]  # fmt: skip
    (lx, ly), (rx, ry) = (np.array(side).T for side in rows)
    near = (abs(lx[:, None] - rx) <= 2) & (abs(ly[:, None] - ry) <= 3)
    wanted = Counter(zip(*(side.tolist() for side in np.nonzero(near)), strict=True))
    assert found(rows[0], rows[1], pa.int64(), next(iter(SPELLINGS))) == wanted
