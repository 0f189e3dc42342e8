"""Catalyst expressions from Python: the few moves Weft needs, each through Spark's own classes.

Spark's analyzer has resolved names, inserted casts and expanded stars; nothing here parses SQL again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from weft.errors import SpecError

__all__ = [
    "Node",
    "attributes",
    "children",
    "column_of",
    "constant",
    "frame_of",
    "inlined",
    "kind",
    "nodes",
    "rebuilt",
    "type_of",
]

Node: TypeAlias = Any
"""A Catalyst expression behind py4j."""


def kind(node: Node) -> str:
    """Return the name of the expression's class."""
    return str(node.getClass().getSimpleName())


def children(node: Node) -> list[Node]:
    """Return the children as a list."""
    found = node.children()
    return [found.apply(number) for number in range(found.size())]


def type_of(node: Node) -> str:
    """Return the data type as Spark writes it, such as `decimal(10,2)`."""
    return str(node.dataType().catalogString())


def attributes(node: Node) -> Iterator[Node]:
    """Yield the column references below a node."""
    if kind(node) == "AttributeReference":
        yield node
    for child in children(node):
        yield from attributes(child)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all that are below it."""
    yield node
    for child in children(node):
        yield from nodes(child)


def rebuilt(spark: SparkSession, node: Node, replace: Callable[[Node], Node | None]) -> Node:
    """Return the tree with every node for which `replace` answers exchanged."""
    answer = replace(node)
    if answer is not None:
        return answer
    old = children(node)
    if not old:
        return node
    new = [rebuilt(spark, child, replace) for child in old]
    if all(one is two for one, two in zip(old, new, strict=True)):
        return node
    return node.withNewChildren(spark._jvm.PythonUtils.toSeq(new))  # type: ignore[union-attr]


def inlined(spark: SparkSession, node: Node, known: Mapping[str, Node] = MappingProxyType({})) -> Node:
    """Write out, at every depth, what Spark 4 shares by reference: the tested value of BETWEEN, the first one of nullif.

    What is shared cannot be taken apart, nor asked of other columns. A value that is not the same each time stays shared.
    """

    def written(inner: Node) -> Node | None:
        if kind(inner) == "CommonExpressionRef":
            return known.get(inner.id().toString())
        if kind(inner) != "With":
            return None
        body, *definitions = children(inner)
        if not all(each.deterministic() for each in definitions):
            if any(True for each in definitions for _ in attributes(each)):
                raise SpecError.of(
                    "BETWEEN or nullif uses a random value that depends on a column.",
                    f"It is: {', '.join(children(each)[0].sql() for each in definitions)}.",
                    "compute it with .select() after the join.",
                )
            return None
        values = {each.id().toString(): inlined(spark, children(each)[0], known) for each in definitions}
        return inlined(spark, body, {**known, **values})

    return rebuilt(spark, node, written)


def constant(node: Node) -> int | float | Decimal | None:
    """Return the value of a constant numeric expression (an interval as microseconds), None if it is not one."""
    if not node.foldable():
        return None
    value = node.eval(None)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value
    return Decimal(value.toString()) if type_of(node).startswith("decimal") else None


def column_of(spark: SparkSession, node: Node) -> Column:
    """Return an expression as a PySpark Column."""
    from pyspark.sql.classic.column import Column as ClassicColumn

    jvm: Any = spark._jvm
    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(node))


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Return a logical plan as a DataFrame."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    jvm: Any = spark._jvm
    return ClassicDataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)
