"""Code that we write for LLVM ourselves, because Numba has no word for it: prefetches, atomics, unaligned loads, vectors.

*Prefetches* ask for a cache line before it is needed. A probe of a run larger than the cache waits for memory at every step. The
positions of the next probes are known, so their lines can be on their way while this one is worked on.

*Atomic operations* on one element of an integer array are what threads without the GIL agree by. Each is one machine
instruction, acquires on load and releases on store. The arrays are one-dimensional int64.

*Octets* are loads and stores that need no alignment, and what strings and hashes do with them. Indices must be within the array;
nothing is checked. The first byte is the lowest of the word, on every machine that Numba and Arrow know.

*Lanes* are eight words at once, as vectors of LLVM: each processor gets them in its own instructions. Numba makes vectors of
loops over many words, but of a loop over eight it makes eight steps, or a sum across lanes that takes three times as long as
counting the bits of a mask. These work in a kernel only, on contiguous arrays, and look at no bound: the caller knows that there
are eight words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from weft.kernels.jit import kernel

__all__ = [
    "LANES", "copied", "copy_lanes", "copy_masked", "count_less", "count_upto", "equal", "fetch_add", "fill_lanes", "load",
    "load8", "pause", "place_of", "plain8", "prefetch", "store", "store8", "swap",
]  # fmt: skip

cgutils: Any = _cgutils

_INTO = ir.IntType(32)(2)
"""Into the second cache: more lines can be on their way to it than to the first, and from there a line is a few steps away."""


def place_of(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return a pointer to `array[index]` of a one-dimensional array; no bounds check."""
    made = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer2(
        context,
        builder,
        made.data,
        cgutils.unpack_tuple(builder, made.shape),
        cgutils.unpack_tuple(builder, made.strides),
        kind.layout,
        [index],
    )


def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Fetch the line of `array[index]`; one-dimensional arrays, no bounds check (a prefetch cannot fault)."""
    del typingctx, index

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, signature.args[0], args[0], args[1])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        builder.call(function, [builder.bitcast(place, byte), word(0), _INTO, word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


prefetch: Any = intrinsic(_prefetch)


def _fetch_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Add to `array[index]`; return what was there."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


def _swap(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Put `value` into `array[index]`; return what was there: with 1 and 0 the test-and-set of a lock."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("xchg", place, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


def _load(typingctx: Any, array: Any, index: Any) -> Any:
    """Return `array[index]`; what was stored before it is seen after it."""
    del typingctx, index

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(array, types.intp), codegen


def _store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Put `value` into `array[index]`; whoever loads it sees all that was written before."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


def _pause(typingctx: Any) -> Any:
    """Give way for a moment: `sched_yield`, so that a thread that waits does not hold up the one it waits for."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature, args
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen


fetch_add: Any = intrinsic(_fetch_add)
swap: Any = intrinsic(_swap)
load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
pause: Any = intrinsic(_pause)


Bytes = NDArray[np.uint8]


def _octets_at(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [index]), ir.IntType(64).as_pointer())


def _load8(typingctx: Any, array: Any, index: Any) -> Any:
    """Return the eight bytes from `array[index]` on."""
    del typingctx, index

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_octets_at(context, builder, signature.args[0], args[0], args[1]), align=1)

    return types.uint64(array, types.intp), codegen


def _store8(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight bytes from `array[index]` on."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _octets_at(context, builder, signature.args[0], args[0], args[1]), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), codegen


load8: Any = intrinsic(_load8)
store8: Any = intrinsic(_store8)

_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@kernel
def plain8(word: np.uint64) -> int:
    """Return how many of the first bytes of a word stand in a JSON string for themselves: ASCII, no quote, backslash, control."""
    quote, back = word ^ (_ONES * np.uint64(34)), word ^ (_ONES * np.uint64(92))
    odd = (
        word | ((word - _ONES * np.uint64(32)) & ~word) | ((quote - _ONES) & ~quote) | ((back - _ONES) & ~back)
    ) & _HIGHS
    if odd == 0:  # else its lowest bit is exact: a borrow only reaches the bytes behind it
        return 8
    count = 0
    while odd & np.uint64(0x80) == 0:
        odd >>= np.uint64(8)
        count += 1
    return count


@kernel
def copied(source: Bytes, start: int, end: int, out: Bytes, pos: int) -> int:
    """Copy `source[start:end]` to `out[pos:]`; return the position behind it."""
    size = end - start
    if size < 8:
        for k in range(size):
            out[pos + k] = source[start + k]
        return pos + size
    for k in range(0, size - 7, 8):
        store8(out, pos + k, load8(source, start + k))
    store8(out, pos + size - 8, load8(source, end - 8))  # the rest, with bytes that are there already
    return pos + size


@kernel
def equal(a: Bytes, a0: int, a1: int, b: Bytes, b0: int, b1: int) -> bool:
    """Tell whether two stretches of bytes are equal."""
    size = a1 - a0
    if b1 - b0 != size:
        return False
    if size < 8:
        for k in range(size):  # noqa: SIM110  Numba knows no generators
            if a[a0 + k] != b[b0 + k]:
                return False
        return True
    for k in range(0, size - 7, 8):
        if load8(a, a0 + k) != load8(b, b0 + k):
            return False
    return bool(load8(a, a1 - 8) == load8(b, b1 - 8))


LANES = 8

_WORD, _ROW, _MASK = ir.IntType(64), ir.IntType(32), ir.IntType(LANES)
_WORDS, _ROWS = ir.VectorType(_WORD, LANES), ir.VectorType(_ROW, LANES)
_ITEMS = {"words": types.int64, "rows": types.int32, "rows_out": types.int32}


def _vector_at(context: Any, builder: Any, kind: Any, array: Any, index: Any, vector: Any) -> Any:
    """Return a pointer to the vector that begins at `array[index]`."""
    return builder.bitcast(place_of(context, builder, kind, array, index), vector.as_pointer())


def _repeated(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, _ROW(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_ROWS, [0] * LANES))


def _counter(comparison: str) -> Any:
    def count(typingctx: Any, array: Any, index: Any, key: Any) -> Any:
        del typingctx, index, key

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words = builder.load(_vector_at(context, builder, signature.args[0], args[0], args[1], _WORDS), align=8)
            found = builder.icmp_signed(comparison, words, _repeated(builder, args[2], _WORDS))
            return builder.zext(builder.ctpop(builder.bitcast(found, _MASK)), _WORD)

        return _typed(types.uint64(array, types.uint64, types.int64), codegen, words=array)

    return count


def _typed(signature: Any, codegen: Any, **arrays: Any) -> Any:
    """Return what Numba asks for if the arrays are contiguous and of the right items; otherwise there is no such function."""
    right = all(array.layout == "C" and array.dtype == _ITEMS[name] for name, array in arrays.items())
    return (signature, codegen) if right else None


def _turned(builder: Any, rows: Any, by: Any) -> Any:
    """Return the lanes from `by` on, then those before: written as LLVM knows a permutation by a variable."""
    lanes = ir.Constant(_ROWS, list(range(LANES)))
    by = _repeated(builder, builder.trunc(by, _ROW), _ROWS)
    where = builder.and_(builder.add(lanes, by), ir.Constant(_ROWS, [LANES - 1] * LANES))
    turned = ir.Constant(_ROWS, ir.Undefined)
    for lane in map(_ROW, range(LANES)):
        value = builder.extract_element(rows, builder.extract_element(where, lane))
        turned = builder.insert_element(turned, value, lane)
    return turned


def _copy_masked(typingctx: Any, source: Any, index: Any, skip: Any, mask: Any, out: Any, to: Any) -> Any:
    del typingctx, index, skip, mask, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.load(_vector_at(context, builder, signature.args[0], args[0], args[1], _WORDS), align=8)
        mask = _repeated(builder, builder.trunc(args[3], _ROW), _ROWS)
        rows = builder.and_(builder.trunc(words, _ROWS), mask)
        place = _vector_at(context, builder, signature.args[4], args[4], args[5], _ROWS)
        builder.store(_turned(builder, rows, args[2]), place, align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, types.uint64, types.int64, out, types.uint64)
    return _typed(signature, codegen, words=source, rows=out)


def _copy_lanes(typingctx: Any, source: Any, index: Any, skip: Any, out: Any, to: Any) -> Any:
    del typingctx, index, skip, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = builder.load(_vector_at(context, builder, signature.args[0], args[0], args[1], _ROWS), align=4)
        place = _vector_at(context, builder, signature.args[3], args[3], args[4], _ROWS)
        builder.store(_turned(builder, rows, args[2]), place, align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, types.uint64, out, types.uint64)
    return _typed(signature, codegen, rows=source, rows_out=out)


def _fill_lanes(typingctx: Any, out: Any, to: Any, value: Any) -> Any:
    del typingctx, to, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _vector_at(context, builder, signature.args[0], args[0], args[1], _ROWS)
        builder.store(_repeated(builder, args[2], _ROWS), place, align=4)
        return context.get_dummy_value()

    return _typed(types.void(out, types.uint64, types.int32), codegen, rows=out)


count_less: Any = intrinsic(_counter("<"))
"""`count_less(words, at, key)`: how many of `words[at : at + 8]` are less than `key`."""

count_upto: Any = intrinsic(_counter("<="))
"""`count_upto(words, at, key)`: how many of them are not greater."""

copy_masked: Any = intrinsic(_copy_masked)
"""`copy_masked(words, at, skip, mask, rows, to)`: copy the bits of the mask of eight words, the first `skip` of them last."""

copy_lanes: Any = intrinsic(_copy_lanes)
"""`copy_lanes(rows, at, skip, out, to)`: copy eight rows, the first `skip` of them last."""

fill_lanes: Any = intrinsic(_fill_lanes)
"""`fill_lanes(rows, to, row)`: write one row eight times."""
