"""Catalyst expressions from Python: the few moves Weft needs, each through Spark's own classes.

Spark's analyzer has resolved names, inserted casts and expanded stars; nothing here parses SQL again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

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
    return node.withNewChildren(spark._jvm.PythonUtils.toSeq(new))  # type: ignore[union-attr]


def inlined(spark: SparkSession, node: Node) -> Node:
    """Write BETWEEN and its like out: Spark 4 shares the tested value by reference, which cannot be taken apart."""
    if kind(node) == "Between":
        return inlined(spark, children(node)[0])
    if kind(node) != "With":
        return node
    body, *definitions = children(node)
    values = {definition.id().toString(): children(definition)[0] for definition in definitions}
    return rebuilt(
        spark, body, lambda n: values.get(n.id().toString()) if kind(n) == "CommonExpressionRef" else None
    )  # fmt: skip


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
