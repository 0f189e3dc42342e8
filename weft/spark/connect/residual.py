"""A residual for Python workers, read from its text: without a Catalyst tree, sqlglot's is evaluated by `weft.local.expr`.

The same expressions are taken as from Catalyst's trees (`weft.spark.residual`), and no more.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from weft.errors import SpecError
from weft.local.expr import compile_expression
from weft.spark.analysis import SELF, Analyzed, arrow_schema
from weft.spark.connect.pieces import Piece
from weft.spark.residual import ALIAS, UTC, PythonResidual, refuse
from weft.types import SIDES, Side

__all__ = ["residual_of"]

_TAKEN = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs, exp.In, exp.Coalesce, exp.Greatest, exp.Least, exp.Is,
    exp.IsNan, exp.StartsWith, exp.EndsWith, exp.Contains, exp.Length, exp.Substring, exp.Trim, exp.Concat, exp.Year,
    exp.Month, exp.Day, exp.DayOfMonth, exp.Quarter, exp.DayOfYear, exp.DayOfWeek, exp.Hour, exp.Minute, exp.Second,
    exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TsOrDsToDate, exp.TsOrDsAdd, exp.Like, exp.Escape, exp.Case, exp.If,
    exp.Cast, exp.Dot, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Interval, exp.Var, exp.DataType,
    exp.DataTypeParam,
)  # fmt: skip
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs, exp.Cast)


def residual_of(analyzed: Analyzed) -> PythonResidual | None:
    """Return the residual over payload columns as the tasks name them; None if there is none."""
    pieces: list[Piece] = list(analyzed.rest)
    if not pieces:
        return None
    whole = " AND ".join(piece.text for piece in pieces)
    zone = str(analyzed.spark.conf.get("spark.sql.session.timeZone"))
    ansi = str(analyzed.spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
    trees = [_over_payload(piece, analyzed, zone, ansi=ansi) for piece in pieces]
    schemas = {ALIAS[side]: _payload(analyzed, side) for side in SIDES}
    try:
        made = compile_expression(trees[0] if len(trees) == 1 else exp.and_(*trees, copy=False), schemas)
    except SpecError as error:
        refuse(whole, str(error).splitlines()[0])
    return PythonResidual(replace(made, zone=zone))


def _over_payload(piece: Piece, analyzed: Analyzed, zone: str, *, ansi: bool) -> exp.Expr:
    """Check that a tree is evaluated as in Spark; return it over the payload's columns."""
    if piece.tree is None:
        refuse(piece.text, "Weft cannot read it")
    tree = piece.tree.copy()
    for node in tree.walk():
        if not isinstance(node, _TAKEN) or (isinstance(node, exp.Cast) and isinstance(node, exp.TryCast)):
            refuse(piece.text, f"{node.sql(dialect='spark')} cannot be evaluated in Python exactly as in Spark")
        if not ansi and isinstance(node, _ARITHMETIC):
            refuse(piece.text, "it gives NULL or wraps around where Spark in ANSI mode raises an error")
        if zone not in UTC and isinstance(node, exp.Interval):
            refuse(piece.text, f"days in the time zone {zone} are not always 24 hours long")
    for column in list(tree.find_all(exp.Column)):
        side: Side = "left" if column.table in ("l", SELF[0]) else "right"
        kind = analyzed.frames[side].schema[column.name].dataType.simpleString()
        if "collate" in kind:
            refuse(piece.text, f"it has a collation ({kind})")
        place = exp.column(f"{side[0]}{analyzed.payload[side].index(column.name)}", table=ALIAS[side])
        if column is tree:
            return place
        column.replace(place)
    return tree


def _payload(analyzed: Analyzed, side: Side) -> object:
    kinds = [analyzed.frames[side].schema[name].dataType for name in analyzed.payload[side]]
    named = StructType([StructField(f"{side[0]}{number}", each) for number, each in enumerate(kinds)])
    return arrow_schema(analyzed.spark, named)
