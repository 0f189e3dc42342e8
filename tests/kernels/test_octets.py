"""Eight bytes at a time give what one at a time would."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.documents.json_scan import hash_range
from weft.kernels.llvm import copied, equal, plain8

few = st.sampled_from(b'ab"\\ \x1f\x7f\x80')
texts = st.lists(few, max_size=20).map(bytes)


def array(text: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(text, np.uint8).copy()


@given(st.lists(st.one_of(few, st.integers(0, 255)), min_size=8, max_size=8).map(bytes))
def test_plain_characters_are_counted(text: bytes) -> None:
    odd = [k for k, c in enumerate(text) if c < 32 or c >= 128 or c in b'"\\']
    assert plain8(array(text).view(np.uint64)[0]) == (odd[0] if odd else 8)


@given(texts, texts, st.integers(0, 3), st.integers(0, 3))
def test_stretches_are_copied_and_compared(one: bytes, two: bytes, a: int, b: int) -> None:
    source, out = array(b"#" * a + one), array(b"." * (b + len(one) + 2))
    assert copied(source, a, a + len(one), out, b) == b + len(one)
    assert out.tobytes() == b"." * b + one + b".."
    other = array(b"#" * b + two)
    same = equal(source, a, a + len(one), other, b, b + len(two))
    assert same == (one == two)
    if same:
        assert hash_range(source, a, a + len(one)) == hash_range(other, b, b + len(two))
