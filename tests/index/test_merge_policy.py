"""Merging keeps runs few, moves rows seldom, and depends on sizes only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.index.run_building import MergePolicy


@given(sizes=st.lists(st.integers(1, 100), min_size=1, max_size=60))
@settings(deadline=None)
def test_runs_stay_few(sizes: list[int]) -> None:
    runs: list[int] = []
    for size in sizes:
        runs.append(size)
        cut = MergePolicy(1.0, 4, 8).merge_from(runs)
        if cut < len(runs) - 1:
            runs[cut:] = [sum(runs[cut:])]
    assert sum(runs) == sum(sizes)
    assert len(runs) <= 1 + 1 + 3 * 8


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0])
def test_without_expiry_rows_move_logarithmically(ratio: float) -> None:
    runs, moved = [], 0
    for _ in range(4096):
        runs.append(100)
        cut = MergePolicy(ratio, 4, 64).merge_from(runs)
        if cut < len(runs) - 1:
            moved += sum(runs[cut:])
            runs[cut:] = [sum(runs[cut:])]
    assert moved / 409_600 < 4 + 4 / ratio
