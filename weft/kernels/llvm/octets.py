"""Eight bytes at a time: loads and stores that need no alignment, and what strings and hashes do with them.

Indices must be within the array; nothing is checked. The first byte is the lowest of the word, on every machine that Numba
and Arrow know.
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

__all__ = ["copied", "equal", "load8", "plain8", "store8"]

Bytes = NDArray[np.uint8]
cgutils: Any = _cgutils
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
