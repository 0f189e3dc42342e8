"""One conjunct of a condition, classified: a comparison that an index can serve, one side's filter, or a residual."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import SparkSession

from weft.spark.analysis.tree import Node, children, constant, kind, rebuilt, type_of
from weft.spec import Compare, Encode, Key, Op

__all__ = ["Served", "classify", "split_and"]

_OPS = {
    "LessThan": Op.LT, "LessThanOrEqual": Op.LE, "GreaterThan": Op.GT, "GreaterThanOrEqual": Op.GE, "EqualTo": Op.EQ,
}  # fmt: skip
_OPPOSITE = {Op.LT: Op.GE, Op.LE: Op.GT, Op.GT: Op.LE, Op.GE: Op.LT, Op.EQ: Op.NE}
_MIRROR = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_EXACT_TO: dict[str, int] = {"float": 1 << 24, "double": 1 << 53}
_EXACT = {*_INTEGERS} | {"float", "double", "boolean", "date", "timestamp", "timestamp_ntz"}
_DIFFERENCES = {"Subtract", "DateDiff", "SubtractTimestamps"}


@dataclass(frozen=True)
class Served:
    """A comparison for the index, with the expressions behind its keys."""

    compare: Compare
    left: Node
    right: Node


def split_and(node: Node) -> list[Node]:
    """Return the conjuncts of a condition in which nothing is shared any more; BETWEEN is two of them."""
    if kind(node) in ("And", "Between"):
        return [part for child in children(node) for part in split_and(child)]
    return [node]


def classify(spark: SparkSession, node: Node, side_of: SideOf) -> list[Served]:
    """Return the comparisons that a two-sided conjunct allows an index to serve; none if only Spark can decide it."""
    op = _OPS.get(kind(node))
    inner = node
    if kind(node) == "Not" and kind(children(node)[0]) in _OPS:  # NaN is ordered, so each has its opposite
        inner = children(node)[0]
        op = _OPPOSITE[_OPS[kind(inner)]]
    if op is None:
        return []
    first, second = children(inner)
    sides = side_of(first), side_of(second)
    if sides == ("left", "right"):
        return _compare(first, op, second)
    if sides == ("right", "left"):
        return _compare(second, _MIRROR[op], first)
    if sides[1] == "" and sides[0] == "both":
        return _band(spark, first, op, constant(second), side_of)
    if sides[0] == "" and sides[1] == "both":
        return _band(spark, second, _MIRROR[op], constant(first), side_of)
    return []


class SideOf:
    """Tells on which side an expression lives: "left", "right", "both" or "" (a constant)."""

    def __init__(self, left: set[int], right: set[int]) -> None:
        self.left, self.right = left, right

    def __call__(self, node: Node) -> str:
        """Return the side of an expression; one that is not deterministic belongs to neither alone."""
        if not node.deterministic():
            return "both"
        ids = self.ids(node)
        sides = ("left" if ids & self.left else "") + ("right" if ids & self.right else "")
        return "both" if sides == "leftright" else sides

    def ids(self, node: Node) -> set[int]:
        """Return the ids of the columns an expression refers to."""
        if kind(node) == "AttributeReference":
            return {int(node.exprId().id())}
        return {number for child in children(node) for number in self.ids(child)}


def _compare(left: Node, op: Op, right: Node) -> list[Served]:
    one, two = type_of(left), type_of(right)
    if one != two:
        return []
    encode = _encoding(one, op)
    if encode is None:
        return []
    keys = Key(left.sql(), encode), Key(right.sql(), encode)
    return [Served(Compare(keys[0], op, keys[1], weak=encode != "value"), left, right)]


def _encoding(type_name: str, op: Op) -> Encode | None:
    wide = re.fullmatch(r"decimal\((\d+),\d+\)", type_name)
    if type_name in _EXACT or (wide and int(wide[1]) <= 18):
        return "value"
    if wide or type_name in ("string", "binary"):
        return None if op is Op.NE else ("hash" if op is Op.EQ else "prefix")
    return None


def _band(
    spark: SparkSession, node: Node, op: Op, limit: int | float | Decimal | None, side_of: SideOf
) -> list[Served]:
    """Serve `abs(l.x - r.x) <= d` and `l.x - r.x <= d`, d constant."""
    if limit is None or op in (Op.EQ, Op.NE):
        return []
    node = _widened(node, limit)
    absolute = kind(node) == "Abs"
    difference = _widened(children(node)[0], limit) if absolute else node
    if kind(difference) not in _DIFFERENCES or (absolute and op in (Op.GT, Op.GE)):
        return []
    floating = type_of(difference) in ("float", "double")
    if floating and (math.isnan(limit) or op in (Op.GT, Op.GE)):
        return []  # NaN is above every number, so it satisfies these; a band never holds it
    first, second = children(difference)[:2]
    sides = side_of(first), side_of(second)
    if set(sides) != {"left", "right"}:
        return []
    strict = op in (Op.LT, Op.GT)
    upper = op in (Op.LT, Op.LE)
    half = (-math.inf, limit) if upper else (limit, math.inf)
    ends = (-limit, limit) if absolute else half
    if sides == ("right", "left"):
        first, second, ends = second, first, (-ends[1], -ends[0])
    return _typed_band(spark, difference, first, second, ends, strict)


def _widened(node: Node, limit: int | float | Decimal) -> Node:
    """Take off casts that cannot change how the value compares with the limit, such as those that Spark adds to meet its type."""
    while kind(node) == "Cast" and _widens(type_of(children(node)[0]), type_of(node), limit):
        node = children(node)[0]
    return node


def _widens(one: str, two: str, limit: int | float | Decimal) -> bool:
    if one == two or (one, two) == ("float", "double"):
        return True
    (digits, scale), (room, places) = _digits(one), _digits(two)
    if two in _EXACT_TO:  # a rounding is monotone, and around a small enough limit there is none
        return one in _INTEGERS and -_EXACT_TO[two] <= limit <= _EXACT_TO[two]
    return 0 < digits - scale <= room - places and scale <= places


def _digits(type_name: str) -> tuple[int, int]:
    """Return how many digits a whole number or decimal has, and how many of them after the point; (0, 0) of other types."""
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_name)
    return (int(found[1]), int(found[2])) if found else (_INTEGERS.get(type_name, 0), 0)


def _typed_band(
    spark: SparkSession, difference: Node, left: Node, right: Node, ends: tuple[object, object], strict: bool
) -> list[Served]:
    type_name = type_of(difference)
    one, two = type_of(left), type_of(right)
    low, high = ends
    scale, step = 0, {"SubtractTimestamps": "microsecond", "DateDiff": "day"}.get(kind(difference), "1")
    if one.startswith("decimal") and two.startswith("decimal"):
        common = _common_decimal(one, two)
        if common is None:
            return []
        left, right = (_cast(spark, side, common) for side in (left, right))
        scale = int(common.split(",")[1].rstrip(")"))
        step = str(Decimal(1).scaleb(-scale))
    elif one != two:
        return []
    elif kind(difference) == "SubtractTimestamps":
        zone = spark.conf.get("spark.sql.session.timeZone")
        if one == "timestamp" and zone not in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00"):
            return []  # Spark subtracts local times: a change of clocks would show
    elif type_name in ("float", "double"):
        slack = 2.0**-22 if type_name == "float" else 0.0
        low, high = (_widen(end, slack) for end in (low, high))
        weak = strict or type_name == "float"
        return [Served(Compare(Key(left.sql()), Op.FBAND, Key(right.sql()), low, high, weak), left, right)]
    elif type_name not in _INTEGERS:
        return []
    low, high = _whole(low, scale, strict, math.ceil), _whole(high, scale, strict, math.floor)
    return [Served(Compare(Key(left.sql()), Op.BAND, Key(right.sql()), low, high, step=step), left, right)]


def _widen(end: object, slack: float) -> float:
    value = float(str(end))
    if math.isinf(value) or not slack:
        return value
    room = abs(value) * slack
    return value + room if value >= 0 else value - room


def _whole(end: object, scale: int, strict: bool, rounding: object) -> float:
    """Return the outermost whole number inside the end (after scaling), one further in when the end itself is excluded."""
    if isinstance(end, float) and math.isinf(end):
        return end
    exact = Decimal(str(end)) * (Decimal(10) ** scale)
    lower = rounding is math.ceil
    number = math.ceil(exact) if lower else math.floor(exact)
    if strict and number == exact:
        number += 1 if lower else -1
    return number


def _common_decimal(one: str, two: str) -> str | None:
    (p1, s1), (p2, s2) = (tuple(map(int, re.findall(r"\d+", name))) for name in (one, two))
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return f"decimal({precision},{scale})" if precision <= 18 else None


def _cast(spark: SparkSession, node: Node, type_name: str) -> Node:
    """Cast by Spark's own parser: parse `CAST(x AS type)` and put the expression in the place of x."""
    if type_of(node) == type_name:
        return node
    parser = spark._jsparkSession.sessionState().sqlParser()
    shell = parser.parseExpression(f"CAST(x AS {type_name})")
    return rebuilt(spark, shell, lambda n: node if kind(n) == "UnresolvedAttribute" else None)
