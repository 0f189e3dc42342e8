"""`on` as SQL text, taken apart for the local runtime, without Spark.

Each conjunct goes where it is decided cheapest: to one side alone, to an index as a comparison of keys, or to the residual.
`weft.local.expr.bands` knows the bands; types and evaluation are those of `weft.local.expr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

from weft.engine import TEXTS
from weft.errors import SpecError
from weft.local.expr import (
    INT_DIGITS,
    BandLimits,
    Compiled,
    band_limits,
    common,
    compile_expression,
    is_text,
    spark_name,
)
from weft.spec.parse import check_syntax, conjuncts, references, render
from weft.spec.terms import Compare, Condition, Encode, Key, Op
from weft.types import Side

__all__ = ["Analyzed", "analyze"]

_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT, exp.LTE: Op.LE, exp.GT: Op.GT, exp.GTE: Op.GE, exp.EQ: Op.EQ, exp.NEQ: Op.NE,
}  # fmt: skip
_FLIPPED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
_OPPOSITE: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip


@dataclass(frozen=True)
class Analyzed:
    """A condition with the evaluators for its parts.

    Keys are found by their text. Filter each side by its own part first, then make the keys: a key such as `1 / l.x` may
    rely on `l.x <> 0`.
    """

    condition: Condition
    aliases: tuple[str, str]
    left_keys: Mapping[str, Compiled] = field(default_factory=dict)
    right_keys: Mapping[str, Compiled] = field(default_factory=dict)
    left_only: Compiled | None = None
    right_only: Compiled | None = None
    residual: Compiled | None = None
    texts: tuple[tuple[str, str], ...] = ()
    """Left and right columns of text that the residual compares for equality: the engine can do that by itself..."""
    beyond: Compiled | None = None
    """... and then this is left of the residual."""

    def alias(self, side: Side) -> str:
        """Return what the condition calls a side."""
        return self.aliases[0] if side == "left" else self.aliases[1]

    def keys(self, side: Side) -> Mapping[str, Compiled]:
        """Return the evaluators of one side's keys, by their text."""
        return self.left_keys if side == "left" else self.right_keys

    def only(self, side: Side) -> Compiled | None:
        """Return the condition that one side decides alone."""
        return self.left_only if side == "left" else self.right_only


def analyze(
    on: str, left: pa.Schema, right: pa.Schema, aliases: tuple[str, str] = ("l", "r"), *, unordered: bool = False
) -> Analyzed:
    """Take a condition apart; an unordered pair is checked in both readings, so nothing is one side's alone.

    >>> schema = pa.schema({"x": "int64", "y": "float64"})
    >>> [compare.left.text for compare in analyze("l.x = r.x AND l.x < r.y", schema, schema).condition.compares]
    ['l.x', 'CAST(l.x AS DOUBLE)']
    """
    tree = check_syntax(on, aliases, left.names, right.names)
    schemas = dict(zip(aliases, (left, right), strict=True))
    whole = compile_expression(tree, schemas)  # every type error is found here, before anything is taken apart
    if not pt.is_boolean(whole.type) and not pt.is_null(whole.type):
        raise SpecError.of(
            f"{render(tree)} is not a condition.",
            f"Its type is {spark_name(whole.type)}, not BOOLEAN.",
            "compare it with something.",
        )
    parts = _Parts(aliases, schemas, unordered)
    for conjunct in _spread(tree):
        parts.place(conjunct)
    return parts.finish(render(tree))


def _spread(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conjuncts; BETWEEN as its two comparisons, NOT of a comparison as its opposite (NaN is ordered, so it is)."""
    for conjunct in conjuncts(tree):
        inner = conjunct.this.unnest() if isinstance(conjunct, exp.Not) else None
        if isinstance(conjunct, exp.Between) and len(references(conjunct)) > 1:
            yield exp.GTE(this=conjunct.this.copy(), expression=conjunct.args["low"].copy())
            yield exp.LTE(this=conjunct.this.copy(), expression=conjunct.args["high"].copy())
        elif inner is not None and type(inner) in _OPPOSITE:
            yield _OPPOSITE[type(inner)](this=inner.this.copy(), expression=inner.expression.copy())
        else:
            yield conjunct


class _Parts:
    """Where the conjuncts go."""

    def __init__(self, aliases: tuple[str, str], schemas: Mapping[str, pa.Schema], unordered: bool) -> None:
        self.aliases, self.schemas, self.unordered = aliases, schemas, unordered
        self.keys: dict[str, dict[str, Compiled]] = {alias: {} for alias in aliases}
        self.only: dict[str, list[exp.Expr]] = {alias: [] for alias in aliases}
        self.residual: list[exp.Expr] = []
        self.beyond: list[exp.Expr] = []
        self.texts: list[tuple[str, str]] = []
        self.compares: list[Compare] = []

    def place(self, conjunct: exp.Expr) -> None:
        """Decide who decides this conjunct."""
        named = references(conjunct)
        if len(named) == 1 and not self.unordered:
            self.only[next(iter(named))].append(conjunct)
        elif isinstance(conjunct, exp.Boolean) and conjunct.this:
            return
        else:
            compare = self._compare(conjunct) or self._band(conjunct)
            if compare is not None and compare not in self.compares:
                self.compares.append(compare)
            if compare is None or compare.weak:
                self.residual.append(conjunct)
                texts = self._texts(conjunct, compare)
                if texts is None:
                    self.beyond.append(conjunct)
                else:
                    self.texts.append(texts)

    def finish(self, text: str) -> Analyzed:
        """Compile what is left over and put all parts together."""
        left, right = self.aliases
        condition = Condition(
            text, tuple(self.compares), _joined(self.residual), _joined(self.only[left]), _joined(self.only[right])
        )
        only = [self._compiled(self.only[alias]) for alias in self.aliases]
        residual = self._compiled(self.residual)
        return Analyzed(
            condition, self.aliases, self.keys[left], self.keys[right], only[0], only[1], residual, tuple(self.texts),
            self._compiled(self.beyond) if self.texts else residual,
        )  # fmt: skip

    def _texts(self, conjunct: exp.Expr, compare: Compare | None) -> tuple[str, str] | None:
        """Return both columns of an equality of plain columns of one type of text."""
        if compare is None or compare.op is not Op.EQ or self.unordered or not isinstance(conjunct, exp.EQ):
            return None
        sides = self._left_and_right(conjunct.left, conjunct.right)
        found = [side.unnest() for side in sides or ()]
        if not found or not all(isinstance(side, exp.Column) for side in found):
            return None
        one, two = (self.schemas[alias].field(side.name).type for alias, side in zip(self.aliases, found, strict=True))
        return (found[0].name, found[1].name) if one == two and one in TEXTS else None

    def _compiled(self, parts: list[exp.Expr]) -> Compiled | None:
        return compile_expression(_conjunction(parts), self.schemas) if parts else None

    def _compare(self, conjunct: exp.Expr) -> Compare | None:
        if type(conjunct) not in _OPS:
            return None
        assert isinstance(conjunct, exp.Binary)
        sides = self._left_and_right(conjunct.left, conjunct.right)
        if sides is None:
            return None
        swapped = sides[0] is not conjunct.left
        op = _OPS[_FLIPPED[type(conjunct)] if swapped else type(conjunct)]
        kinds = [compile_expression(side, self.schemas).type for side in sides]
        kind = _key_type(*kinds)
        encode = None if kind is None else _encode(kind, op)
        if kind is None or encode is None:
            return None
        left, right = (self._key(side, kind, encode) for side in sides)
        return Compare(left, op, right, weak=encode != "value")

    def _band(self, conjunct: exp.Expr) -> Compare | None:
        """Match `abs(a - b) <= d` in any order of its parts; what `a - b` is depends on the types."""
        if isinstance(conjunct, (exp.GT, exp.GTE)):
            conjunct = _FLIPPED[type(conjunct)](this=conjunct.right.copy(), expression=conjunct.left.copy())
        if not isinstance(conjunct, (exp.LT, exp.LTE)) or not isinstance(conjunct.left.unnest(), exp.Abs):
            return None
        distance, limit = conjunct.left.unnest().this.unnest(), conjunct.right
        if references(limit) or not isinstance(distance, (exp.Sub, exp.DateDiff)):
            return None
        sides = self._left_and_right(distance.this, distance.expression)
        if sides is None:
            return None
        kinds = [compile_expression(side, self.schemas).type for side in sides]
        constant = compile_expression(limit, {}).constant()
        found: BandLimits | None = band_limits(kinds[0], kinds[1], constant, strict=isinstance(conjunct, exp.LT))
        if found is None:
            return None
        left, right = (self._key(side, found.kind, "value") for side in sides)
        return Compare(left, found.op, right, found.lo, found.hi, found.weak, found.step)

    def _left_and_right(self, a: exp.Expr, b: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        left, right = (frozenset([alias]) for alias in self.aliases)
        if (references(a), references(b)) == (left, right):
            return a, b
        return (b, a) if (references(a), references(b)) == (right, left) else None

    def _key(self, side: exp.Expr, kind: pa.DataType, encode: Encode) -> Key:
        side = side.unnest()
        compiled = compile_expression(side, self.schemas)
        if isinstance(side, exp.TsOrDsToDate) and compile_expression(side.this, self.schemas).type == kind:
            compiled = compile_expression(side.this, self.schemas)  # DATEDIFF wraps dates in TO_DATE
        elif compiled.type != kind:
            to = exp.DataType.build(spark_name(kind), dialect="spark")
            compiled = compile_expression(exp.Cast(this=side.copy(), to=to), self.schemas)
        alias = next(iter(references(side)))
        self.keys[alias][compiled.text] = compiled
        return Key(compiled.text, encode)


def _key_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type of both keys; None if no key of one word can decide."""
    kind = common(a, b)
    if pt.is_null(a) or pt.is_null(b):  # never true; what it is compared with may have no name in SQL to cast it to
        return None
    if kind is None or pt.is_duration(kind) or pt.is_nested(kind) or pt.is_decimal256(kind):
        return None
    return pa.int64() if kind in INT_DIGITS and a != b else kind


def _encode(kind: pa.DataType, op: Op) -> Encode | None:
    wide = is_text(kind) or pt.is_binary(kind) or (pt.is_decimal(kind) and kind.precision > 18)
    if not wide:
        return "value"
    if op is Op.NE:
        return None
    return "hash" if op is Op.EQ else "prefix"


def _conjunction(parts: list[exp.Expr]) -> exp.Expr:
    return exp.and_(*(part.copy() for part in parts), copy=False, wrap=True) if len(parts) > 1 else parts[0]


def _joined(parts: list[exp.Expr]) -> str:
    return render(_conjunction(parts)) if parts else ""
