"""Arrow columns to words: 64-bit integers that compare as Spark SQL compares the values.

- integers, booleans, dates, timestamps: the value itself
- float, double: bits turned so that integer order is Spark's order: -0.0 = 0.0, NaN = NaN, NaN above infinity
- decimals up to 18 digits: the unscaled value; wider ones keep their leading bits (ties remain)
- strings, binaries: a 64-bit hash for equality, or the first eight bytes (Spark compares bytes) for order

And ranges of words: what a probe's word allows the partner's word to be. Every comparison of integers says that the partner
lies in `[p + a, p + b]`, either end open or not. Words are 64 bits wide and so is the sum: it must not wrap. An end that leaves
the domain on its own side closes nothing; one that leaves it on the other side makes the range empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.kernels.jit import kernel
from weft.types import U32, WORD_MAX, WORD_MIN, Bools, Words

__all__ = [
    "counts_up", "decimal_words", "draws", "float_of", "float_range", "float_words", "in_microseconds", "mix_words", "narrow",
    "words_of",
]  # fmt: skip

_SIGN = np.int64(WORD_MAX)
_NAN = np.float64("nan")


def words_of(column: pa.Array | pa.ChunkedArray, encode: str) -> tuple[Words, Bools | None]:
    """Return the words of a column, and which rows are not NULL (None: all of them)."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # an empty chunked array combines to itself in some versions
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    valid: Bools | None = None
    if array.null_count:
        valid = np.asarray(array.is_valid())
    if encode == "hash":
        return _byte_words(array, True), valid
    if encode == "prefix":
        wide = pa.types.is_decimal(array.type)
        return (_wide_decimal(array) if wide else _byte_words(array, False)), valid
    return _value_words(array), valid


def _value_words(array: pa.Array) -> Words:
    kind = array.type
    if pa.types.is_floating(kind):
        return float_words(_numbers(array.cast(pa.float64()) if kind != pa.float64() else array, np.float64))
    if pa.types.is_boolean(kind):
        return _numbers(array.cast(pa.int8()), np.int8).astype(np.int64)
    if pa.types.is_integer(kind):
        return _numbers(array, np.dtype(str(kind))).astype(np.int64, copy=False)
    if pa.types.is_date32(kind):
        return _numbers(array.view(pa.int32()), np.int32).astype(np.int64)
    if pa.types.is_timestamp(kind):
        if kind.unit != "us":
            array = in_microseconds(array)
        return _numbers(array.view(pa.int64()), np.int64)
    if pa.types.is_duration(kind):
        return _numbers(array.cast(pa.duration("us")).view(pa.int64()), np.int64)
    if pa.types.is_decimal(kind) and kind.precision <= 18:
        return _decimal_halves(array)[:, 0].copy()
    raise SpecError.of(
        f"A key of type {kind} has no exact word.",
        "Keys may be integer, float, decimal, date, timestamp, boolean, string or binary.",
        "compare a field of it, or cast it.",
    )


def in_microseconds(array: pa.Array) -> pa.Array:
    """Return timestamps of any unit in microseconds; refuse those that lose something by it."""
    try:
        return array.cast(pa.timestamp("us", array.type.tz))
    except pa.ArrowInvalid:
        raise SpecError.of(
            f"A {array.type} column has values finer than a microsecond, or beyond what microseconds can count.",
            "Timestamps are compared in microseconds, as Spark's are.",
            "round the column: cast it to timestamp('us'), safe=False if its nanoseconds do not matter.",
        ) from None


def _numbers(array: pa.Array, dtype: Any) -> NDArray[Any]:
    """View the value buffer; what stands under a NULL is whatever is there, callers mask it."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(buffer, dtype, len(array), array.offset * width)


def _decimal_halves(array: pa.Array) -> Words:
    if array.type.bit_width != 128:
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    if len(array) == 0 or array.buffers()[1] is None:
        return np.zeros((len(array), 2), np.int64)
    return np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16).reshape(-1, 2)


def decimal_words(array: pa.Array) -> tuple[Words, Words]:
    """Return the two words of decimals of any width: together they are exact."""
    halves = _decimal_halves(array)
    return halves[:, 0].copy(), halves[:, 1].copy()


def _wide_decimal(array: pa.Array) -> Words:
    # 10**p needs ceil(p * 3.33) bits: shift so that the top 63 bits stay, order kept, low bits lost.
    halves = _decimal_halves(array)
    shift = max(0, (10**array.type.precision).bit_length() + 1 - 63)
    if shift == 0:
        return halves[:, 0].copy()
    if shift >= 64:
        return halves[:, 1] >> np.int64(shift - 64)
    low = (halves[:, 0].view(np.uint64) >> np.uint64(shift)).view(np.int64)
    return (halves[:, 1] << np.int64(64 - shift)) | low


def float_words(values: NDArray[np.float64]) -> Words:
    """Return words that order as Spark orders doubles.

    >>> import numpy as np
    >>> w = float_words(np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan]))
    >>> bool((np.diff(w) >= 0).all()), bool(w[2] == w[3])
    (True, True)
    """
    flat = values + 0.0  # -0.0 + 0.0 = 0.0
    bits = np.where(np.isnan(flat), _NAN, flat).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ _SIGN)


def _byte_words(array: pa.Array, hashed: bool) -> Words:
    if pa.types.is_decimal(array.type):
        halves = _decimal_halves(array)
        return mix_words([halves[:, 0].copy(), halves[:, 1].copy()])
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    if len(array) == 0:
        return np.zeros(0, np.int64)
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return _hash_bytes(ends, content) if hashed else _prefix_bytes(ends, content)


@kernel
def _hash_bytes(ends: Words, content: NDArray[np.uint8]) -> Words:
    out = np.empty(len(ends) - 1, np.int64)
    for i in range(len(out)):
        state = np.uint64(0xCBF29CE484222325)
        for j in range(ends[i], ends[i + 1]):
            state = (state ^ np.uint64(content[j])) * np.uint64(0x100000001B3)
        state ^= state >> np.uint64(33)
        state *= np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(33)
        out[i] = np.int64(state)
    return out


@kernel
def _prefix_bytes(ends: Words, content: NDArray[np.uint8]) -> Words:
    out = np.empty(len(ends) - 1, np.int64)
    for i in range(len(out)):
        word = np.uint64(0)
        size = min(8, ends[i + 1] - ends[i])
        for j in range(size):
            word |= np.uint64(content[ends[i] + j]) << np.uint64(56 - 8 * j)
        out[i] = np.int64(word ^ np.uint64(0x8000000000000000))
    return out


@kernel
def _mix(out: NDArray[np.uint64], words: Words) -> None:
    for i in range(len(out)):
        state = out[i] ^ np.uint64(words[i])
        state *= np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
        state *= np.uint64(0xC4CEB9FE1A85EC53)
        out[i] = state ^ (state >> np.uint64(29))


def mix_words(columns: list[Words]) -> Words:
    """Return one hash word of several word columns, row by row."""
    state = np.full(len(columns[0]), 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        _mix(state, np.ascontiguousarray(column))
    return state.view(np.int64)


@kernel
def _draw(seed: np.uint64, start: int, count: int) -> U32:
    out = np.empty(count, np.uint32)
    for i in range(count):
        z = seed + np.uint64(start + i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = np.uint32((z ^ (z >> np.uint64(31))) >> np.uint64(32))
    return out


def draws(batch: int, partition: int, start: int, count: int) -> U32:
    """Return `u` of `count` rows: a hash of (batch, map partition, position), the same on every replay."""
    seed = mix_words([np.array([batch], np.int64), np.array([partition], np.int64)]).view(np.uint64)[0]
    return _draw(np.uint64(seed), start, count)


@kernel
def shift(words: Words, by: int, lower: bool, out: Words, alive: Bools) -> None:
    """Write the tighter of `out` and `words + by`, as a lower or as an upper end; kill rows whose range is empty."""
    ceiling = WORD_MAX - by if by > 0 else WORD_MAX  # above it the sum leaves the domain
    floor = WORD_MIN - by if by < 0 else WORD_MIN
    for i in range(len(words)):
        word = words[i]
        if word > ceiling:
            if lower:
                alive[i] = False
        elif word < floor:
            if not lower:
                alive[i] = False
        elif lower:
            out[i] = max(out[i], word + by)
        else:
            out[i] = min(out[i], word + by)


def narrow(words: Words, by: int | None, lower: bool, out: Words, alive: Bools) -> None:
    """Apply one end of a range, `by` of any size; None leaves the end open."""
    if by is None:
        return
    neutral = WORD_MIN if lower else WORD_MAX
    by, ends = max(min(by, 1 << 66), -(1 << 66)), words
    while not WORD_MIN <= by <= WORD_MAX:  # wider than a word: in steps, each of which saturates
        step = WORD_MAX if by > 0 else WORD_MIN
        moved = np.full(len(words), neutral)
        shift(ends, step, lower, moved, alive)
        by, ends = by - step, moved
    shift(ends, by, lower, out, alive)


def float_of(words: Words) -> NDArray[np.float64]:
    """Return the doubles behind the words."""
    return np.ascontiguousarray(np.where(words >= 0, words, words ^ _SIGN)).view(np.float64)


def float_range(words: Words, lo: float, hi: float) -> tuple[Words, Words, Bools]:
    """Return word ranges that hold every `s` with `lo <= p - s <= hi` in float64, and perhaps a few more.

    The subtraction rounds, so the ends are widened by some units in the last place of the larger operand; the exact
    comparison is repeated on each candidate.
    """
    values = float_of(words)
    with np.errstate(all="ignore"):
        least = values - hi - 4 * np.spacing(np.maximum(np.abs(values), abs(hi)))
        most = values - lo + 4 * np.spacing(np.maximum(np.abs(values), abs(lo)))
    least = np.where(np.isnan(least), -np.inf, least)
    most = np.where(np.isnan(most), np.inf, most)
    return float_words(least), float_words(most), ~np.isnan(values)


@kernel
def counts_up(words: Words) -> bool:
    """Tell whether every word is the one before plus one."""
    wrong = 0
    for i in range(1, len(words)):
        wrong += np.int64(words[np.uint64(i)] != words[np.uint64(i - 1)] + 1)
    return wrong == 0
