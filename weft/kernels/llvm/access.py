"""Access to memory that Numba has no word for: prefetches, atomic operations, and eight bytes at a time.

*Prefetches* ask for a cache line before it is needed. A probe of a run larger than the cache waits for memory at every step. The
positions of the next probes are known, so their lines can be on their way while this one is worked on.

*Atomic operations* on one element of an integer array are what threads without the GIL agree by. Each is one machine
instruction, acquires on load and releases on store. The arrays are one-dimensional int64.

*Octets* are loads and stores that need no alignment, and what strings and hashes do with them. Indices must be within the array;
nothing is checked. The first byte is the lowest of the word, on every machine that Numba and Arrow know.
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
    "copied", "equal", "fetch_add", "load", "load8", "pause", "place_of", "plain8", "prefetch", "store", "store8", "swap",
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
_WORD: Any = ir.IntType(64)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [index]), _WORD.as_pointer())


def _load8(typingctx: Any, array: Any, index: Any) -> Any:
    """Return the eight bytes from `array[index]` on."""
    del typingctx, index

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], args[0], args[1]), align=1)

    return types.uint64(array, types.intp), codegen


def _store8(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight bytes from `array[index]` on."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _place(context, builder, signature.args[0], args[0], args[1]), align=1)
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
