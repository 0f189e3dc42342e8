"""Keys packed with their rows: nothing is lost, ranges mean the same, merging is sorting what is alive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numba import types

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels import merge_packed, packed
from weft.kernels.merge_packed import Piece, merge_pieces, without_first
from weft.kernels.packed import Frame, Packed, frame_of, pack, pack_by, pack_ends, prefetch_row, row_at
from weft.types import WORD_MAX, WORD_MIN

quick = at_most(100)
word = st.one_of(st.integers(0, 5), st.integers(WORD_MIN, WORD_MAX), st.sampled_from([WORD_MIN, WORD_MAX, 1 << 40]))


@given(low=word, high=word, rows=st.integers(0, 1 << 31))
@quick
def test_a_frame_holds_what_it_was_made_for(low: int, high: int, rows: int) -> None:
    low, high = min(low, high), max(low, high)
    frame = frame_of(low, high, rows)
    if frame is not None:
        assert frame.holds(low, high, rows)
        half = 1 << (63 - frame.bits)
        assert frame.middle - half >= WORD_MIN and frame.middle + half <= WORD_MAX
    elif high - low < 1 << 32 and low > WORD_MIN + (1 << 33) and high < WORD_MAX - (1 << 33):
        assert rows >= (1 << 31) - 1, "keys of 32 bits always fit"


@pytest.mark.parametrize("domain", [31, 40])
def test_a_round_domain_and_a_large_window_fill_a_word(domain: int) -> None:
    """Keys from a domain of 2**40 that begins at 0, as a sample shows it, beside 24 bits of rows."""
    frame = frame_of(1 << 16, (1 << domain) - (1 << 16), 10 << 20)
    assert frame is not None
    assert frame.holds(0, (1 << domain) - 2, 10 << 20)


@given(
    keys=st.lists(st.integers(-9, 9), max_size=30), low=st.integers(-12, 12), width=st.integers(-3, 9), data=st.data()
)
@quick
def test_packed_ranges_are_the_plain_ones(keys: list[int], low: int, width: int, data: st.DataObject) -> None:
    frame = Frame(data.draw(st.integers(-6, 6)), data.draw(st.sampled_from([60, 61])))  # keys within 8, or within 4
    keys = [key for key in keys if frame.holds(key, key, len(keys))]
    sorted_keys, rows = np.sort(np.array(keys, np.int64)), np.argsort(np.array(keys, np.int64), kind="stable")
    made = pack(sorted_keys, rows.astype(np.int32), frame)
    assert (made.keys.tolist(), made.rows.tolist()) == (sorted_keys.tolist(), rows.tolist())
    assert pack_by(np.array(keys, np.int64), rows.astype(np.int32), frame).words.tolist() == made.words.tolist()
    by = data.draw(st.integers(-2, 2))
    (lo,), (hi,) = pack_ends(np.array([low - by]), np.array([low + width]), by, 0, frame)
    found = made.words[(made.words >= lo) & (made.words <= hi)]
    assert (found >> frame.bits).tolist() == [key - frame.middle for key in sorted_keys if low <= key <= low + width]


@given(data=st.data())
@quick
def test_merging_is_sorting_what_is_alive(data: st.DataObject) -> None:
    frame = Frame(0, 57)  # keys within 64; rows up to 127 and more
    pieces: list[Piece] = []
    wanted: list[tuple[int, int]] = []
    shift = 0
    for _ in range(data.draw(st.integers(1, 5))):
        keys = np.array(data.draw(st.lists(st.integers(-63, 63), max_size=40)), np.int64)
        dead = data.draw(st.integers(0, len(keys))) if not pieces else 0
        order = np.argsort(keys, kind="stable")
        whole = pack(keys[order], order.astype(np.int32), frame)
        pieces.append(Piece(without_first(whole, dead), shift - dead))
        wanted += [(int(keys[row]), row - dead + shift) for row in range(dead, len(keys))]
        shift += len(keys) - dead
    assume(len(pieces) > 1 or pieces[0].shift == 0)  # one piece alone is not merged, so nothing shifts it
    made = merge_pieces(pieces, Packed(pieces[0].words, frame))
    assert list(zip(made.keys.tolist(), made.rows.tolist(), strict=True)) == sorted(wanted)
    fresh = Packed(made.words, frame).fences
    assert made.fences.fences.tolist() == fresh.fences.tolist()
    assert made.fences.posts.tolist() == fresh.posts.tolist()


@pytest.mark.parametrize("sizes", [(5000, 900), (9, 7000), (4096, 4096), (0, 3000), (3000, 0), (1, 1)])
@pytest.mark.parametrize("apart", [False, True], ids=["mixed", "apart"])
def test_large_merges_and_their_fences(sizes: tuple[int, int], apart: bool) -> None:
    """More than a round of steps, and sides of which one runs out at once."""
    random, pieces = np.random.default_rng(sum(sizes)), []
    for number, size in enumerate(sizes):
        keys = np.sort(random.integers(0, 1 << 30, size)) + (number << 31 if apart else 0)
        pieces.append(Piece(pack(keys, np.arange(size), Frame(0, 24)).words, number * sizes[0]))
    made = merge_pieces(pieces, Packed(pieces[0].words, Frame(0, 24)))
    assert np.array_equal(made.words, np.sort(np.concatenate([piece.words + piece.shift for piece in pieces])))
    assert np.array_equal(made.fences.fences, made.words[::8])
    assert np.array_equal(made.fences.posts, made.words[::64])


def test_kernels_as_plain_python() -> None:
    frame, out = Frame(5, 8), np.empty(7, np.int64)
    keys, rows = np.array([3, 4, 9]), np.array([2, 0, 1])
    plain(packed.pack_words)(keys, rows, *frame, out)
    assert out[:3].tolist() == [(-2 << 8) | 2, -1 << 8, (4 << 8) | 1]
    plain(packed.pack_rows)(np.array([4, 9, 3]), rows, *frame, out)
    assert out[:3].tolist() == [(-2 << 8) | 2, -1 << 8, (4 << 8) | 1]
    a, b = out[:3].copy(), pack(np.array([3, 4, 5, 6]), np.arange(4), frame).words
    assert plain(merge_packed.split)(a, 0, b, 3, 4) == 2
    with np.errstate(over="ignore"):
        plain(merge_packed.merge_four)(a, 0, b, 3, out, np.empty(1, np.int64))
    assert out.tolist() == sorted([*a.tolist(), *(b + 3).tolist()])
    left = np.empty(8, np.int64)
    assert plain(merge_packed.leave_out)(out, frame.mask, 3, left) == sum(out & frame.mask >= 3)
    ends = np.empty(1, np.int64), np.empty(1, np.int64)
    plain(packed.clip_ends)(np.array([4]), np.array([4]), 0, 1, *frame, *ends)
    assert [int(end[0]) for end in ends] == [-1 << 8, 255]


def test_rows_are_read_in_kernels_only() -> None:
    with pytest.raises(NotImplementedError):
        row_at(np.array([1]), 1, 0)
    with pytest.raises(NotImplementedError):
        prefetch_row(1, 0)
    variants = [packed._row_at(None, kind, None) for kind in (types.int64, None)]
    assert [variant(np.array([7]), row, 0) for variant, row in zip(variants, (3, np.array([9])), strict=True)] == [3, 9]
