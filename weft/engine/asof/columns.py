"""What an as-of join asks of its columns, the same on both runtimes: that they are there, and of types that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from weft.errors import SpecError, UnknownColumn, about
from weft.spec import Condition, Op
from weft.spec.asof import AsofAsked, AsofOrder
from weft.types import SIDES, Side

__all__ = ["check_compared", "check_there", "order_counts"]


def check_there(asked: AsofAsked, names: Mapping[Side, Sequence[str]]) -> None:
    """Refuse columns that a side does not have."""
    named = [("on", asked.left, asked.right), *(("by", one, two) for one, two in asked.by), ("ties", None, asked.ties)]
    for argument, *pair in named:
        for side, name in zip(SIDES, pair, strict=True):
            if name is not None and name not in names[side]:
                with about(argument):
                    raise UnknownColumn.on_side(side, name, names[side])


def order_counts(asked: AsofAsked, left: pa.Schema, right: pa.Schema) -> AsofOrder:
    """Return what the order columns hold; refuse those that have no distance, and ties that have no order."""
    kinds = left.field(asked.left).type, right.field(asked.right).type
    known: dict[tuple[str, str], AsofOrder] = {
        ("time", "time"): "time", ("day", "day"): "day", ("day", "time"): "time", ("time", "day"): "time",
        ("whole", "whole"): "whole", ("floating", "floating"): "floating",
    }  # fmt: skip
    found = known.get((_kind(kinds[0]), _kind(kinds[1])))
    with about("on"):
        if found is None:
            raise SpecError.of(
                f"l.{asked.left} is {kinds[0]} and r.{asked.right} is {kinds[1]}.",
                "Both order columns must be times or dates, or both integers, or both floating-point numbers.",
                "cast one of them, or name other columns in on=.",
            )
    if asked.ties is not None and not _ordered(right.field(asked.ties).type):
        with about("ties"):
            raise SpecError.of(
                f"r.{asked.ties} is {right.field(asked.ties).type}.",
                "The column in ties= must be a number, a time, a date or a boolean.",
                "name another column, or leave ties= out for order of arrival.",
            )
    return found


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_date(kind):
        return "day"
    return "whole" if pa.types.is_integer(kind) else "floating" if pa.types.is_floating(kind) else ""


def _ordered(kind: pa.DataType) -> bool:
    return bool(_kind(kind)) or pa.types.is_boolean(kind) or (pa.types.is_decimal(kind) and kind.precision <= 18)


def check_compared(
    asked: AsofAsked, condition: Condition, left: pa.Schema, right: pa.Schema
) -> dict[int, tuple[str, str]]:  # fmt: skip
    """Return the equal columns whose words are hashes, by their number; refuse those that cannot be compared exactly.

    `condition` is that of `asked` without the further one.
    """
    compares = condition.compares
    alike = [_alike(left.field(one).type, right.field(two).type) for one, two in asked.by]
    equal = [compare.op for compare in compares[:-1]] == [Op.EQ] * len(asked.by)
    hashed = {number for number, compare in enumerate(compares[:-1]) if compare.weak}
    if not equal or any(number >= len(alike) or not alike[number] for number in hashed):
        shown = [f"l.{a} {left.field(a).type} and r.{b} {right.field(b).type}" for a, b in asked.by]
        with about("by"):
            raise SpecError.of(
                f"by= cannot compare {'; '.join(shown)}.",
                "Columns in by= must be numbers, times or booleans, or texts, binaries or decimals of the same type.",
                "cast one of them, or compare a field of it.",
            )
    return {number: asked.by[number] for number in sorted(hashed)}


def _alike(left: pa.DataType, right: pa.DataType) -> bool:
    return left == right or (_text(left) and _text(right))


def _text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(inner) or pa.types.is_large_string(inner)
