"""Ask the memory for a cache line before it is needed.

A probe of a run larger than the cache waits for memory at every step. The positions of the next probes are known, so
their lines can be on their way while this one is worked on. `place_of`, where an element lies, is what all code of this room
begins with.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

__all__ = ["place_of", "prefetch"]

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
