"""Eight words at once do what a loop over them does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from tests.examples import at_most
from weft.kernels.jit import kernel
from weft.kernels.llvm import LANES, copy_lanes, copy_masked, count_less, count_upto, fill_lanes
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

word = st.one_of(st.integers(0, 9), st.sampled_from([WORD_MIN, WORD_MAX, -1]))


@kernel
def counts(words: Words, at: int, key: int) -> tuple[int, int]:
    return count_less(words, np.uint64(at), key), count_upto(words, np.uint64(at), key)


@kernel
def copies(words: Words, rows: Rows, at: int, skip: int, mask: int, out: Rows) -> None:
    copy_masked(words, np.uint64(at), np.uint64(skip), mask, out, np.uint64(1))
    copy_lanes(rows, np.uint64(at), np.uint64(skip), out, np.uint64(10))
    fill_lanes(out, np.uint64(20), np.int32(7))


@given(words=st.lists(word, min_size=11, max_size=11), key=word, at=st.integers(0, 3))
@at_most(60)
def test_keys_are_counted(words: list[int], key: int, at: int) -> None:
    seen = words[at : at + LANES]
    assert counts(np.array(words), at, key) == (sum(w < key for w in seen), sum(w <= key for w in seen))


@pytest.mark.parametrize("skip", range(LANES))
def test_rows_are_copied_from_any_lane_on(skip: int) -> None:
    words = np.arange(100, 112) << 32 | np.arange(12)
    out = np.full(30, -1, np.int32)
    copies(words, np.arange(50, 62, dtype=np.int32), 2, skip, 7, out)
    order = [(lane + skip) % LANES for lane in range(LANES)]
    assert out.tolist() == (
        [-1, *[(2 + lane) & 7 for lane in order], -1, *[52 + lane for lane in order], -1, -1, *[7] * LANES, -1, -1]
    )


def test_only_contiguous_words() -> None:
    with pytest.raises(TypingError):
        counts(np.arange(40)[::2], 0, 3)
