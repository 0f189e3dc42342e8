"""A residual for Python workers: where it decides whether a row has found a partner, it cannot wait for Spark behind the join.

Catalyst's expressions become the trees of `weft.local.expr` node by node, never through SQL text, in which an ESCAPE, a
collation or an ANSI mode gets lost. What is not in the tables below, or may differ from Spark in a single bit or letter
(UDFs, regular expressions, `lower`, `sin`), is refused when the join is built. Values for which ANSI Spark fails fail here too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from weft.errors import SpecError
from weft.local.expr import Compiled, compile_expression
from weft.spark.analysis import Analyzed, Node, arrow_schema, children, kind, type_of
from weft.types import SIDES, Bools, Side

__all__ = ["ALIAS", "UTC", "PythonResidual", "python_residual", "refuse"]

ALIAS: dict[Side, str] = {"left": "l", "right": "r"}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class PythonResidual:
    """Tells which pairs satisfy the residual, given the payload of both rows side by side; NULL does not."""

    compiled: Compiled

    def __call__(self, left: pa.Table, right: pa.Table) -> Bools:
        """Return a mask of the pairs."""
        return self.compiled.mask({"l": left, "r": right})


def python_residual(analyzed: Analyzed) -> PythonResidual | None:
    """Return the residual over payload columns as the tasks name them (`l0`, `r0`, ...); None if there is none."""
    if not analyzed.rest:
        return None
    translate = _Translation(analyzed)
    trees = [translate(node) for node in analyzed.rest]
    whole = trees[0] if len(trees) == 1 else exp.and_(*trees, copy=False)
    try:
        made = compile_expression(whole, {ALIAS[side]: _payload(analyzed, side) for side in SIDES})
    except SpecError as error:
        refuse(" AND ".join(str(node.sql()) for node in analyzed.rest), str(error).splitlines()[0])
    return PythonResidual(replace(made, zone=str(analyzed.spark.conf.get("spark.sql.session.timeZone"))))


def _payload(analyzed: Analyzed, side: Side) -> pa.Schema:
    fields = [analyzed.frames[side].schema[name].dataType for name in analyzed.payload[side]]
    named = StructType([StructField(f"{side[0]}{number}", each) for number, each in enumerate(fields)])
    return arrow_schema(analyzed.spark, named)


def refuse(text: str, why: str) -> NoReturn:
    """Refuse what Python workers cannot evaluate exactly as Spark does."""
    raise SpecError.of(
        f"{text} is not supported in this kind of join: {why.rstrip('.')}.",
        "This kind of join must know whether a row has a match, so Weft evaluates the residual condition in its own Python "
        "workers, which support comparisons, AND, OR, NOT, CASE, IN, LIKE, casts, arithmetic, dates and substrings.",
        "if only one side is involved, compute it as a column of that side first (.withColumn), or use how='inner'.",
    )


_BINARY: dict[str, type[exp.Binary]] = {
    "And": exp.And, "Or": exp.Or, "EqualTo": exp.EQ, "EqualNullSafe": exp.NullSafeEQ, "LessThan": exp.LT,
    "LessThanOrEqual": exp.LTE, "GreaterThan": exp.GT, "GreaterThanOrEqual": exp.GTE,
}  # fmt: skip
_ARITHMETIC: dict[str, type[exp.Binary]] = {
    "Add": exp.Add, "Subtract": exp.Sub, "Multiply": exp.Mul, "Divide": exp.Div, "Remainder": exp.Mod,
}  # fmt: skip
_TIMES: dict[str, type[exp.Binary]] = {
    "TimeAdd": exp.Add, "TimestampAddInterval": exp.Add, "SubtractTimestamps": exp.Sub,
}  # fmt: skip
_LISTS: dict[str, type[exp.Expr]] = {
    "In": exp.In,
    "Coalesce": exp.Coalesce,
    "Greatest": exp.Greatest,
    "Least": exp.Least,
}
_FUNCTIONS: dict[str, str] = {
    "IsNaN": "isnan", "StartsWith": "startswith", "EndsWith": "endswith", "Contains": "contains", "Length": "length",
    "Substring": "substring", "StringTrim": "trim", "Concat": "concat", "Year": "year", "Month": "month",
    "DayOfMonth": "day", "Quarter": "quarter", "DayOfYear": "dayofyear", "DayOfWeek": "dayofweek", "Hour": "hour",
    "Minute": "minute", "Second": "second", "DateDiff": "datediff", "DateAdd": "date_add", "DateSub": "date_sub",
}  # fmt: skip
"""Catalyst's classes by the names of SQL; their children are the arguments."""
_LITERALS = {"tinyint", "smallint", "int", "bigint", "float", "double", "string", "boolean"}
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


class _Translation:
    """Translates Catalyst's nodes; columns become those of the payload."""

    def __init__(self, analyzed: Analyzed) -> None:
        self.spark = analyzed.spark
        self.columns: dict[int, tuple[Side, int]] = {}
        for side in SIDES:
            output, names = analyzed.given[side].output(), analyzed.payload[side]
            for each in (output.apply(number) for number in range(output.size())):
                if str(each.name()) in names:
                    self.columns[int(each.exprId().id())] = side, names.index(str(each.name()))

    def __call__(self, node: Node) -> exp.Expr:
        """Return the same expression for Python."""
        name = kind(node)
        if "collate" in type_of(node):
            refuse(str(node.sql()), f"it has a collation ({type_of(node)})")
        if name in _BINARY:
            return self._binary(_BINARY[name], node)
        if name in _ARITHMETIC:
            self._check_ansi(node, str(node.evalMode().toString()) == "ANSI")
            return self._binary(_ARITHMETIC[name], node)
        if name in _TIMES:
            self._check_zone(node)
            return self._binary(_TIMES[name], node)
        if name in _LISTS:
            first, *others = map(self, children(node))
            return _LISTS[name](this=first, expressions=others)
        if name in _FUNCTIONS:
            return exp.func(_FUNCTIONS[name], *map(self, children(node)), dialect="spark")
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        if is_instance_of(self._gateway, node, "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable"):
            return self(node.replacement())
        called = "a UDF" if name.endswith("UDF") else str(node.prettyName())
        refuse(str(node.sql()), f"{called} cannot be evaluated in Python exactly as in Spark")

    @property
    def _gateway(self) -> Any:
        return self.spark.sparkContext._gateway

    def _binary(self, made: type[exp.Binary], node: Node) -> exp.Expr:
        one, two = map(self, children(node))
        return made(this=one, expression=two)

    def _check_ansi(self, node: Node, ansi: bool) -> None:
        if not ansi:
            refuse(str(node.sql()), "it gives NULL or wraps around where Spark in ANSI mode raises an error")

    def _check_zone(self, node: Node) -> None:
        zone = str(self.spark.conf.get("spark.sql.session.timeZone"))
        if zone not in UTC and any(type_of(child) == "timestamp" for child in children(node)):
            refuse(str(node.sql()), f"days in the time zone {zone} are not always 24 hours long")

    def column(self, node: Node) -> exp.Expr:
        side, number = self.columns[int(node.exprId().id())]
        return exp.column(f"{side[0]}{number}", table=ALIAS[side])

    def literal(self, node: Node) -> exp.Expr:
        value, type_name = node.value(), type_of(node)
        if value is None:
            return exp.Null() if type_name == "void" else _cast(exp.Null(), type_name)
        if type_name in _LITERALS or type_name.startswith("decimal"):
            shown = f"{Decimal(value.toString()):f}" if type_name.startswith("decimal") else _shown(value)
            text = exp.Literal.string(shown)
            return text if type_name == "string" else _cast(text, type_name)
        if type_name.startswith("interval") and "year" not in type_name and "month" not in type_name:
            return exp.Interval(this=exp.Literal.string(str(value)), unit=exp.Var(this="MICROSECOND"))
        try:
            if type_name == "date":
                day = _EPOCH.date() + dt.timedelta(days=value)
                return _cast(exp.Literal.string(day.isoformat()), type_name)
            if type_name in ("timestamp", "timestamp_ntz"):
                moment = (_EPOCH + dt.timedelta(microseconds=value)).strftime("%Y-%m-%d %H:%M:%S.%f")
                zone = "Z" if type_name == "timestamp" else ""
                return _cast(exp.Literal.string(moment + zone), type_name)
        except OverflowError:
            pass
        refuse(str(node.sql()), f"a constant of type {type_name}")

    def like(self, node: Node) -> exp.Expr:
        made, escape = self._binary(exp.Like, node), str(node.escapeChar())
        return made if escape == "\\" else exp.Escape(this=made, expression=exp.Literal.string(escape))

    def cast(self, node: Node) -> exp.Expr:
        (child,) = children(node)
        jvm: Any = self.spark._jvm
        up = jvm.org.apache.spark.sql.catalyst.expressions.Cast.canUpCast(child.dataType(), node.dataType())
        self._check_ansi(node, bool(up) or str(node.evalMode().toString()) == "ANSI")
        lasts = all(type_of(each).startswith("interval") for each in (child, node))
        return (
            self(child) if up and lasts else _cast(self(child), type_of(node))
        )  # a length of time is one, however long

    def case(self, node: Node) -> exp.Expr:
        parts = [self(child) for child in children(node)]
        ifs = [exp.If(this=when, true=then) for when, then in zip(parts[:-1:2], parts[1::2], strict=False)]
        return exp.Case(ifs=ifs, default=parts[-1] if len(parts) % 2 else None)

    def choice(self, node: Node) -> exp.Expr:
        test, one, two = map(self, children(node))
        return exp.If(this=test, true=one, false=two)

    def is_null(self, node: Node) -> exp.Expr:
        return exp.Is(this=self(children(node)[0]), expression=exp.Null())

    def is_not_null(self, node: Node) -> exp.Expr:
        return exp.Not(this=self.is_null(node))

    def negation(self, node: Node) -> exp.Expr:
        return exp.Not(this=self(children(node)[0]))

    def minus(self, node: Node) -> exp.Expr:
        self._check_ansi(node, bool(node.failOnError()))
        return exp.Neg(this=self(children(node)[0]))

    def distance(self, node: Node) -> exp.Expr:
        self._check_ansi(node, bool(node.failOnError()))
        return exp.Abs(this=self(children(node)[0]))

    def part(self, node: Node) -> exp.Expr:
        return exp.Dot(this=self(children(node)[0]), expression=exp.to_identifier(str(node.extractFieldName())))


_SPECIAL: dict[str, Callable[[_Translation, Node], exp.Expr]] = {
    "AttributeReference": _Translation.column, "Literal": _Translation.literal, "Like": _Translation.like,
    "Cast": _Translation.cast, "CaseWhen": _Translation.case, "If": _Translation.choice, "IsNull": _Translation.is_null,
    "IsNotNull": _Translation.is_not_null, "Not": _Translation.negation, "UnaryMinus": _Translation.minus,
    "Abs": _Translation.distance, "GetStructField": _Translation.part,
}  # fmt: skip


def _cast(value: exp.Expr, type_name: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(type_name, dialect="spark"))


def _shown(value: Any) -> str:
    """Return a constant as text that reads back as the same value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        repr(value) if isinstance(value, float) else str(value if isinstance(value, (int, str)) else value.toString())
    )
