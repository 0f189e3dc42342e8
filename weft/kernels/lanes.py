"""Eight words at once, as vectors of LLVM: each processor gets them in its own instructions.

Numba makes vectors of loops over many words, but of a loop over eight it makes eight steps, or a sum across lanes that takes
three times as long as counting the bits of a mask. These work in a kernel only, on contiguous arrays, and look at no
bound: the caller knows that there are eight words.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "copy_lanes", "copy_masked", "count_less", "count_upto", "fill_lanes"]

LANES = 8

cgutils: Any = _cgutils
_WORD, _ROW, _MASK = ir.IntType(64), ir.IntType(32), ir.IntType(LANES)
_WORDS, _ROWS = ir.VectorType(_WORD, LANES), ir.VectorType(_ROW, LANES)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any, vector: Any) -> Any:
    """Return a pointer to the vector that begins at `array[index]`."""
    made = context.make_array(kind)(context, builder, array)
    place = cgutils.get_item_pointer2(
        context,
        builder,
        made.data,
        cgutils.unpack_tuple(builder, made.shape),
        cgutils.unpack_tuple(builder, made.strides),
        kind.layout,
        [index],
    )
    return builder.bitcast(place, vector.as_pointer())


def _everywhere(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, _ROW(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_ROWS, [0] * LANES))


def _counter(comparison: str) -> Any:
    def count(typingctx: Any, array: Any, index: Any, key: Any) -> Any:
        del typingctx, index, key

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words = builder.load(_place(context, builder, signature.args[0], args[0], args[1], _WORDS), align=8)
            found = builder.icmp_signed(comparison, words, _everywhere(builder, args[2], _WORDS))
            return builder.zext(builder.ctpop(builder.bitcast(found, _MASK)), _WORD)

        return _checked(types.uint64(array, types.uint64, types.int64), array, types.int64), codegen

    return count


def _checked(signature: Any, array: Any, item: Any) -> Any:
    """Return the signature if the array is contiguous and of these items; otherwise there is none."""
    return signature if array.layout == "C" and array.dtype == item else None


def _copy_masked(typingctx: Any, source: Any, index: Any, mask: Any, out: Any, to: Any) -> Any:
    del typingctx, index, mask, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.load(_place(context, builder, signature.args[0], args[0], args[1], _WORDS), align=8)
        mask = _everywhere(builder, builder.trunc(args[2], _ROW), _ROWS)
        place = _place(context, builder, signature.args[3], args[3], args[4], _ROWS)
        builder.store(builder.and_(builder.trunc(words, _ROWS), mask), place, align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, types.int64, out, types.uint64)
    return _checked(_checked(signature, source, types.int64), out, types.int32), codegen


def _copy_lanes(typingctx: Any, source: Any, index: Any, out: Any, to: Any) -> Any:
    del typingctx, index, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = builder.load(_place(context, builder, signature.args[0], args[0], args[1], _ROWS), align=4)
        builder.store(rows, _place(context, builder, signature.args[2], args[2], args[3], _ROWS), align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, out, types.uint64)
    return _checked(_checked(signature, source, types.int32), out, types.int32), codegen


def _fill_lanes(typingctx: Any, out: Any, to: Any, value: Any) -> Any:
    del typingctx, to, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], _ROWS)
        builder.store(_everywhere(builder, args[2], _ROWS), place, align=4)
        return context.get_dummy_value()

    return _checked(types.void(out, types.uint64, types.int32), out, types.int32), codegen


count_less: Any = intrinsic(_counter("<"))
"""`count_less(words, at, key)`: how many of `words[at : at + 8]` are less than `key`."""

count_upto: Any = intrinsic(_counter("<="))
"""`count_upto(words, at, key)`: how many of them are not greater."""

copy_masked: Any = intrinsic(_copy_masked)
"""`copy_masked(words, at, mask, rows, to)`: copy the bits of the mask of eight words."""

copy_lanes: Any = intrinsic(_copy_lanes)
"""`copy_lanes(rows, at, out, to)`: copy eight rows."""

fill_lanes: Any = intrinsic(_fill_lanes)
"""`fill_lanes(rows, to, row)`: write one row eight times."""
