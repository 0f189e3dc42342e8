"""SQL text taken apart without writing it anew: what Spark evaluates stays in the words of the user.

sqlglot reads the structure. It may read a text otherwise than Spark does, so `weft.spark.connect.analyze` lets Spark compare both
readings before it relies on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.errors import SpecError
from weft.spec.parse import WeftSql, references, render, resolve

__all__ = ["Names", "Piece", "has_query", "items_of", "piece_of", "split_conjuncts"]


@dataclass(frozen=True)
class Names:
    """What the sides are called, and their columns."""

    aliases: tuple[str, str]
    left: Sequence[str]
    right: Sequence[str]

    def resolved(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree with every column as `alias.column`."""
        return resolve(tree, self.aliases, self.left, self.right)

    def columns(self, alias: str) -> Sequence[str]:
        """Return the columns of a side."""
        return self.left if alias == self.aliases[0] else self.right


@dataclass(frozen=True)
class Piece:
    """One expression: its text for Spark, and its tree with every column as `alias.column` (None: sqlglot cannot read it)."""

    text: str
    tree: exp.Expr | None

    def columns(self, names: Names) -> set[tuple[str, str]]:
        """Return the columns that it names, by alias; all there are, if nobody knows."""
        if self.tree is None:
            return {(alias, name) for alias in names.aliases for name in names.columns(alias)}
        return {(column.table, column.name) for column in self.tree.find_all(exp.Column)}

    @property
    def sides(self) -> frozenset[str]:
        """Return the aliases that it names."""
        return frozenset() if self.tree is None else references(self.tree)


def piece_of(text: str, names: Names) -> Piece:
    """Read one expression; columns without an alias get theirs, so that it can be evaluated over the sides' structs."""
    try:
        written = sqlglot.parse_one(text, dialect=WeftSql, into=exp.Condition)
        tree = names.resolved(written)
    except (SqlglotError, SpecError):
        return Piece(text, None)
    return Piece(render(tree) if _bare(written, names) else text, tree)


def _bare(tree: exp.Expr, names: Names) -> bool:
    """Tell whether columns are named without an alias."""
    local = {str(name.name) for part in tree.find_all(exp.Lambda) for name in part.expressions}
    aliases = {alias.lower() for alias in names.aliases}
    firsts = [(column.parts[0].name, len(column.parts)) for column in tree.find_all(exp.Column)]
    return any(
        (count == 1 or name.lower() not in aliases) and name not in local
        for name, count in firsts
    )  # fmt: skip


def items_of(text: str, names: Names) -> list[tuple[Piece, bool]]:
    """Read one item of a selection, without its name; a star gives one piece per column, marked as such."""
    try:
        (item,) = sqlglot.parse_one(f"SELECT {text}", dialect=WeftSql).expressions
    except (SqlglotError, ValueError, AttributeError):
        return [(Piece(text, None), False)]
    starred = item.this if isinstance(item, exp.Column) else item
    if isinstance(starred, exp.Star) and not any(starred.args.values()):
        chosen = [alias for alias in names.aliases if item is starred or item.table.lower() == alias]
        return [(_column(alias, name), True) for alias in chosen for name in names.columns(alias)]
    try:
        tree = names.resolved(item.unalias())
    except SpecError:
        return [(Piece(text, None), False)]
    return [(Piece(render(tree) if _bare(item.unalias(), names) else text, tree), False)]


def _column(alias: str, name: str) -> Piece:
    quoted = "`" + name.replace("`", "``") + "`"
    tree = exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias))
    return Piece(f"{alias}.{quoted}", tree)


def split_conjuncts(text: str) -> list[str]:
    """Split a condition at the ANDs that hold it together, brackets around the parts taken off.

    >>> split_conjuncts("l.x BETWEEN 1 AND 2 AND (l.y = r.y AND (r.z OR l.z))")
    ['l.x BETWEEN 1 AND 2', 'l.y = r.y', 'r.z OR l.z']
    """
    text = text.strip()
    tokens = [(token.token_type.name, token.text.upper(), token.start, token.end) for token in WeftSql().tokenize(text)]
    if tokens and tokens[0][0] == "L_PAREN" and _closes(tokens) == len(tokens) - 1:
        return split_conjuncts(text[tokens[0][3] + 1 : tokens[-1][2]])
    depth = betweens = 0
    cuts: list[tuple[int, int]] = []
    for kind, word, start, end in tokens:
        depth += (kind in _OPENS or word == "CASE") - (kind in _CLOSES or word == "END")
        if depth:
            continue
        if word == "OR":
            return [text]
        betweens += word == "BETWEEN"
        if word == "AND" and betweens:
            betweens -= 1
        elif word == "AND":
            cuts.append((start, end + 1))
    if not cuts:
        return [text]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [part for start, end in zip(starts, ends, strict=True) for part in split_conjuncts(text[start:end])]


def has_query(text: str) -> bool:
    """Tell whether a text holds a query of its own."""
    return any(token.token_type.name == "SELECT" for token in WeftSql().tokenize(text))


_OPENS, _CLOSES = {"L_PAREN", "L_BRACKET", "L_BRACE"}, {"R_PAREN", "R_BRACKET", "R_BRACE"}


def _closes(tokens: list[tuple[str, str, int, int]]) -> int:
    """Return which token closes the bracket that the first one opens."""
    depth = 0
    for number, (kind, _, _, _) in enumerate(tokens):
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if not depth:
            return number
    return -1
