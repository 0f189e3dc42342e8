"""The rows under evaluation, and how a node finds its handler.

A *value* is an array with one entry per row, or a scalar that stands for all of them (literals stay scalars, so
`l.x + 1` adds one number, not a column of ones). Handlers know one kind of node each; errors get the text of the node here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from weft.errors import SpecError, WeftError
from weft.spec.parse import render

__all__ = ["Failed", "Frame", "Handler", "Unfit", "Value", "as_array", "elementwise"]

Value: TypeAlias = Any
"""`pa.Array | pa.Scalar` (pyarrow has no types)."""

Handler: TypeAlias = Callable[[Any, "Frame"], Value]


class Unfit(Exception):
    """A node whose types do not fit; becomes a SpecError that names it."""

    def __init__(self, what: str, there_is: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.parts = (what, there_is, hint)


class Failed(Unfit):
    """A value for which the node has no result; becomes a WeftError that names it."""


@dataclass(frozen=True)
class Frame:
    """Columns by (alias, name), in computed types, all of `rows` entries."""

    columns: Mapping[tuple[str, str], Value]
    rows: int
    zone: str
    handlers: Mapping[type[exp.Expr], Handler]

    def value(self, node: exp.Expr) -> Value:
        """Evaluate one node."""
        handler = self.handlers.get(type(node), self.handlers[exp.Expr])
        try:
            return handler(node, self)
        except WeftError:
            raise
        except Failed as error:
            what, there_is, hint = error.parts
            raise WeftError.of(f"{render(node)} {what}.", there_is, hint) from None
        except Unfit as error:
            what, there_is, hint = error.parts
            raise SpecError.of(f"{render(node)} {what}.", there_is, hint) from None
        except pa.ArrowInvalid as error:
            raise _data_error(node, error) from error
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise SpecError.of(
                f"{render(node)} cannot be computed locally.",
                f"Arrow says: {error}.",
                "CAST the operands to a plainer type.",
            ) from error

    def where(self, keep: Value) -> Frame:
        """Return the rows for which `keep` is true."""
        mask = self.spread(keep)
        columns = {name: column.filter(mask) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=pc.sum(mask, min_count=0).as_py())

    def spread(self, value: Value) -> Value:
        """Return the value as an array of one entry per row."""
        return pa.repeat(value, self.rows) if isinstance(value, pa.Scalar) else value

    def branch(self, node: exp.Expr, wanted: Value) -> Value:
        """Evaluate a node whose value matters only where `wanted` is true.

        SQL does not compute branches that it does not take: `CASE WHEN x = 0 THEN 0 ELSE 1 / x END` must not fail.
        Computing all rows is faster and nearly always works, so that is tried first.
        """
        try:
            return self.value(node)
        except SpecError:
            raise
        except WeftError:
            mask = pc.fill_null(self.spread(wanted), False)
            rows = self.where(mask)
            part = rows.spread(rows.value(node))
            places = pc.subtract(pc.cumulative_sum(mask.cast(pa.int64())), 1)
            return part.take(pc.if_else(mask, places, pa.scalar(None, pa.int64())))


def _data_error(node: exp.Expr, error: Exception) -> WeftError:
    text = str(error)
    if "overflow" in text or "precision" in text or "not fit" in text:
        return WeftError.of(
            f"{render(node)} overflows.", "Spark (ANSI) fails here too.", "CAST an operand to a wider type."
        )
    return WeftError.of(f"{render(node)} failed.", f"Arrow says: {text}.", "look at the values it is computed from.")


def as_array(value: Value) -> Value:
    """Return a scalar as an array of one entry, an array unchanged."""
    return pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else value


def elementwise(function: Callable[..., Any], *values: Value, out: pa.DataType) -> Value:
    """Apply a NumPy function to number values; NULL in any of them gives NULL, NaN stays a number."""
    constant = all(isinstance(value, pa.Scalar) for value in values)
    arrays = [as_array(value) if constant else value for value in values]
    missing: Any = False
    inputs = []
    for array in arrays:
        if isinstance(array, pa.Scalar):
            missing = missing | (not array.is_valid)
            inputs.append(array.as_py() if array.is_valid else 1)
        else:
            missing = missing | np.asarray(pc.is_null(array))
            inputs.append(np.asarray(pc.fill_null(array, pa.scalar(1).cast(array.type))))
    with np.errstate(all="ignore"):
        result = np.asarray(function(*inputs))
    answer = pa.array(result, mask=np.broadcast_to(np.asarray(missing), result.shape), from_pandas=False).cast(out)
    return answer[0] if constant else answer
