"""`on` as text: parse it, find out whose columns it names, refuse what is not a join condition.

Nothing is evaluated here and no type is known, so a job file can be checked before Spark starts, and the local runtime
(`weft.local.analyze`) starts from the same tree with every column spelled `alias.column`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from weft.errors import SpecError, UnknownColumn

__all__ = [
    "WeftSql",
    "check_syntax",
    "closed",
    "conjuncts",
    "parse",
    "references",
    "render",
    "resolve",
    "without_casts",
]

_SIDES = ("left", "right")
_FORBIDDEN: dict[type[exp.Expr], str] = {
    exp.Query: "a subquery", exp.AggFunc: "an aggregate", exp.Window: "a window function", exp.Star: "a star",
    exp.Placeholder: "a parameter", exp.Parameter: "a parameter",
}  # fmt: skip


class _Tokenizer(Spark.Tokenizer):
    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']


class _Parser(SparkParser):
    STRICT_CAST = True


class WeftSql(Spark):
    """Spark 4's dialect where sqlglot's `spark` is still like Hive: CAST may fail, only TRY_CAST gives NULL; 'it''s' is it's."""

    Tokenizer = _Tokenizer
    Parser = _Parser


def render(expression: exp.Expr) -> str:
    """Write an expression in Spark's SQL, comments dropped, so equal conditions have equal text."""
    return str(expression.sql(dialect="spark", comments=False))


def parse(on: str, aliases: tuple[str, str]) -> exp.Expr:
    """Parse a condition; columns stay as written, except that an alias which is neither side's is refused."""
    return resolve(_parse(on, aliases), aliases, None, None)


def check_syntax(
    on: str, aliases: tuple[str, str], left_columns: Sequence[str] | None, right_columns: Sequence[str] | None
) -> exp.Expr:
    """Check all that can be known from names alone; return the tree with every column as `alias.column`.

    A side whose columns are not known yet (None) is not checked.
    """
    tree = resolve(_parse(on, aliases), aliases, left_columns, right_columns)
    if not any(not column.table for column in tree.find_all(exp.Column)):
        _check_relates(tree, aliases)
    return tree


def closed(text: str) -> bool:
    """Tell whether every bracket that a text opens is closed, in order, so that it can stand in brackets itself.

    >>> closed("l.x > 1 OR (r.x > 1)"), closed("l.x > 1) OR (r.x > 1")
    (True, False)
    """
    depth = 0
    try:
        for token in WeftSql().tokenize(text):
            depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
            if depth < 0:
                return False
    except TokenError:
        return False
    return depth == 0


def without_casts(text: str) -> str:
    """Return SQL that Spark wrote as a person would have: without the casts and suffixes that its analyzer adds.

    >>> without_casts("(abs((l.v1 - r.v2)) <= CAST(0.5BD AS DOUBLE))")
    'abs(l.v1 - r.v2) <= 0.5'
    """
    try:
        tree = sqlglot.parse_one(re.sub(r"\b(\d+(?:\.\d+)?)(?:BD|[LDSY])\b", r"\1", text), dialect=WeftSql)
    except (ParseError, TokenError):
        return text

    whole = exp.Paren(this=tree)
    while (cast := whole.find(exp.Cast)) is not None:
        cast.replace(cast.this)
    plain = whole.unnest()
    for paren in list(plain.find_all(exp.Paren)):
        held, around = paren.this, paren.parent
        looser = isinstance(held, exp.Connector) and not (isinstance(held, exp.And) and isinstance(around, exp.And))
        tight = (isinstance(around, exp.Binary) and not isinstance(around, exp.Connector)) or isinstance(
            around, exp.Not
        )
        if not (looser or tight) or not isinstance(held, exp.Binary):
            paren.replace(held)
    return str(plain.sql(dialect="spark", comments=False, normalize_functions="lower"))


def conjuncts(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a conjunction, parentheses taken off.

    >>> [render(part) for part in conjuncts(parse("l.a = r.a AND (l.b > 1 AND r.c < 2)", ("l", "r")))]
    ['l.a = r.a', 'l.b > 1', 'r.c < 2']
    """
    expression = expression.unnest()
    if isinstance(expression, exp.And):
        yield from conjuncts(expression.left)
        yield from conjuncts(expression.right)
    else:
        yield expression


def references(expression: exp.Expr) -> frozenset[str]:
    """Return the aliases whose columns the (resolved) expression names."""
    return frozenset(column.table for column in expression.find_all(exp.Column) if column.table)


def resolve(
    tree: exp.Expr, aliases: tuple[str, str], left_columns: Sequence[str] | None, right_columns: Sequence[str] | None
) -> exp.Expr:
    """Spell every column as `alias.column`, in the case of the schema; deeper parts become struct fields."""
    known = dict(zip(aliases, (left_columns, right_columns), strict=True))
    local = {str(name.name) for part in tree.find_all(exp.Lambda) for name in part.expressions}

    def change(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        parts = [part.name for part in node.parts]
        return node if parts[0] in local else _column(parts, aliases, known)

    return tree.transform(change)


def _parse(on: str, aliases: tuple[str, str]) -> exp.Expr:
    left, right = aliases
    hint = f"write a condition over {left} and {right}, such as on={f'{left}.x = {right}.x'!r}."
    if not on.strip():
        raise SpecError.of("The join condition is empty.", f"Given: on={on!r}.", hint)
    try:
        tree = sqlglot.parse_one(on, dialect=WeftSql, into=exp.Condition)
    except ParseError as error:
        raise SpecError.of(f"The join condition does not parse {_where(on, error)}.", f"Given: {on}", hint) from None
    except TokenError:
        what = "The join condition does not parse: a quote or a bracket is not closed."
        raise SpecError.of(what, f"Given: {on}", hint) from None
    for kind, name in _FORBIDDEN.items():
        found = tree.find(kind)
        if found is not None:
            raise SpecError.of(
                f"The join condition contains {name}: {render(found)}.",
                "A condition is evaluated on one row of each side.",
                "compute it as a column before the join.",
            )
    return tree


def _where(on: str, error: ParseError) -> str:
    details = error.errors[0] if error.errors else {}
    text, before = details.get("highlight"), details.get("start_context") or ""
    if not text:
        return f"at {on.strip()!r}"
    line = f"line {details.get('line')}, " if "\n" in on else ""
    return f"at {line}character {len(before) + 1}, near {text!r}"


def _column(parts: list[str], aliases: tuple[str, str], known: dict[str, Sequence[str] | None]) -> exp.Expr:
    alias = next((name for name in aliases if name.lower() == parts[0].lower()), None)
    if alias is not None and len(parts) > 1:
        names = known[alias]
        found = parts[1] if names is None else _find(alias, parts[1], names, aliases)
        return _spell(alias, found, parts[2:])
    return _unqualified(parts, aliases, known)


def _unqualified(parts: list[str], aliases: tuple[str, str], known: dict[str, Sequence[str] | None]) -> exp.Expr:
    """Give a name without an alias to the one side that has it, as Spark does."""
    name, (left, right) = parts[0], aliases
    owners = [alias for alias in aliases for column in known[alias] or () if column.lower() == name.lower()]
    if len(set(owners)) > 1 and len(parts) == 1:
        raise SpecError.of(f"{name!r} is ambiguous.", "Both sides have it.", f"write {left}.{name} or {right}.{name}.")
    if len(set(owners)) == 1:
        return _spell(owners[0], _find(owners[0], name, known[owners[0]] or (), aliases), parts[1:])
    sides = f"The sides are called {left} (left) and {right} (right)."
    if len(parts) > 1:
        rest = ".".join(parts[1:])
        what = f"There is no side {name!r}: {'.'.join(parts)}."
        raise SpecError.of(what, sides, f"write {left}.{rest} or {right}.{rest}.")
    if None in known.values():
        return exp.Column(this=exp.to_identifier(name))
    listing = "; ".join(f"{alias} has: {', '.join(columns or ())}" for alias, columns in known.items())
    hint = f"write {left}.column or {right}.column."
    raise UnknownColumn.of(f"Neither side has a column {name!r}.", f"{listing}.", hint)


def _find(alias: str, name: str, names: Sequence[str], aliases: tuple[str, str]) -> str:
    found = [column for column in names if column.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        raise SpecError.of(
            f"{alias}.{name} is ambiguous.",
            f"Names are case-insensitive, and there are: {', '.join(found)}.",
            "rename one of them before the join.",
        )
    raise UnknownColumn.on_side(_SIDES[aliases.index(alias)], name, names)


def _spell(alias: str, column: str, fields: list[str]) -> exp.Expr:
    spelled: exp.Expr = exp.Column(this=exp.to_identifier(column), table=exp.to_identifier(alias))
    for field in fields:
        spelled = exp.Dot(this=spelled, expression=exp.to_identifier(field))
    return spelled


def _check_relates(tree: exp.Expr, aliases: tuple[str, str]) -> None:
    named = references(tree)
    left, right = aliases
    missing = [side for side, alias in zip(_SIDES, aliases, strict=True) if alias not in named]
    hint = f"compare the sides, such as {left}.x = {right}.x."
    if missing:
        raise SpecError.of(
            f"{render(tree)} does not mention the {' or the '.join(missing)} side.",
            "A join condition must relate both.",
            hint,
        )
    if not any(len(references(part)) > 1 for part in conjuncts(tree)):
        raise SpecError.of(
            f"{render(tree)} has no comparison between the sides.",
            "Each part uses one side only, so every row would join every other.",
            hint,
        )
