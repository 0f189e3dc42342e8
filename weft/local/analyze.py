"""`on` as SQL text, taken apart for the local runtime, without Spark.

Each conjunct goes where it is decided cheapest: to one side alone, to an index as a comparison of keys, or to the residual.
`weft.local.expr` knows the comparisons and bands that an index can serve; types and evaluation are its own, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

from weft.engine import TEXTS
from weft.errors import SpecError
from weft.local.expr import (
    Comparison,
    Compiled,
    comparison,
    compile_expression,
    in_type,
    left_and_right,
    spark_name,
    spread,
)
from weft.spec.parse import check_syntax, references, render
from weft.spec.terms import Compare, Condition, Key, Op
from weft.types import Side

__all__ = ["Analyzed", "analyze"]


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
    for conjunct in spread(tree):
        parts.place(conjunct)
    return parts.finish(render(tree))


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
            compare = self._compare(conjunct)
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
        sides = left_and_right(conjunct.left, conjunct.right, self.aliases)
        found = [side.unnest() for side in sides or ()]
        if not found or not all(isinstance(side, exp.Column) for side in found):
            return None
        one, two = (self.schemas[alias].field(side.name).type for alias, side in zip(self.aliases, found, strict=True))
        return (found[0].name, found[1].name) if one == two and one in TEXTS else None

    def _compiled(self, parts: list[exp.Expr]) -> Compiled | None:
        return compile_expression(_conjunction(parts), self.schemas) if parts else None

    def _compare(self, conjunct: exp.Expr) -> Compare | None:
        found = comparison(conjunct, self.aliases, self._type, lambda limit: compile_expression(limit, {}).constant())
        if found is None:
            return None
        left, right = (self._key(side, found) for side in (found.left, found.right))
        return Compare(left, found.op, right, found.lo, found.hi, found.weak, found.step)

    def _type(self, side: exp.Expr) -> pa.DataType:
        return compile_expression(side, self.schemas).type

    def _key(self, side: exp.Expr, found: Comparison) -> Key:
        compiled = compile_expression(in_type(side, found.kind, self._type), self.schemas)
        alias = next(iter(references(side)))
        self.keys[alias][compiled.text] = compiled
        return Key(compiled.text, found.encode)


def _conjunction(parts: list[exp.Expr]) -> exp.Expr:
    return exp.and_(*(part.copy() for part in parts), copy=False, wrap=True) if len(parts) > 1 else parts[0]


def _joined(parts: list[exp.Expr]) -> str:
    return render(_conjunction(parts)) if parts else ""
