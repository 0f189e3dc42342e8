"""Where an element of an array lies: what code that we write for LLVM ourselves begins with."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils as _cgutils

__all__ = ["place_of"]

cgutils: Any = _cgutils


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
