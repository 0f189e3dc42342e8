"""What leaves the join: all columns, or what `select` asks for. Names are settled when the join is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.errors import SpecError
from weft.local.expr.compile import Compiled, compile_expression
from weft.spec import Unbounded, Window
from weft.spec.kinds import right_selected
from weft.spec.parse import WeftSql, references, render, resolve
from weft.types import Side

__all__ = ["Projection"]


class SideColumn(NamedTuple):
    """A column of a side, by the side's alias."""

    alias: str
    name: str


@dataclass(frozen=True)
class Projection:
    """Named outputs. A source is a column, taken as it is whatever its type, or an expression."""

    names: tuple[str, ...]
    sources: tuple[SideColumn | Compiled, ...]
    schema: pa.Schema
    aliases: tuple[str, str]

    @classmethod
    def of(
        cls,
        select: Sequence[str] | None,
        suffix: str,
        left: pa.Schema,
        right: pa.Schema,
        aliases: tuple[str, str] = ("l", "r"),
        *,
        pairs: bool = True,
    ) -> Projection:
        """Read `select`; raise now what would be wrong later. Without `pairs`, left rows leave alone."""
        builder = _Builder(suffix, left, right, aliases)
        if isinstance(select, str):
            raise SpecError.of(
                f"select={select!r} is a string, not a list.",
                "It must be a list of columns and expressions.",
                f"write select=[{select!r}].",
            )
        if select is not None and not list(select):
            raise SpecError.of(
                "select is empty.",
                "Without it, the result has all columns of both sides.",
                "leave it out, or name a column.",
            )
        for item in select if select is not None else [f"{alias}.*" for alias in aliases[: 2 if pairs else 1]]:
            builder.item(item)
        if not pairs and aliases[1] in builder.named:
            raise right_selected(aliases)
        fields = [
            pa.field(name, builder.kind(source)) for name, source in zip(builder.names, builder.sources, strict=True)
        ]
        return cls(tuple(builder.names), tuple(builder.sources), pa.schema(fields), aliases)

    def times(self, window: Window) -> dict[str, Side]:
        """Return the outputs that simply are the column that a window orders a side by."""
        if isinstance(window, Unbounded):
            return {}
        ordered: dict[tuple[str, str | None], Side] = {
            (self.aliases[0], window.left): "left", (self.aliases[1], window.right): "right",
        }  # fmt: skip
        found = zip(self.names, self.sources, strict=True)
        return {
            name: ordered[source] for name, source in found if not isinstance(source, Compiled) and source in ordered
        }

    @property
    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield the columns that are read, each by alias and name."""
        for source in self.sources:
            yield from source.columns if isinstance(source, Compiled) else (source,)

    def apply(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """Make the output of pairs: row i of `left` with row i of `right`."""
        tables = dict(zip(self.aliases, (left, right), strict=True))
        columns = [
            source.evaluate(tables) if isinstance(source, Compiled) else tables[source.alias].column(source.name)
            for source in self.sources
        ]
        return pa.table(columns, schema=self.schema)


class _Builder:
    def __init__(self, suffix: str, left: pa.Schema, right: pa.Schema, aliases: tuple[str, str]) -> None:
        self.suffix, self.aliases = suffix, aliases
        self.schemas = dict(zip(aliases, (left, right), strict=True))
        self.names: list[str] = []
        self.sources: list[SideColumn | Compiled] = []
        self.named: set[str] = set()
        """The sides that are named."""

    def kind(self, source: SideColumn | Compiled) -> pa.DataType:
        return source.type if isinstance(source, Compiled) else self.schemas[source.alias].field(source.name).type

    def item(self, item: str) -> None:
        for node in self._parse(item):
            star = node.find(exp.Star)
            if star is not None and any(star.args.values()):
                raise SpecError.of(
                    f"The select item {item!r} names columns that a star leaves out.",
                    "A star stands for all columns of a side.",
                    "name the columns that you want.",
                )
            if isinstance(node, exp.Star):
                for alias in self.aliases:
                    self._star(alias)
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                self._star(self._alias(node, item))
            else:
                self._expression(node)

    def _parse(self, item: str) -> list[exp.Expr]:
        hint = f"write items such as '{self.aliases[0]}.id AS id', '{self.aliases[1]}.*' or an expression."
        try:
            tree = sqlglot.parse_one(f"SELECT {item}", dialect=WeftSql)
        except SqlglotError:
            raise SpecError.of(
                f"The select item {item!r} does not parse.", "Items are SQL over the aliases.", hint
            ) from None
        used = {name for name, part in tree.args.items() if part}
        if not isinstance(tree, exp.Select) or used - {"expressions", "kind", "hint"}:
            raise SpecError.of(
                f"The select item {item!r} is more than an expression.", "Items are SQL over the aliases.", hint
            )
        return list(tree.expressions)

    def _alias(self, node: exp.Column, item: str) -> str:
        for alias in self.aliases:
            if alias.lower() == node.table.lower():
                return alias
        left, right = self.aliases
        raise SpecError.of(
            f"There is no side {node.table!r} in {item!r}.",
            f"The sides are called {left} (left) and {right} (right).",
            f"write {left}.* or {right}.*.",
        )

    def _star(self, alias: str) -> None:
        self.named.add(alias)
        for name in self.schemas[alias].names:
            taken = alias == self.aliases[1] and self._taken(name)
            self._output(name + self.suffix if taken else name, SideColumn(alias, name), f"{alias}.{name}")

    def _expression(self, node: exp.Expr) -> None:
        columns = [self.schemas[alias].names for alias in self.aliases]
        tree = resolve(node.unalias(), self.aliases, columns[0], columns[1])
        self.named |= references(tree)
        if isinstance(tree, exp.Column):
            self._output(node.alias or tree.name, SideColumn(tree.table, tree.name), render(tree))
            return
        named = tree.expression.name if isinstance(tree, exp.Dot) else render(tree)
        self._output(node.alias or named, compile_expression(tree, self.schemas), render(tree))

    def _taken(self, name: str) -> bool:
        return name.lower() in {known.lower() for known in self.names}

    def _output(self, name: str, source: SideColumn | Compiled, text: str) -> None:
        if self._taken(name):
            raise SpecError.of(
                f"Two output columns would be called {name!r}; the second is {text}.",
                f"So far there are: {', '.join(self.names)}.",
                f"set suffix= (it is {self.suffix!r}), or rename in select: '{text} AS other'.",
            )
        self.names.append(name)
        self.sources.append(source)
