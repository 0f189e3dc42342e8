"""From a resolved SQL tree to something that evaluates on tables, with its type known beforehand.

The type is found by evaluating on no rows, so every type error appears when the join is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.errors import SpecError
from weft.kernels import in_microseconds
from weft.local.expr import arithmetic, cast, frame, logic, strings, times
from weft.local.expr.frame import ExprFrame, Handler, Value
from weft.local.expr.spark_types import normal
from weft.spec.parse import render
from weft.types import Bools

__all__ = ["Compiled", "compile_expression", "supported", "zone_of"]

_NAMED: dict[str, Handler] = {**logic.NAMED, **arithmetic.NAMED, **times.NAMED}
_SPARK_NAMES = {
    "TS_OR_DS_TO_DATE": "TO_DATE", "TS_OR_DS_ADD": "", "STR_TO_UNIX": "UNIX_TIMESTAMP", "AND": "", "OR": "",
    "DAY_OF_MONTH": "DAYOFMONTH", "DAY_OF_WEEK": "DAYOFWEEK", "DAY_OF_YEAR": "DAYOFYEAR", "ENDS_WITH": "ENDSWITH",
    "STARTS_WITH": "STARTSWITH", "IS_NAN": "ISNAN",
}  # fmt: skip
_TABLES = (frame, arithmetic, logic, cast, strings, times)


def supported() -> list[str]:
    """Return the names of the functions that are computed locally."""
    kinds = [kind for table in _TABLES for kind in table.HANDLERS if issubclass(kind, exp.Func)]
    names = {_SPARK_NAMES.get(name, name) for name in (kind.sql_names()[0] for kind in kinds)}
    return sorted(name for name in names | {name.upper() for name in _NAMED} | {"DATE_SUB"} if name)


def _unsupported(node: exp.Expr, _: ExprFrame) -> Value:
    name = node.name.upper() if isinstance(node, exp.Anonymous) else type(node).__name__
    if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
        name = node.sql_name()
    raise SpecError.of(
        f"{name} is not supported locally: {render(node)}.",
        f"Functions are: {', '.join(supported())}.",
        "weft.join on Spark evaluates every Spark function.",
    )


def _anonymous(node: exp.Anonymous, frame: ExprFrame) -> Value:
    return _NAMED.get(node.name.lower(), _unsupported)(node, frame)


_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Expr: _unsupported, exp.Anonymous: _anonymous,
    **{kind: handler for table in _TABLES for kind, handler in table.HANDLERS.items()},
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """An expression of known type. Evaluation is pure: the same tables give the same values."""

    text: str
    type: pa.DataType
    zone: str
    tree: exp.Expr = field(repr=False, compare=False)
    columns: tuple[tuple[str, str], ...] = field(repr=False)

    def evaluate(self, tables: Mapping[str, pa.Table]) -> Value:
        """Return one value per row, as a pyarrow array; tables of both aliases must have the same number of rows."""
        frame = _frame(self.columns, tables, self.zone)
        return frame.spread(frame.value(self.tree))

    def mask(self, tables: Mapping[str, pa.Table]) -> Bools:
        """Return which rows satisfy a condition: NULL does not."""
        found = self.evaluate(tables)
        known = found.cast(pa.bool_()) if pt.is_null(found.type) else found
        return np.asarray(pc.fill_null(known, False)).astype(np.bool_)

    def constant(self) -> Any:
        """Return the Python value of an expression without columns."""
        return _frame((), {}, self.zone).value(self.tree).as_py()


def compile_expression(expression: exp.Expr, schema_by_alias: Mapping[str, pa.Schema]) -> Compiled:
    """Check an expression whose columns are spelled `alias.column` (see `weft.spec.parse.resolve`)."""
    zone = zone_of(schema_by_alias.values())
    columns = sorted({(column.table, column.name) for column in expression.find_all(exp.Column)})
    empty = {alias: schema.empty_table() for alias, schema in schema_by_alias.items()}
    kind = _frame(columns, empty, zone).value(expression).type
    return Compiled(render(expression), kind, zone, expression, tuple(columns))


def zone_of(schemas: Iterable[pa.Schema]) -> str:
    """Return the zone in which timestamps are read: that of the data, UTC if it names none.

    In Spark it is the session's, which is also what Spark writes into Arrow schemas.
    """
    zones = [kind.tz for schema in schemas for kind in schema.types if pt.is_timestamp(kind) and kind.tz]
    return str(zones[0]) if zones else "UTC"


def _frame(columns: Iterable[tuple[str, str]], tables: Mapping[str, pa.Table], zone: str) -> ExprFrame:
    loaded = {(alias, name): _load(tables[alias].column(name), zone) for alias, name in columns}
    rows = next((len(column) for column in loaded.values()), max((len(table) for table in tables.values()), default=1))
    return ExprFrame(loaded, rows, zone, _HANDLERS)


def _load(column: pa.ChunkedArray, zone: str) -> Value:
    """Return a column as one array in the type it is computed in."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    kind = normal(array.type, zone)
    if array.type == kind:
        return array
    return in_microseconds(array).cast(kind) if pt.is_timestamp(array.type) else array.cast(kind, safe=False)
