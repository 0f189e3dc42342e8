"""Merging runs: sorted, renumbered, without the rows that have expired."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels.merge import Sorted, merge_all, merge_double, merge_single
from weft.types import WORD_MAX, WORD_MIN

quick = at_most(100)
word = st.one_of(st.integers(0, 4), st.sampled_from([WORD_MIN, WORD_MAX]))


@pytest.mark.parametrize("columns", [0, 1, 2])
@given(data=st.data())
@quick
def test_merging_is_sorting_what_is_alive(columns: int, data: st.DataObject) -> None:
    pieces: list[Sorted] = []
    wanted: list[tuple[int, ...]] = []
    shift = 0
    for _ in range(data.draw(st.integers(1, 5))):
        rows = data.draw(st.lists(st.tuples(*[word] * columns), max_size=data.draw(st.sampled_from([3, 40]))))
        dead = data.draw(st.integers(0, len(rows))) if not pieces else 0  # only the oldest run has rows to leave behind
        table = np.array(rows, np.int64).reshape(len(rows), columns)
        order = np.lexsort(table.T[::-1]) if columns else np.arange(len(rows))
        keys = tuple(np.ascontiguousarray(table[order, c]) for c in range(columns))
        pieces.append(Sorted(keys, order.astype(np.int32), shift - dead))
        wanted += [(*rows[row], row - dead + shift) for row in range(dead, len(rows))]
        shift += len(rows) - dead
    merged = merge_all(pieces)
    found = list(zip(*(key.tolist() for key in merged.keys), merged.row.tolist(), strict=True))
    assert sorted(found) == sorted(wanted)
    assert [row[:columns] for row in found] == sorted(row[:columns] for row in wanted)


def test_kernels_as_plain_python() -> None:
    out, row = np.empty(6, np.int64), np.empty(6, np.int64)
    a, b = (np.array([1, 4, 9]), np.array([2, 0, 1])), (np.array([2, 4]), np.array([0, 1]))
    count = plain(merge_single)(*a, -1, *b, 2, out, row)
    assert (out[: int(count)].tolist(), row[: int(count)].tolist()) == ([1, 2, 4, 9], [1, 2, 3, 0])
    out2 = np.empty(6, np.int64)
    zeros = np.zeros(3, np.int64)
    count = plain(merge_double)(a[0], zeros, a[1], 0, b[0], zeros[:2], b[1], 3, out, out2, row)
    assert (out[:5].tolist(), row[:5].tolist(), count) == ([1, 2, 4, 4, 9], [2, 3, 0, 4, 1], 5)
