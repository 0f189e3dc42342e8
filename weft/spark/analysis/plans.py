"""An analyzed plan as plain data: what both kinds of session can tell of the operators behind a frame.

With a JVM handle it is read off Catalyst's tree, on Spark Connect off the text that the server explains a frame with. What Weft
concludes from it (order in time, order of arrival, the joins below) is concluded once, here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft.spark.analysis.tree import children, kind
from weft.spark.state_place import JOIN, TABLE
from weft.spec.disorder import UNION

__all__ = [
    "PlanNode", "arrives_anyhow", "catalyst_plan", "functions_in", "mixed", "plan_from_text", "values_vary", "watermarked",
]  # fmt: skip


@dataclass(frozen=True)
class PlanNode:
    """One operator: its class, the line that Spark prints of it, whether it is of a stream, and what is below it."""

    kind: str
    text: str
    streaming: bool
    steady: bool = True
    """Whether its expressions give the same values again, as far as Spark knows."""
    below: tuple[PlanNode, ...] = ()

    def nodes(self) -> Iterator[PlanNode]:
        """Yield this operator and all below it."""
        yield self
        for child in self.below:
            yield from child.nodes()


def catalyst_plan(plan: Any) -> PlanNode:
    """Read Catalyst's own tree."""
    name = kind(plan)
    text = str(plan.rdd().toDebugString()) if name == "LogicalRDD" else str(plan.simpleString(100))
    given = plan.expressions()
    own = (given.apply(number) for number in range(given.size()))
    steady = not _CHANCE.search(text) and all(bool(expression.deterministic()) for expression in own)
    return PlanNode(name, text, bool(plan.isStreaming()), steady, tuple(map(catalyst_plan, children(plan))))


_CHANCE = re.compile(
    r"\b(rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id|spark_partition_id)\("
    r"|#\d+\w*(?:(?! AS )[^\[\],])*\)#\d+"
)
"""What gives other values each time: random functions, and Python UDFs, which Spark prints as `f(x#1)#2`."""
_LINE = re.compile(r"^(?P<depth>(?:[:+ ]  |[:+]- )*)(?P<text>~?[!']?(?P<kind>\w+).*)$")


def plan_from_text(text: str) -> PlanNode:
    r"""Read the analyzed plan out of what `explain(extended=True)` prints.

    >>> plan = "Filter (x#1 > 2)\n+- ~StreamingRelation [x#1]"
    >>> said = f"== Analyzed Logical Plan ==\nx: int\n{plan}\n\n== Optimized Logical Plan =="
    >>> [(node.kind, node.streaming) for node in plan_from_text(said).nodes()]
    [('Filter', True), ('StreamingRelation', True)]
    """
    section = text.partition("== Analyzed Logical Plan ==\n")[2].partition("\n== ")[0]
    lines: list[tuple[int, str, str]] = []
    for line in section.splitlines()[1:]:
        found = _LINE.match(line)
        if found:
            lines.append((len(found["depth"]) // 3, found["kind"], found["text"]))
    made, rest = _node(lines, 0)
    assert made is not None and rest == len(lines)
    return made


_PRINTED = {"Relation": "LogicalRelation", "RelationV2": "DataSourceV2Relation"}
"""Classes by the names that they print."""


def _node(lines: list[tuple[int, str, str]], at: int) -> tuple[PlanNode | None, int]:
    if at >= len(lines):
        return None, at
    depth, name, text = lines[at]
    below, at = [], at + 1
    while at < len(lines) and lines[at][0] > depth:
        child, at = _node(lines, at)
        assert child is not None
        below.append(child)
    name = _PRINTED.get(name, name)
    if name == "InMemoryRelation":  # what it was computed by is of the past
        below = []
    streams = text.startswith("~") or name.startswith("Streaming") or any(child.streaming for child in below)
    return PlanNode(name, text, streams, not _CHANCE.search(text), tuple(below)), at


def functions_in(plan: PlanNode, prefix: str) -> list[str]:
    """Return the ids of Weft's functions of a sort in a plan, each once."""
    found = (re.search(prefix + r"([0-9a-f]{32})\(", node.text) for node in plan.nodes() if node.kind == "MapInArrow")
    return list(dict.fromkeys(match[1] for match in found if match))


def watermarked(plan: PlanNode) -> bool:
    """Tell whether there is a watermark anywhere."""
    return any(node.kind == "EventTimeWatermark" for node in plan.nodes())


_STATEFUL = {"FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState", "TransformWithState",
             "TransformWithStateInPySpark", "TransformWithStateInPandas"}  # fmt: skip
_MIXING = {"Join": "one of Spark's own stream-stream joins", "Union": UNION}
_FUNCTIONS = {"MapInArrow", "MapInPandas", "MapPartitions", "MapElements", "MapPartitionsInRWithArrow"}
"""Functions of the user's, which may do anything to the times of rows."""


def mixed(plan: PlanNode) -> str | None:
    """Name the operator behind a watermark that gives rows out of order by more than it says; "" if there is none.

    None: there is no watermark at all, what the column says was written by somebody. Files and tables keep metadata, and a
    function of the user's may be given any schema.
    """
    if plan.kind == "EventTimeWatermark" or (plan.kind == "MapInArrow" and JOIN in plan.text):
        return ""
    streams = [child for child in plan.below if child.streaming]
    if plan.kind in _STATEFUL:
        return f"a stateful operator ({plan.kind})"
    looks_up = plan.kind == "MapInArrow" and TABLE in plan.text  # hands rows on in their order
    if (plan.kind in _FUNCTIONS and not looks_up) or not streams:
        return None
    if len(streams) > 1 and plan.kind in _MIXING:
        return _MIXING[plan.kind]
    return mixed(streams[-1])


_KEEPS = {
    "Project", "Filter", "SubqueryAlias", "View", "EventTimeWatermark", "UpdateEventTimeWatermarkColumn", "CollectMetrics",
    "ResolvedHint", "Union", "Generate", "Expand", "StreamingRelation", "StreamingRelationV2", "StreamingExecutionRelation",
    "StreamingDataSourceV2Relation", "StreamingDataSourceV2ScanRelation", "LogicalRelation", "DataSourceV2Relation",
    "DataSourceV2ScanRelation", "HiveTableRelation", "LocalRelation", "OneRowRelation", "Range", "ExternalRDD",
    "MapInArrow", "MapInPandas", "MapPartitions", "MapElements", "DeserializeToObject", "SerializeFromObject", "TypedFilter",
    "ArrowEvalPython", "BatchEvalPython", "WithCTE", "CTERelationDef", "CTERelationRef", "InMemoryRelation",
}  # fmt: skip
"""Operators that read rows in an order of their own, or hand them on as they come. Whatever else there is may shuffle."""


def arrives_anyhow(node: PlanNode, by_arrival: bool) -> bool:
    """Tell whether rows may arrive in another order when they are computed again.

    Where a window goes `by_arrival`, a stream that looks up a table is taken to arrive as its source does: Spark mostly
    broadcasts the table, and the order of the source is what was asked for.
    """
    if node.kind == "Sort":  # an order was asked for
        return False
    if node.kind == "MapInArrow" and JOIN in node.text:
        return False  # a join of ours settles its own inputs, and gives its pairs in one order
    if node.kind == "Repartition" and not node.text.rstrip().endswith("true"):
        return arrives_anyhow(node.below[0], by_arrival)
    if node.kind == "LogicalRDD":  # rows of a program, or a batch that Spark hands to foreachBatch
        return "Shuffled" in node.text or "RDD[" not in node.text
    if node.kind == "Join" and by_arrival:
        streams = [child for child in node.below if child.streaming]
        return len(streams) != 1 or arrives_anyhow(streams[0], by_arrival)
    return node.kind not in _KEEPS or any(arrives_anyhow(child, by_arrival) for child in node.below)


def values_vary(node: PlanNode) -> bool:
    """Tell whether rows may have other values when they are computed again: behind random values and functions of the user's.

    Spark takes a Python function for deterministic, whatever is in it.
    """
    if node.kind == "MapInArrow" and JOIN in node.text:
        return False
    ours = node.kind == "MapInArrow" and TABLE in node.text
    theirs = not ours and (node.kind in _FUNCTIONS | _STATEFUL or "EvalPython" in node.kind)
    return theirs or not node.steady or any(map(values_vary, node.below))
