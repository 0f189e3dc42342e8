"""Conditions by the rules of the language: drawn anew, or made from a given one by exchanging a part of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.spec.parse import WeftSql
from weft_lab.fuzz.mutations import changed_text
from weft_lab.fuzz.tables import KINDS

__all__ = ["SEEDS", "changed_condition", "drawn"]

SEEDS = (
    "l.i = r.i", "l.x < r.x AND l.i <> r.i", "abs(l.i - r.i) <= 2", "abs(l.x - r.x) < 0.5", "l.s = r.s", "l.s <= r.s",
    "l.ts BETWEEN r.ts - INTERVAL 5 SECONDS AND r.ts", "abs(l.tz - r.tz) <= INTERVAL '1' DAY", "l.p = r.w", "l.d < r.ts",
    "l.n = r.i", "l.s LIKE r.s", "l.x <=> r.x", "NOT (l.i < r.i) AND l.x IS NOT NULL", "l.i = r.i OR l.i BETWEEN 0 AND r.k",
    "coalesce(l.i, 0) = nullif(r.i, 2)", "CASE WHEN l.i > 0 THEN l.i ELSE r.i END = r.k", "l.i IN (r.i, 1, NULL)",
    "if(r.i = 0, NULL, l.i / r.i) > 0.5", "l.i + r.i > 3", "CAST(l.n AS DOUBLE) > r.x", "TRY_CAST(l.n AS INT) = r.i",
    "datediff(l.d, r.d) <= 1 AND l.b = r.b", "upper(l.s) = upper(r.g)", "substring(l.s, 1, 2) || 'b' = r.m", "l.o.k = r.o.k",
    "year(l.ts) = year(r.d) AND hour(l.ts) >= hour(r.tz)", "l.y = r.y", "l.u >= r.u", "l.f = r.f AND l.t < r.h",
    "round(l.x, 1) = round(r.x, 1)", "greatest(l.i, r.i) = least(l.k, 5)", "l.i % 2 = r.i % 2", "l.i DIV 2 = r.k",
    "length(trim(l.n)) = r.k", "l.p * 2 > r.p - 1.5", "l.d + 1 = r.d", "date_add(l.d, 1) >= date_sub(r.d, 3)",
    "unix_timestamp(l.ts) > r.k", "concat(l.s, r.s) = 'aab'", "sqrt(l.i) < exp(r.x)", "isnan(l.x) AND r.b",
    "startswith(l.s, r.s) OR contains(r.s, l.s)", "l.q < r.q", "-l.i < r.i AND l.k <> r.k", "l.e = r.d",
    "l.s RLIKE '^a' AND l.k < r.k", "l.j = r.j", "l.w > r.j", "abs(l.d - r.d) <= INTERVAL 2 DAYS",
)  # fmt: skip

_TYPES = (
    "INT", "BIGINT", "TINYINT", "SMALLINT", "DOUBLE", "FLOAT", "STRING", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
    "BINARY", "DECIMAL(10, 2)", "DECIMAL(38, 18)", "DECIMAL(3, 3)", "DECIMAL", "DECIMAL(39, 2)", "ARRAY<INT>", "INTERVAL DAY",
)  # fmt: skip
_LITERALS = {
    "number": ("0", "1", "-1", "2", "0.5", "1e3", "9223372036854775807", "2147483648", "1.50", "1e400", "NULL", "0.1e-5",
               "99999999999999999999999999999999999999", "3L", "2Y", "1.5BD", "1.5D", "1.5F", "128Y", "0x1F"),
    "text": ("''", "'a'", "'1'", "'é'", "'%'", "'a_'", "'it''s'", "r'\\d'", "'2024-02-29'", "'\\\\'", "NULL", "'[('", '"a"'),
    "time": ("DATE '2024-02-29'", "TIMESTAMP '2024-02-29 00:00:00'", "'2024-02-29'", "NULL", "TIMESTAMP_NTZ '1970-01-01'",
             "DATE '0001-01-01'", "DATE '2024-02-30'", "TIMESTAMP '2024-02-29 12:00:00+02:00'", "current_date()"),
    "truth": ("TRUE", "FALSE", "NULL", "'true'"),
    "other": ("X'FF'", "NULL", "INTERVAL 1 DAY", "INTERVAL '1.5' SECOND", "array(1)", "INTERVAL 1 MONTH",
              "INTERVAL '1 2' DAY TO HOUR"),
}  # fmt: skip
_RULES: dict[str, tuple[str, ...]] = {
    "truth": ("{n} = {n}", "{n} < {n}", "{n} >= {n}", "{n} <> {n}", "{s} = {s}", "{s} < {s}", "{t} <= {t}", "{t} = {t}",
              "{b} AND {b}", "{b} OR {b}", "NOT {b}", "({b})", "{n} BETWEEN {n} AND {n}", "{t} NOT BETWEEN {t} AND {t}",
              "{n} IN ({n}, {n})", "{s} NOT IN ({s}, {s})", "{a} IS NULL", "{a} IS NOT NULL", "{b} IS TRUE", "{a} <=> {a}",
              "abs({n} - {n}) <= {n}", "abs({t} - {t}) < {o}", "{s} LIKE {s}", "{s} ILIKE {s}", "{s} RLIKE {s}",
              "startswith({s}, {s})", "endswith({s}, {s})", "contains({s}, {s})", "isnan({n})", "isnull({a})", "{b} = {b}",
              "{a} IS DISTINCT FROM {a}", "{s} LIKE {s} ESCAPE '!'", "isnotnull({a})", "{o} = {o}", "{o} < {o}",
              "CASE WHEN {b} THEN {b} ELSE {b} END", "if({b}, {b}, {b})", "equal_null({a}, {a})", "{b} IS NOT FALSE"),
    "number": ("{n} + {n}", "{n} - {n}", "{n} * {n}", "{n} / {n}", "{n} % {n}", "{n} DIV {n}", "-{n}", "abs({n})", "({n})",
               "coalesce({n}, {n})", "nullif({n}, {n})", "greatest({n}, {n})", "least({n}, {n}, {n})", "round({n}, 1)",
               "round({n})", "floor({n})", "ceil({n})", "sqrt({n})", "pow({n}, {n})", "ln({n})", "log({n}, {n})", "exp({n})",
               "length({s})", "year({t})", "month({t})", "day({t})", "hour({t})", "minute({t})", "dayofweek({t})",
               "dayofyear({t})", "quarter({t})", "second({t})", "datediff({t}, {t})", "unix_timestamp({t})", "sign({n})",
               "CASE WHEN {b} THEN {n} ELSE {n} END", "CASE {n} WHEN {n} THEN {n} END", "if({b}, {n}, {n})", "mod({n}, {n})",
               "unix_seconds({t})", "unix_micros({t})", "nvl({n}, {n})", "l.o.k", "atan2({n}, {n})", "cbrt({n})",
               "pmod({n}, {n})", "bround({n}, 1)", "round({n}, -2)", "round({n}, 40)", "ifnull({n}, {n})",
               "nvl2({a}, {n}, {n})", "log10({n})"),
    "text": ("upper({s})", "lower({s})", "trim({s})", "ltrim({s})", "rtrim({s})", "substring({s}, {n}, {n})",
             "substring({s}, {n})", "{s} || {s}", "concat({s}, {s})", "coalesce({s}, {s})", "left({s}, {n})",
             "if({b}, {s}, {s})", "nullif({s}, {s})",
             "greatest({s}, {s})", "trim(BOTH {s} FROM {s})", "l.o.s", "substr({s}, -1, 1)", "concat({a}, {a})"),
    "time": ("{t} + {o}", "{t} - {o}", "date_add({t}, {n})", "date_sub({t}, {n})", "to_date({a})", "coalesce({t}, {t})",
             "{t} + {n}", "greatest({t}, {t})", "if({b}, {t}, {t})", "date_trunc('DAY', {t})", "to_timestamp({s})"),
    "other": ("{t} - {t}", "INTERVAL 2 HOURS", "{o} + {o}", "-{o}", "coalesce({o}, {o})", "INTERVAL {n} DAYS", "abs({o})"),
}  # fmt: skip
_LETTERS = {"n": "number", "s": "text", "t": "time", "b": "truth", "o": "other"}
_WORDS = ("AND ", " OR ", "NOT ", "(", ")", "'", "`", "l.", "r.", "=", "<", ">", "NULL", "--", "/*", "*", ",", ".", "0", "9",
          "::INT", "[0]", " AS x", ";", "{", "?", ":p", " OVER ()", "->", "x -> x", "\\", "\0", "é", "\U0001f600",
          " COLLATE UTF8_LCASE", " IN (SELECT 1)", "CAST(", "$1", "@v", "l", "r.`i`")  # fmt: skip


def drawn(kind: str, draw: Random, depth: int = 3) -> str:
    """Return an expression of a kind; now and then of another, which the types must then refuse."""
    if draw.random() < 0.04:
        kind = draw.choice(list(_RULES))
    if depth <= 0 or draw.random() < 0.25:
        if draw.random() < 0.3:
            return draw.choice(_LITERALS[kind])
        return f"{draw.choice('lr')}.{draw.choice(KINDS[kind])}"
    text = draw.choice(_RULES[kind])
    for letter, inner in _LETTERS.items():
        text = _filled(text, f"{{{letter}}}", lambda inner=inner: drawn(inner, draw, depth - 1))  # type: ignore[misc]
    return _filled(text, "{a}", lambda: drawn(draw.choice(list(_RULES)), draw, depth - 1))


def _filled(text: str, hole: str, fill: Callable[[], str]) -> str:
    while hole in text:
        text = text.replace(hole, fill(), 1)
    return text


def changed_condition(data: bytes, draw: Random) -> bytes:
    """Return another condition: a part exchanged, one more conjunct, a seed beside it, or a slip of the keyboard."""
    text = data.decode("utf-8", "replace")
    way = draw.random()
    if way < 0.12:
        return changed_text(text, draw, _WORDS).encode("utf-8", "replace")
    if way < 0.22:
        return f"{text} {draw.choice(['AND', 'AND', 'OR'])} {drawn('truth', draw, 2)}".encode()
    if way < 0.3:
        return f"({text}) {draw.choice(['AND', 'OR', '=', '<=>'])} ({draw.choice(SEEDS)})".encode()
    if way < 0.38:
        return drawn("truth", draw, 3).encode()
    try:
        return _exchanged(text, draw).encode("utf-8", "replace")
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError):
        return drawn("truth", draw, 3).encode()  # what does not parse cannot be taken apart


def _exchanged(text: str, draw: Random) -> str:
    tree = exp.Paren(this=sqlglot.parse_one(text, dialect=WeftSql, into=exp.Condition))
    nodes = [node for node in tree.walk() if node is not tree and isinstance(node, exp.Condition)]
    node = draw.choice(nodes)
    if draw.random() < 0.15:
        other = draw.choice(nodes).copy()
    else:
        other = sqlglot.parse_one(drawn(_kind(node), draw, 2), dialect=WeftSql, into=exp.Condition)
    node.replace(exp.Paren(this=other) if isinstance(other, (exp.Binary, exp.Not)) else other)
    return str(tree.this.sql(dialect=WeftSql))


def _kind(node: exp.Expr) -> str:
    if isinstance(node, (exp.Predicate, exp.Connector, exp.Not, exp.Boolean)):
        return "truth"
    if isinstance(node, exp.Column):
        return next((kind for kind, names in KINDS.items() if node.name.lower() in names), "number")
    return "text" if isinstance(node, exp.Literal) and node.is_string else "number"
