"""Condition and selection of a join on Spark Connect: sqlglot takes them apart, the server says what they mean.

There is no Catalyst tree to look at. But the server types any expression, tells whether two plans mean the same, and evaluates
text that it is given back. So a text is split where sqlglot finds its conjuncts, and what an index is to serve is written down as
Weft reads it; both stand only if Spark finds that they mean what the whole text means (`_Server.same`). What does not stand is
left to Spark as a residual, in the words of the user.

All of it is asked of empty tables with the columns of both sides: their plans do not matter, and need not be sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType
from sqlglot import exp

from weft.errors import SpecError, about
from weft.local.expr import Comparison, comparison, compile_expression, in_type, spark_name, spread
from weft.spark.analysis import (
    SELF,
    Analyzed,
    Output,
    arrow_schema,
    check_asked,
    check_relates,
    check_selected,
    explain_analysis,
    no_collision,
    same_frame,
    untold,
)
from weft.spark.connect.columns import names_frames, sql_of
from weft.spark.connect.pieces import Names, Piece, has_query, items_of, piece_of, split_conjuncts
from weft.spark.connect.plans import bare
from weft.spec import Compare, Condition, Key, Op
from weft.spec.parse import references, render
from weft.types import SIDES, Side

__all__ = ["analyze"]

_DECIMALS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""The digits of the decimals that Spark makes of integers."""
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


def analyze(
    left: DataFrame, right: DataFrame, on: str | Column, select: Sequence[str | Column] | None, suffix: str,
    aliases: tuple[str, str], unordered: bool = False,
) -> Analyzed:  # fmt: skip
    """Analyze condition and selection as `weft.spark.analysis.analyze` does, on a session without a JVM of its own."""
    check_asked(on, aliases)
    sides: dict[Side, DataFrame] = {"left": left, "right": right}
    server = _Server(sides, aliases)
    text = server.text_of(on, "on=")
    server.check_condition(text, on)
    pieces = server.pieces(text)
    only: dict[Side, list[Piece]] = {"left": [], "right": []}
    both: list[Piece] = []
    for piece in pieces:
        side = server.side_of(piece)
        (both if side is None else only[side]).append(piece)
    relating = [piece for piece in both if len(piece.sides) == 2 or piece.tree is None]
    served = server.served(relating)
    check_relates(text, len(relating), {side: bool(only[side]) for side in SIDES}, aliases, one_frame=left is right)
    rest = [piece for piece in both if id(piece) not in served or served[id(piece)].weak]
    if unordered:
        rest += [*only["left"], *only["right"]]
        only = {"left": [], "right": []}
    compares, keys = server.compares([served[id(piece)] for piece in both if id(piece) in served])
    with about("select" if select is not None else "suffix"):
        outputs, shown, selected = _select(server, left, right, select, suffix)
    needed = shown.union(*(piece.columns(server.names) for piece in rest))
    payload: dict[Side, tuple[str, ...]] = {
        side: tuple(name for name in sides[side].columns if (alias, name) in needed)
        for side, alias in zip(SIDES, aliases, strict=True)
    }
    if not any(payload.values()):  # a selection of constants: a pair is still a row
        payload["left"] = tuple(left.columns[:1])
    if aliases == SELF:  # one payload serves both roles
        kept = {*payload["left"], *payload["right"]}
        payload = dict.fromkeys(payload, tuple(name for name in left.columns if name in kept))
    stripped = {side: bare(frame) for side, frame in sides.items()}
    frames = {
        side: frame.alias(alias)
        for (side, (frame, _)), alias in zip(stripped.items(), aliases, strict=True)
    }  # fmt: skip
    if aliases == SELF:
        frames["right"] = frames["left"]
    filters: dict[Side, Column | None] = {}
    for side in SIDES:
        words = [server.over_frame(piece, side) for piece in only[side]]
        filters[side] = F.expr(_all(words)) if words else None
    condition = Condition(
        _all([piece.text for piece in pieces]), tuple(compares), _all([piece.text for piece in rest]),
        _all([piece.text for piece in only["left"]]), _all([piece.text for piece in only["right"]]),
        said=on.strip() if isinstance(on, str) else "",
    )  # fmt: skip
    return Analyzed(
        left.sparkSession, frames, condition, keys, F.expr(condition.residual).cast("boolean") if rest else None, filters,
        outputs, payload, frozenset(selected), any(stays for _, stays in stripped.values()),
        tuple(server.confirmed(rest)), dict(sides),
    )  # fmt: skip


class _Server:
    """What the server knows of texts over both sides."""

    def __init__(self, sides: dict[Side, DataFrame], aliases: tuple[str, str]) -> None:
        self.sides, self.aliases = sides, aliases
        self.spark = sides["left"].sparkSession
        self.names = Names(aliases, sides["left"].columns, sides["right"].columns)
        self.one, self.two = (
            self.spark.createDataFrame([], sides[side].schema).alias(alias)
            for side, alias in zip(SIDES, aliases, strict=True)
        )
        self.pairs = self.one.crossJoin(self.two)
        self._types: dict[str, pa.DataType | None] = {}

    def text_of(self, given: str | Column, what: str) -> str:
        """Return SQL for what was given."""
        if isinstance(given, str):
            return given
        left: Any = self.sides["left"]
        right: Any = self.sides["right"]
        if names_frames(given) and left is right:
            raise same_frame(what)
        one, two = self.aliases
        return sql_of(given, {left._plan._plan_id: one, right._plan._plan_id: two})

    def check_condition(self, text: str, on: str | Column) -> None:
        """Refuse what Spark does not take as a condition."""
        try:
            with untold():
                _ = self.one.join(self.two, F.expr(text), "inner").schema
        except PySparkException as error:
            raise explain_analysis(error, on, self.sides["left"], self.sides["right"], self.aliases) from None
        if has_query(text):
            raise SpecError.of(
                "on= contains a subquery.",
                "A condition is decided from one row of each side.",
                "join with that table first.",
            )

    def same(self, one: str, two: str) -> bool:
        """Tell whether two conditions mean the same to Spark."""
        try:
            with untold():
                return bool(
                    self.one.join(self.two, F.expr(one)).sameSemantics(self.one.join(self.two, F.expr(two)))
                )  # fmt: skip
        except PySparkException:
            return False

    def pieces(self, text: str) -> list[Piece]:
        """Return the conjuncts of a condition; one of both sides that is BETWEEN as its two comparisons."""
        parts = split_conjuncts(text)
        if len(parts) > 1 and not self.same(text, _all(parts)):
            parts = [text]
        found = []
        for piece in (piece_of(part, self.names) for part in parts):
            two = [] if piece.tree is None else list(spread(piece.tree))
            apart = piece.tree is not None and len(two) > 1 and self.same(piece.text, render(piece.tree))
            found += [Piece(render(part), part) for part in two] if apart else [piece]
        return found

    def side_of(self, piece: Piece) -> Side | None:
        """Return the side that decides a piece alone."""
        if len(piece.sides) != 1:
            return None
        (alias,) = piece.sides
        frame = self.one if alias == self.aliases[0] else self.two
        try:
            with untold():
                _ = frame.where(F.expr(piece.text)).schema
        except PySparkException:  # it names more than sqlglot sees
            return None
        return "left" if alias == self.aliases[0] else "right"

    # Comparisons for an index

    def served(self, pieces: list[Piece]) -> dict[int, Comparison]:
        """Return the comparisons that pieces are to an index, by the pieces' ids."""
        trees = {id(piece): next(spread(piece.tree)) for piece in pieces if piece.tree is not None}
        for alias, frame in zip(self.aliases, (self.one, self.two), strict=True):
            asked = {render(node) for tree in trees.values() for node in _operands(tree) if references(node) == {alias}}
            self._ask(frame, sorted(asked - self._types.keys()))
        zone = str(self.spark.conf.get("spark.sql.session.timeZone"))
        found: dict[int, Comparison] = {}
        for number, tree in trees.items():
            item = comparison(tree, self.aliases, self.type, _constant)
            if item is not None and not _local_days(item, zone):
                found[number] = item
        chosen = [piece for piece in pieces if id(piece) in found]
        if chosen and not self._stands(chosen, found, trees):
            return {id(piece): found[id(piece)] for piece in chosen if self._stands([piece], found, trees)}
        return found

    def confirmed(self, pieces: list[Piece]) -> list[Piece]:
        """Return pieces without the trees that Spark reads otherwise: those may not be evaluated in its place."""
        read = [piece for piece in pieces if piece.tree is not None]
        if read and not self._read_alike(read):
            return [piece if self._read_alike([piece]) else Piece(piece.text, None) for piece in pieces]
        return pieces

    def _read_alike(self, pieces: list[Piece]) -> bool:
        trees = [render(piece.tree) for piece in pieces if piece.tree is not None]
        return bool(trees) and self.same(_all([piece.text for piece in pieces]), _all(trees))

    def _stands(self, pieces: list[Piece], found: dict[int, Comparison], trees: dict[int, exp.Expr]) -> bool:
        """Ask Spark whether pieces mean what Weft reads, and whether it compares in the types that Weft gives them."""
        read = _all([render(trees[id(piece)]) for piece in pieces])
        cast = _all([self._written(trees[id(piece)], found[id(piece)]) for piece in pieces])
        return self._read_alike(pieces) and self.same(read, cast)

    def _written(self, part: exp.Expr, item: Comparison) -> str:
        """Write a comparison with the casts that Weft gives its sides; a band as it stands."""
        if item.op in (Op.BAND, Op.FBAND) or not isinstance(part, exp.Binary):
            return render(part)
        one, two = (self._cast(side.unnest(), item.kind) for side in (part.left, part.right))
        return render(type(part)(this=exp.paren(one), expression=exp.paren(two)))

    def _cast(self, side: exp.Expr, kind: pa.DataType) -> exp.Expr:
        """Write a side in the type in which it is compared, as Spark does: an integer becomes a decimal of its own first."""
        digits = _DECIMALS.get(self.type(side))
        if digits is not None and pt.is_decimal(kind):
            side = exp.Cast(this=side.copy(), to=exp.DataType.build(f"decimal({digits},0)", dialect="spark"))
            return exp.Cast(this=side, to=exp.DataType.build(spark_name(kind), dialect="spark"))
        return in_type(side, kind, self.type)

    def _ask(self, frame: DataFrame, texts: list[str]) -> None:
        if not texts:
            return
        try:
            with untold():
                schema = frame.select(*[F.expr(text).alias(f"t{n}") for n, text in enumerate(texts)]).schema
        except PySparkException:
            if len(texts) == 1:
                self._types[texts[0]] = None
                return
            for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
                self._ask(frame, half)
            return
        for text, field in zip(texts, schema.fields, strict=True):
            self._types[text] = self._arrow(field)

    def _arrow(self, field: StructField) -> pa.DataType | None:
        if isinstance(field.dataType, StringType) and field.dataType.simpleString() != "string":
            return None  # a collation compares otherwise
        try:
            return arrow_schema(self.spark, StructType([field])).field(0).type
        except (PySparkException, TypeError):
            return None

    def type(self, node: exp.Expr) -> pa.DataType | None:
        """Return the type that Spark gives an expression of one side, None if it has no like in Arrow."""
        return self._types.get(render(node.unnest()))

    def compares(
        self, items: list[Comparison]
    ) -> tuple[list[Compare], dict[Side, dict[str, tuple[Column, str | None]]]]:
        """Return comparisons over keys, and each side's keys as `Analyzed` has them."""
        compares: list[Compare] = []
        keys: dict[Side, dict[str, tuple[Column, str | None]]] = {"left": {}, "right": {}}
        for item in items:
            named = []
            for side, given in zip(SIDES, (item.left, item.right), strict=True):
                tree = in_type(given, item.kind, self.type)
                tree = _turned(tree, self.aliases[0]) if self.aliases == SELF else tree
                text = render(tree)
                found = F.expr(text), str(tree.name) if isinstance(tree, exp.Column) else None
                for role in SIDES if self.aliases == SELF else (side,):
                    keys[role][text] = found
                named.append(Key(text, item.encode))
            compare = Compare(named[0], item.op, named[1], item.lo, item.hi, item.weak, item.step)
            if compare not in compares:
                compares.append(compare)
        return compares, keys

    def over_frame(self, piece: Piece, side: Side) -> str:
        """Return a piece of one side as text over its frame: a self join has one frame, read once."""
        if self.aliases != SELF or side == "left":
            return piece.text
        assert piece.tree is not None
        return render(_turned(piece.tree, SELF[0]))


def _operands(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the expressions of one side that a comparison or a band may compare."""
    given = (tree.args.get("this"), tree.args.get("expression"))
    for side in (part.unnest() for part in given if isinstance(part, exp.Expr)):
        yield side
        inner = side.this.unnest() if isinstance(side, exp.Abs) else side
        if isinstance(inner, (exp.Sub, exp.DateDiff)):
            for operand in (inner.this, inner.expression):
                yield operand.unnest()
                if isinstance(operand.unnest(), exp.TsOrDsToDate):
                    yield operand.unnest().this


def _turned(tree: exp.Expr, alias: str) -> exp.Expr:
    tree = tree.copy()
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias))
    return tree


def _local_days(item: Comparison, zone: str) -> bool:
    """Tell whether a band subtracts local times, in which a change of clocks would show."""
    return bool(item.step == "microsecond" and pt.is_timestamp(item.kind) and item.kind.tz and zone not in _UTC)


def _constant(limit: exp.Expr) -> Any:
    try:
        return compile_expression(limit, {}).constant()
    except (SpecError, pa.ArrowException, ArithmeticError, ValueError):
        return None


def _all(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)


def _select(
    server: _Server, left: DataFrame, right: DataFrame, select: Sequence[str | Column] | None, suffix: str
) -> tuple[tuple[Output, ...], set[tuple[str, str]], set[Side]]:
    """Return the outputs, the columns that they are made of, and the sides that they name."""
    if select is None:
        return _everything(server, suffix)
    check_selected(select)
    texts = [server.text_of(item, "select=") for item in select]
    try:
        with untold():
            fields = server.pairs.select(*map(F.expr, texts)).schema.fields
            _ = server.pairs.where(F.struct(*[F.expr(text) for text in texts]).isNotNull()).schema
    except PySparkException as error:
        if isinstance(error, AnalysisException) and str(error.getCondition()).startswith(
            ("INVALID_WHERE", "UNSUPPORTED_GEN")
        ):
            raise SpecError.of(
                "select= contains an aggregate, a window function, explode, or a name that it defines itself.",
                "It may contain columns and expressions over one pair.",
                "aggregate the joined stream afterwards; use .select() after the join for other steps.",
            ) from None
        given = ", ".join(map(str, select))
        raise explain_analysis(error, given, left, right, server.aliases, what="select=") from None
    pieces = [(piece, text) for text in texts for piece in items_of(text, server.names)]
    if len(pieces) != len(fields):
        raise SpecError.of(
            "select= contains a star that Weft cannot read.",
            f"Given: {', '.join(texts)}.",
            "name the columns that you want.",
        )
    no_collision(
        [field.name for field in fields],
        "give the columns different names in select=, such as 'r.id AS rid'.",
    )
    outputs, needed = [], set[tuple[str, str]]()
    for ((piece, _), _), field in zip(pieces, fields, strict=True):
        outputs.append(Output(field.name, F.expr(piece.text), _plain(piece, server.aliases)))
        needed |= piece.columns(server.names)
    sides: dict[str, Side] = dict(zip(server.aliases, SIDES, strict=True))
    return tuple(outputs), needed, {sides[alias] for alias, _ in needed}


def _everything(server: _Server, suffix: str) -> tuple[tuple[Output, ...], set[tuple[str, str]], set[Side]]:
    one, two = server.aliases
    taken = {name.lower() for name in server.names.left}
    named = [(name, one, name) for name in server.names.left]
    named += [(name + suffix if name.lower() in taken else name, two, name) for name in server.names.right]
    no_collision([name for name, _, _ in named], "set suffix= to a text that makes the names differ, or use select=.")
    outputs = []
    for shown, alias, name in named:
        quoted = name.replace("`", "``")
        side: Side = "left" if alias == one else "right"
        outputs.append(Output(shown, F.expr(f"{alias}.`{quoted}`"), (side, name)))
    return tuple(outputs), {(alias, name) for _, alias, name in named}, set(SIDES)


def _plain(piece: Piece, aliases: tuple[str, str]) -> tuple[Side, str] | None:
    if not isinstance(piece.tree, exp.Column):
        return None
    return ("left" if piece.tree.table == aliases[0] else "right"), str(piece.tree.name)
