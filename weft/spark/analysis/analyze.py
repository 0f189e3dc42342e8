"""Spark's analyzer as front end: a condition in SQL or PySpark Columns, taken apart without parsing it again.

The condition is analyzed as that of an ordinary join of `left AS l` and `right AS r`, which Spark allows (it refuses
only to run it). So names, types, casts, functions and UDFs mean exactly what they mean in Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import SpecError, about
from weft.spark.analysis.complaints import explain_analysis, hidden_column, untold
from weft.spark.analysis.conjuncts import Served, SideOf, classify, split_and
from weft.spark.analysis.tree import Node, attributes, children, column_of, frame_of, inlined, kind, nodes, rebuilt
from weft.spark.analysis.watermarks import without_watermarks
from weft.spec import Condition, Key
from weft.types import SIDES, Side

__all__ = [
    "SELF", "Analyzed", "Output", "analyze", "check_asked", "check_relates", "check_selected", "no_collision", "same_frame",
]  # fmt: skip

_SUBQUERIES = ("ScalarSubquery", "Exists", "InSubquery", "ListQuery")
SELF = ("a", "b")
"""The aliases of a self join."""


@dataclass(frozen=True)
class Output:
    """One column of the result: its name and its expression over the struct columns `l` and `r` (or `a` and `b`)."""

    name: str
    column: Column
    plain: tuple[Side, str] | None = None
    """The side and the column that it simply is; None if it is more."""


@dataclass(frozen=True)
class Analyzed:
    """What a front end understood: both sides as frames, the condition by kinds, the columns that must travel."""

    spark: SparkSession
    frames: dict[Side, DataFrame]
    condition: Condition
    keys: Mapping[Side, Mapping[str, tuple[Column, str | None]]]
    """Each side's keys by their text: their Columns, and the columns of the frame that they simply are (None: they are more)."""
    residual: Column | None
    only: dict[Side, Column | None]
    outputs: tuple[Output, ...]
    payload: dict[Side, tuple[str, ...]]
    selected: frozenset[Side] = frozenset()
    """The sides that the selection names."""
    taken: bool = False
    """Whether watermarks in front stay where they are, because Spark's own operators there need them."""
    rest: tuple[Any, ...] = ()
    """The conjuncts of the residual, as the front end has them."""
    given: dict[Side, Any] = field(default_factory=dict)
    """Both sides as the front end has them, watermarks and all."""
    numbered: bool = False
    """Whether rows travel with their identity, from which the keys of pairs are made."""


def analyze(
    left: DataFrame, right: DataFrame, on: str | Column, select: Sequence[str | Column] | None, suffix: str,
    aliases: tuple[str, str], unordered: bool = False,
) -> Analyzed:  # fmt: skip
    """Analyze condition and selection; everything wrong with them is raised here.

    An unordered pair is checked in both readings, and so are conditions of one side: they stay in the residual.
    """
    spark = left.sparkSession
    one, two = left.alias(aliases[0]), right.alias(aliases[1])
    check_asked(on, aliases)
    try:
        with untold():
            joined = one.join(two, F.expr(on) if isinstance(on, str) else on, "inner")
            plan: Any = joined._jdf.queryExecution().analyzed()
    except (AnalysisException, ParseException, Py4JJavaError) as error:
        if left is right and aliases != SELF and "ambiguous" in str(error):
            raise same_frame("on=") from None
        raise explain_analysis(error, on, left, right, aliases) from None
    if kind(plan) != "Join":
        raise hidden_column("on=")
    if any(kind(node) in _SUBQUERIES for node in nodes(plan.condition().get())):
        raise SpecError.of(
            "on= contains a subquery.",
            "A condition is decided from one row of each side.",
            "join with that table first.",
        )
    below: dict[Side, Any] = {"left": plan.left(), "right": plan.right()}
    bare = {side: without_watermarks(spark, below[side]) for side in SIDES}
    frames: dict[Side, DataFrame] = {side: frame_of(spark, rows) for side, (rows, _) in bare.items()}
    side_of = SideOf(*({int(a.exprId().id()) for a in _outputs(rows)} for rows in below.values()))
    served: list[Served] = []
    rest: list[Node] = []
    only: dict[str, list[Node]] = {"left": [], "right": []}
    relating = 0
    for conjunct in split_and(inlined(spark, plan.condition().get())):
        side = side_of(conjunct)
        if side in only:
            only[side].append(conjunct)
            continue
        relating += side == "both"
        found = classify(spark, conjunct, side_of) if side == "both" else []
        served += found
        if not found or any(s.compare.weak for s in found):
            rest.append(conjunct)
    has: dict[Side, bool] = {side: bool(only[side]) for side in SIDES}
    check_relates(plan.condition().get().sql(), relating, has, aliases, one_frame=left is right)
    if unordered:
        rest += [*only["left"], *only["right"]]
        only = {"left": [], "right": []}
    if aliases == SELF:
        served, only["right"] = _one_frame(spark, plan, served, only["right"])
        frames["right"] = frames["left"]

    def moved(node: Node) -> Node:
        return _over_structs(spark, node, side_of, aliases)

    residual = [moved(node) for node in rest]
    with about("select" if select is not None else "suffix"):
        outputs, shown = _select(joined, (left, right), plan, select, suffix, aliases, spark, moved)
    selected = {side for side, rows in below.items() if any(int(a.exprId().id()) in shown for a in _outputs(rows))}
    needed = {int(a.exprId().id()) for node in rest for a in attributes(node)} | shown
    payload: dict[Side, tuple[str, ...]] = {
        side: tuple(str(a.name()) for a in _outputs(rows) if int(a.exprId().id()) in needed)
        for side, rows in below.items()
    }
    if not any(payload.values()):  # a selection of constants: a pair is still a row
        payload["left"] = tuple(str(a.name()) for a in _outputs(plan.left())[:1])
    if aliases == SELF:  # one payload serves both roles
        kept = {*payload["left"], *payload["right"]}
        payload = dict.fromkeys(payload, tuple(str(a.name()) for a in _outputs(plan.left()) if str(a.name()) in kept))
    condition = Condition(
        plan.condition().get().sql(), tuple(s.compare for s in served), " AND ".join(n.sql() for n in rest),
        " AND ".join(n.sql() for n in only["left"]), " AND ".join(n.sql() for n in only["right"]),
        said=on.strip() if isinstance(on, str) else "",
    )  # fmt: skip
    sides: dict[Side, Column | None] = {"left": _all(spark, only["left"]), "right": _all(spark, only["right"])}
    return Analyzed(
        spark,
        frames,
        condition,
        keys=_keys(spark, served, one_frame=aliases == SELF),
        residual=_all(spark, residual),
        only=sides,
        outputs=outputs,
        payload=payload,
        selected=frozenset(selected),
        taken=any(stayed for _, stayed in bare.values()),
        rest=tuple(rest),
        given=below,
    )


def check_asked(on: object, aliases: tuple[str, str]) -> None:
    """Refuse what is no condition, and an empty one."""
    if not isinstance(on, (str, Column)):
        raise SpecError.of(
            f"on= is a {type(on).__name__}.",
            "It is SQL text or a PySpark Column.",
            f"write on='{aliases[0]}.x > {aliases[1]}.x'.",
        )
    if isinstance(on, str) and not on.strip():
        raise SpecError.of(
            "on= is empty.",
            "It is the condition that relates both sides.",
            f"write on='{aliases[0]}.x > {aliases[1]}.x'.",
        )


def _keys(
    spark: SparkSession, served: list[Served], *, one_frame: bool
) -> dict[Side, dict[str, tuple[Column, str | None]]]:
    found: dict[Side, dict[str, tuple[Column, str | None]]] = {"left": {}, "right": {}}
    for item in served:
        ends: tuple[tuple[Side, Key, Node], ...] = (
            ("left", item.compare.left, item.left), ("right", item.compare.right, item.right),
        )  # fmt: skip
        for side, key, node in ends:
            name = str(node.name()) if kind(node) == "AttributeReference" else None
            for role in SIDES if one_frame else (side,):
                found[role][key.text] = column_of(spark, node), name
    return found


def _one_frame(
    spark: SparkSession, plan: Any, served: list[Served], only: list[Node]
) -> tuple[list[Served], list[Node]]:
    """Read the right role's expressions over the left role's columns: a self join has one frame, read once."""
    twins = {
        int(two.exprId().id()): one for one, two in zip(_outputs(plan.left()), _outputs(plan.right()), strict=True)
    }

    def turned(node: Node) -> Node:
        return rebuilt(
            spark, node, lambda n: twins.get(int(n.exprId().id())) if kind(n) == "AttributeReference" else None
        )

    moved = []
    for item in served:
        right = turned(item.right)
        key = replace(item.compare.right, text=right.sql())
        moved.append(Served(replace(item.compare, right=key), item.left, right))
    return moved, [turned(node) for node in only]


def _outputs(plan: Any) -> list[Node]:
    found = plan.output()
    return [found.apply(number) for number in range(found.size())]


def _all(spark: SparkSession, nodes: list[Node]) -> Column | None:
    condition: Column | None = None
    for node in nodes:
        column = column_of(spark, node)
        condition = column if condition is None else condition & column
    return condition


def _over_structs(spark: SparkSession, node: Node, side_of: SideOf, aliases: tuple[str, str]) -> Node:
    jvm: Any = spark._jvm
    unresolved = jvm.org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute

    def over(inner: Node) -> Node | None:
        if kind(inner) != "AttributeReference":
            return None
        alias = aliases[0] if int(inner.exprId().id()) in side_of.left else aliases[1]
        name = str(inner.name()).replace("`", "``")
        return unresolved.quotedString(f"{alias}.`{name}`")

    return rebuilt(spark, node, over)


def _select(
    joined: DataFrame, sides: tuple[DataFrame, DataFrame], plan: Any, select: Sequence[str | Column] | None, suffix: str,
    aliases: tuple[str, str], spark: SparkSession, moved: Any,
) -> tuple[tuple[Output, ...], set[int]]:  # fmt: skip
    if select is None:
        return _everything(plan, suffix, spark, moved)
    check_selected(select)
    try:
        with untold():
            items = [F.expr(item) if isinstance(item, str) else item for item in select]
            chosen: Any = joined.select(*items)._jdf.queryExecution().analyzed()
    except (AnalysisException, ParseException, Py4JJavaError) as error:
        raise explain_analysis(error, ", ".join(map(str, select)), *sides, aliases, what="select=") from None
    if kind(chosen) != "Project" or kind(chosen.child()) != kind(plan):
        raise SpecError.of(
            "select= contains an aggregate, a window function, explode, or a name that it defines itself.",
            "It may contain columns and expressions over one pair.",
            "aggregate the joined stream afterwards; use .select() after the join for other steps.",
        )
    named = chosen.projectList()
    items_found = [named.apply(number) for number in range(named.size())]
    no_collision(
        [str(node.name()) for node in items_found],
        "give the columns different names in select=, such as 'r.id AS rid'.",
    )
    outputs, needed = [], set()
    for node in items_found:
        body = inlined(spark, children(node)[0] if kind(node) == "Alias" else node)
        outputs.append(Output(str(node.name()), column_of(spark, moved(body)), _plain(plan, body)))
        needed |= {int(a.exprId().id()) for a in attributes(body)}
    if not needed <= {int(a.exprId().id()) for rows in (plan.left(), plan.right()) for a in _outputs(rows)}:
        raise hidden_column("select=")
    return tuple(outputs), needed


def check_selected(select: Sequence[object]) -> None:
    """Refuse a selection of what are no columns, and an empty one."""
    wrong = [item for item in select if not isinstance(item, (str, Column))]
    if wrong or not select:
        what = f"select= holds {wrong[0]!r}." if wrong else "select= is empty."
        raise SpecError.of(
            what, "It is a list of SQL texts and PySpark Columns.", "write select=['l.id', 'r.*'], or leave it out."
        )


def _everything(plan: Any, suffix: str, spark: SparkSession, moved: Any) -> tuple[tuple[Output, ...], set[int]]:
    left, right = _outputs(plan.left()), _outputs(plan.right())
    taken = {str(node.name()).lower() for node in left}
    named = [(str(node.name()), node) for node in left]
    for node in right:
        name = str(node.name())
        named.append((name + suffix if name.lower() in taken else name, node))
    no_collision([name for name, _ in named], "set suffix= to a text that makes the names differ, or use select=.")
    outputs = tuple(Output(name, column_of(spark, moved(node)), _plain(plan, node)) for name, node in named)
    return outputs, {int(node.exprId().id()) for _, node in named}


def _plain(plan: Any, node: Node) -> tuple[Side, str] | None:
    """Tell which column of which side an expression simply is."""
    if kind(node) == "AttributeReference":
        found = int(node.exprId().id())
        for side, rows in (("left", plan.left()), ("right", plan.right())):
            if any(int(each.exprId().id()) == found for each in _outputs(rows)):
                return cast("Side", side), str(node.name())
    return None


def no_collision(names: list[str], hint: str) -> None:
    """Refuse two columns of one name."""
    lower = [name.lower() for name in names]
    twice = sorted({name for name in names if lower.count(name.lower()) > 1})
    if twice:
        raise SpecError.of(
            f"The result would have two columns named {', '.join(map(repr, twice))}.",
            f"Its columns: {', '.join(names)}.",
            hint,
        )


def same_frame(what: str) -> SpecError:
    """Return the error for Columns of a frame that is both sides."""
    return SpecError.of(
        f"{what} cannot tell the two sides apart: both are the same frame.",
        "A Column of that frame may mean either side.",
        "write weft.self_join(frame, on='a.x < b.x'), which reads the stream once.",
    )


def check_relates(
    text: str, relating: int, only: dict[Side, bool], aliases: tuple[str, str], *, one_frame: bool
) -> None:
    """Refuse a condition of which no conjunct names both sides; `only` says which sides have conjuncts of their own."""
    if relating:
        return
    if one_frame and aliases != SELF:
        raise same_frame(text)
    one, two = aliases
    have = [side for side in SIDES if only[side]]
    if len(have) == 1:
        missing = "right" if have[0] == "left" else "left"
        what = f"The condition {text} does not mention the {missing} side."
    else:
        what = f"The condition {text} has no comparison between the sides."
    raise SpecError.of(
        what,
        f"A join condition relates a column of {one} with one of {two}.",
        f"write {one}.x < {two}.x, or filter each side with .where() and join on what relates them.",
    )
