"""Atomic operations on one element of an integer array: what threads without the GIL agree by.

Each is one machine instruction, acquires on load and releases on store. The arrays are one-dimensional int64.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

from weft.kernels.llvm.prefetch import place_of

__all__ = ["fetch_add", "load", "pause", "store", "swap"]

cgutils: Any = _cgutils


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
