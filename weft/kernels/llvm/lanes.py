"""Eight words at once, as vectors of LLVM: each processor gets them in its own instructions.

Numba makes vectors of loops over many words, but of a loop over eight it makes eight steps, or a sum across lanes that takes
three times as long as counting the bits of a mask. These work in a kernel only, on contiguous arrays, and look at no
bound: the caller knows that there are eight words.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from weft.kernels.llvm.access import place_of

__all__ = ["LANES", "copy_lanes", "copy_masked", "count_less", "count_upto", "fill_lanes"]

LANES = 8

_WORD, _ROW, _MASK = ir.IntType(64), ir.IntType(32), ir.IntType(LANES)
_WORDS, _ROWS = ir.VectorType(_WORD, LANES), ir.VectorType(_ROW, LANES)
_ITEMS = {"words": types.int64, "rows": types.int32, "rows_out": types.int32}


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any, vector: Any) -> Any:
    """Return a pointer to the vector that begins at `array[index]`."""
    return builder.bitcast(place_of(context, builder, kind, array, index), vector.as_pointer())


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

        return _for(types.uint64(array, types.uint64, types.int64), codegen, words=array)

    return count


def _for(signature: Any, codegen: Any, **arrays: Any) -> Any:
    """Return what Numba asks for if the arrays are contiguous and of the right items; otherwise there is no such function."""
    right = all(array.layout == "C" and array.dtype == _ITEMS[name] for name, array in arrays.items())
    return (signature, codegen) if right else None


def _turned(builder: Any, rows: Any, by: Any) -> Any:
    """Return the lanes from `by` on, then those before: written as LLVM knows a permutation by a variable."""
    lanes = ir.Constant(_ROWS, list(range(LANES)))
    by = _everywhere(builder, builder.trunc(by, _ROW), _ROWS)
    where = builder.and_(builder.add(lanes, by), ir.Constant(_ROWS, [LANES - 1] * LANES))
    turned = ir.Constant(_ROWS, ir.Undefined)
    for lane in map(_ROW, range(LANES)):
        value = builder.extract_element(rows, builder.extract_element(where, lane))
        turned = builder.insert_element(turned, value, lane)
    return turned


def _copy_masked(typingctx: Any, source: Any, index: Any, skip: Any, mask: Any, out: Any, to: Any) -> Any:
    del typingctx, index, skip, mask, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.load(_place(context, builder, signature.args[0], args[0], args[1], _WORDS), align=8)
        mask = _everywhere(builder, builder.trunc(args[3], _ROW), _ROWS)
        rows = builder.and_(builder.trunc(words, _ROWS), mask)
        place = _place(context, builder, signature.args[4], args[4], args[5], _ROWS)
        builder.store(_turned(builder, rows, args[2]), place, align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, types.uint64, types.int64, out, types.uint64)
    return _for(signature, codegen, words=source, rows=out)


def _copy_lanes(typingctx: Any, source: Any, index: Any, skip: Any, out: Any, to: Any) -> Any:
    del typingctx, index, skip, to

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = builder.load(_place(context, builder, signature.args[0], args[0], args[1], _ROWS), align=4)
        place = _place(context, builder, signature.args[3], args[3], args[4], _ROWS)
        builder.store(_turned(builder, rows, args[2]), place, align=4)
        return context.get_dummy_value()

    signature = types.void(source, types.uint64, types.uint64, out, types.uint64)
    return _for(signature, codegen, rows=source, rows_out=out)


def _fill_lanes(typingctx: Any, out: Any, to: Any, value: Any) -> Any:
    del typingctx, to, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], _ROWS)
        builder.store(_everywhere(builder, args[2], _ROWS), place, align=4)
        return context.get_dummy_value()

    return _for(types.void(out, types.uint64, types.int32), codegen, rows=out)


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
