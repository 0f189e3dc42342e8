"""A PySpark Column of a Connect session as SQL text: it holds a tree of plain Python objects, which nobody has resolved yet."""

from __future__ import annotations

from typing import Any, NoReturn

from pyspark.sql import Column
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampType,
)

from weft.errors import SpecError

__all__ = ["names_frames", "sql_of"]

_INFIX = {
    "==": "=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "and": "AND", "or": "OR", "+": "+", "-": "-",
    "*": "*", "/": "/", "%": "%", "&": "&", "|": "|", "^": "^", "like": "LIKE", "rlike": "RLIKE", "ilike": "ILIKE",
}  # fmt: skip
_PREFIX = {"not": "NOT ", "!": "NOT ", "negative": "- ", "~": "~ "}
_SUFFIX = {"isNull": " IS NULL", "isNotNull": " IS NOT NULL", "isnull": " IS NULL", "isnotnull": " IS NOT NULL"}
_NUMBERS = {
    ByteType: "Y", ShortType: "S", IntegerType: "", LongType: "L", DecimalType: "BD",
}  # fmt: skip


def sql_of(column: Column, plans: dict[int, str]) -> str:
    """Return a Column as SQL; `plans` has the aliases of the frames that its columns may be of, by the ids of their plans."""
    given: Any = column
    return _Writer(plans)(given._expr)


def names_frames(column: Column) -> bool:
    """Tell whether a Column names columns of a frame, as `frame.x` does, and not by an alias."""
    given: Any = column
    found: list[bool] = []
    given._expr.foreach(lambda node: found.append(getattr(node, "_plan_id", None) is not None))
    return any(found)


class _Writer:
    def __init__(self, plans: dict[int, str]) -> None:
        self.plans = plans

    def __call__(self, node: Any) -> str:
        write = getattr(self, f"write_{type(node).__name__}", None)
        if write is None:
            _refuse(node, f"{type(node).__name__} has no SQL that Weft knows")
        return str(write(node))

    def _alias(self, node: Any) -> str:
        alias = self.plans.get(node._plan_id)
        if alias is None:
            _refuse(node, "it is a column of a frame that is neither side")
        return alias

    def write_ColumnReference(self, node: Any) -> str:  # noqa: N802 (called by the names of PySpark's classes)
        name = str(node._unparsed_identifier)
        return name if node._plan_id is None else f"{self._alias(node)}.{name}"

    def write_UnresolvedStar(self, node: Any) -> str:  # noqa: N802
        if node._plan_id is not None:
            return f"{self._alias(node)}.*"
        return "*" if node._unparsed_target is None else str(node._unparsed_target)

    def write_SQLExpression(self, node: Any) -> str:  # noqa: N802
        return f"({node._expr})"

    def write_ColumnAlias(self, node: Any) -> str:  # noqa: N802
        if len(node._alias) != 1:
            _refuse(node, "it has several names")
        return f"{self(node._child)} AS `{node._alias[0].replace('`', '``')}`"

    def write_CastExpression(self, node: Any) -> str:  # noqa: N802
        kind = node._data_type if isinstance(node._data_type, str) else node._data_type.simpleString()
        return f"{'TRY_' if node._eval_mode == 'try' else ''}CAST({self(node._expr)} AS {kind})"

    def write_CaseWhen(self, node: Any) -> str:  # noqa: N802
        parts = [f"WHEN {self(when)} THEN {self(then)}" for when, then in node._branches]
        rest = [] if node._else_value is None else [f"ELSE {self(node._else_value)}"]
        return f"CASE {' '.join([*parts, *rest])} END"

    def write_UnresolvedExtractValue(self, node: Any) -> str:  # noqa: N802
        return f"{self(node._child)}[{self(node._extraction)}]"

    def write_LambdaFunction(self, node: Any) -> str:  # noqa: N802
        given = ", ".join(self(argument) for argument in node._arguments)
        return (
            f"(({given}) -> {self(node._function)})"
            if len(node._arguments) > 1
            else f"{given} -> {self(node._function)}"
        )

    def write_UnresolvedNamedLambdaVariable(self, node: Any) -> str:  # noqa: N802
        return ".".join(node._name_parts)

    def write_UnresolvedFunction(self, node: Any) -> str:  # noqa: N802
        name, given = str(node._name), [self(argument) for argument in node._args]
        if name in _INFIX and len(given) == 2:
            return f"({given[0]} {_INFIX[name]} {given[1]})"
        if name in _PREFIX and len(given) == 1:
            return f"({_PREFIX[name]}{given[0]})"
        if name in _SUFFIX and len(given) == 1:
            return f"({given[0]}{_SUFFIX[name]})"
        if name == "in" and len(given) > 1:
            return f"({given[0]} IN ({', '.join(given[1:])}))"
        if node._is_distinct or not name.replace("_", "").isalnum():
            _refuse(node, f"the function {name!r} has no SQL that Weft knows")
        return f"{name}({', '.join(given)})"

    def write_LiteralExpression(self, node: Any) -> str:  # noqa: N802
        value, kind = node._value, node._dataType
        if value is None or isinstance(kind, NullType):
            return "NULL"
        if isinstance(kind, StringType):
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        if isinstance(kind, BooleanType):
            return "true" if value else "false"
        if isinstance(kind, (DoubleType, FloatType)):
            return f"CAST('{float(value)!r}' AS {kind.simpleString()})"
        if isinstance(kind, DateType):
            return f"date_from_unix_date({value})"
        if isinstance(kind, TimestampType):
            return f"timestamp_micros({value})"
        suffix = _NUMBERS.get(type(kind))
        if suffix is None:
            _refuse(node, f"a constant of type {kind.simpleString()} has no SQL that Weft knows")
        return f"({value:f}{suffix})" if isinstance(kind, DecimalType) else f"({value}{suffix})"

    def write_CommonInlineUserDefinedFunction(self, node: Any) -> str:  # noqa: N802
        _refuse(node, "it is a UDF without a name; register it (spark.udf.register) and call it by that name in SQL")


def _refuse(node: Any, why: str) -> NoReturn:
    raise SpecError.of(
        f"The Column {node} cannot be read on Spark Connect: {why}.",
        "There a Column is a tree that only the server resolves, and Weft has to know which side each part belongs to.",
        "write the condition as SQL text over l and r.",
    )
