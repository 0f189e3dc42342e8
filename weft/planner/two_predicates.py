"""Two inequalities: which of three ways is cheapest (000-50). Every number has a name.

- *emit loop*: the index finds what the first predicate allows, the second is checked on each candidate;
- *intersection*: an index per predicate, and the shorter of their two answers asked about in the other (the paper's way);
- *blocks*: blocks of the first order sorted by the second (`weft.kernels.two_inequalities`), in time that follows the output.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.kernels.two_inequalities import levels
from weft.spec import JoinSpec, Op, Term

__all__ = ["Costs", "TwoPredicates", "two_predicates"]

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
