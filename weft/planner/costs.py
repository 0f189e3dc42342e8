"""What ways to join are estimated to cost: through a tree, and through two inequalities. Every number has a name.

*Trees* that are asked for: the cost model of the PIM-Tree paper chooses their merge ratio and says what a tuple costs. The model
counts the rows of a window. A count window tells them; for any other a window of `TYPICAL` rows stands in.

*Two inequalities*: which of three ways is cheapest (000-50).

- *emit loop*: the index finds what the first predicate allows, the second is checked on each candidate;
- *intersection*: an index per predicate, and the shorter of their two answers asked about in the other (the paper's way);
- *blocks*: blocks of the first order sorted by the second (`weft.kernels.two_inequalities`), in time that follows the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from weft.index import TreeSet, named_index, show_name
from weft.index.trees import Cost, Workload, best_ratio
from weft.kernels.two_inequalities import levels
from weft.routing import Plan
from weft.spec import JoinSpec, Last, Op, Term

__all__ = [
    "TYPICAL",
    "Costs",
    "TwoPredicates",
    "further_ranges",
    "predicted",
    "settled",
    "show_ratio",
    "two_predicates",
]

TYPICAL = 1 << 20
"""Rows of a window that does not tell."""
MATCH_RATE = 2.0
"""Partners per tuple, as in the paper (002-26); no one knows them before the join runs."""


def settled(spec: JoinSpec, plan: Plan, index: str) -> tuple[str, str]:
    """Return the index with all that matters said, and why: a merge ratio that was left open is chosen."""
    kind, settings = named_index(index)
    if not issubclass(kind, TreeSet) or not kind.merges or "merge_ratio" in settings:
        return show_name(kind.name, settings), "as requested"
    load = Workload(_rows(spec, plan), MATCH_RATE)
    if kind.predict(load, settings) is None:
        return show_name(kind.name, settings), "as requested"

    def cost(ratio: float) -> Cost:
        found = kind.predict(load, {**settings, "merge_ratio": ratio})
        assert found is not None
        return found

    ratio = best_ratio(cost)
    why = f"as requested; merge ratio {show_ratio(ratio)}, the cheapest by the cost model"
    return show_name(kind.name, {**settings, "merge_ratio": ratio}), why


def predicted(spec: JoinSpec, plan: Plan, index: str) -> str:
    """Say what a tuple will cost in a tree; nothing for other indexes."""
    kind, settings = named_index(index)
    rows = _rows(spec, plan)
    cost = kind.predict(Workload(rows, MATCH_RATE), settings) if issubclass(kind, TreeSet) else None
    if cost is None:
        return ""
    last = "merging" if issubclass(kind, TreeSet) and kind.merges else "deleting"
    steps = (("searching", cost.search), ("scanning", cost.scan), (last, cost.delete), ("inserting", cost.insert))
    told = ", ".join(f"{step} {spent:.0f}" for step, spent in steps if spent)
    guess = "" if isinstance(spec.window, Last) else " (a guess: the window has no row count)"
    return (
        f"{cost.total:,.0f} ns per tuple ({told}), one tuple at a time, with {rows:,} rows per side and task{guess} and "
        f"{MATCH_RATE:g} matches per tuple"
    )


def show_ratio(ratio: float) -> str:
    """Write a ratio as people do.

    >>> show_ratio(0.125), show_ratio(1.0), show_ratio(0.3)
    ('1/8', '1', '0.3')
    """
    plain = Fraction(ratio)
    return str(plain) if plain.denominator <= 1024 else f"{ratio:g}"


def _rows(spec: JoinSpec, plan: Plan) -> int:
    window = spec.window.n if isinstance(spec.window, Last) else TYPICAL
    return max(1, round(window * max(plan.copies()) / plan.tasks))


_INEQUALITIES = (Op.LT, Op.LE, Op.GT, Op.GE)


@dataclass(frozen=True)
class Costs:
    """Nanoseconds on one core, fitted to runs of 1,000 to 100,000 rows; `weft-lab paper sta --figure predicates` shows them."""

    check: float = 1.3
    """One candidate in the emit loop."""
    cross: float = 8.0
    """One row of the shorter answer, asked about in the other order."""
    order: float = 29.0
    """Sorting one stored row by the second word, and ranking it in both orders."""
    search: float = 100.0
    """Finding one probe's range in the second order."""
    block: float = 5.0
    """One row or probe at one level of the blocks."""
    pair: float = 2.0
    """One pair that leaves the blocks."""


@dataclass(frozen=True)
class TwoPredicates:
    """What each way is estimated to cost, in nanoseconds, for all probes of one batch; infinite where it cannot serve."""

    emit_loop: float
    intersection: float
    blocks: float

    @property
    def best(self) -> str:
        """Return the cheapest way's name."""
        costs = {"emit loop": self.emit_loop, "intersection": self.intersection, "blocks": self.blocks}
        return min(costs, key=costs.__getitem__)

    @property
    def index(self) -> str:
        """Return the index that goes this way; `runs` itself turns to blocks where they are cheaper."""
        return "crossed" if self.best == "intersection" else "runs"


def two_predicates(
    spec: JoinSpec, rows: int, probes: int, first: float = 0.5, second: float = 0.5, costs: Costs | None = None
) -> TwoPredicates | None:
    """Estimate the three ways for `probes` against `rows`; None unless the join has two inequalities.

    `first` and `second` are the shares of stored rows that satisfy each of them, taken as independent.
    """
    costs = costs or Costs()
    found = inequalities(spec)
    if len(found) < 2 or spec.access.until is not None:  # an interval is one predicate with two ends
        return None
    first = first if spec.access.within in found else 1.0  # sorted by something else: it selects nothing
    blocks = spec.access.equal is None and spec.access.within in found
    pairs = probes * rows * first * second
    return TwoPredicates(
        probes * rows * first * costs.check,
        rows * costs.order + probes * (costs.search + rows * min(first, second) * costs.cross),
        (rows + probes) * levels(max(rows, 1)) * costs.block + pairs * costs.pair if blocks else float("inf"),
    )


def inequalities(spec: JoinSpec) -> list[Term]:
    """Return the inequalities between keys."""
    keys = len(spec.left.keys), len(spec.right.keys)
    return [t for t in spec.terms if t.op in _INEQUALITIES and t.left < keys[0] and t.right < keys[1]]


def further_ranges(spec: JoinSpec) -> list[Term]:
    """Return the bands and inequalities between keys that the search leaves open; how much they keep is measured (`BoxCosts`)."""
    searched = [(t.left, t.right) for t in (spec.access.within, spec.access.until) if t is not None]
    keys = len(spec.left.keys), len(spec.right.keys)
    return [
        t
        for t in spec.terms
        if t.op in (*_INEQUALITIES, Op.BAND, Op.FBAND)
        and t.left < keys[0]
        and t.right < keys[1]
        and (t.left, t.right) not in searched
        and searched
    ]
