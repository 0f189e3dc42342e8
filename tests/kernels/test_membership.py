"""Which words are listed, against set membership."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels import find_listed
from weft.types import WORD_MAX, WORD_MIN

WORDS = st.lists(st.one_of(st.integers(-4, 4), st.sampled_from((WORD_MIN, WORD_MAX))), max_size=30)


@given(WORDS, WORDS)
def test_positions_of_listed_words(words, listed):
    found = find_listed(np.array(words, np.int64), np.array(sorted(set(listed)), np.int64))
    assert found.tolist() == [at for at, word in enumerate(words) if word in listed]
