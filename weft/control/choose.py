"""The one place where Weft decides: which scheme, which index. First rule that fits wins; every number has a name."""

from __future__ import annotations

from dataclasses import dataclass

from weft.control.trees import settled
from weft.control.two_predicates import TwoPredicates, two_predicates
from weft.errors import SpecError, UnknownName, about
from weft.index import INDEXES, kind_of
from weft.routing import FastJoin, Hash, Matrix, Ordered, Scheme, Slices, scheme_named
from weft.routing.adsp import ordering
from weft.spec import JoinSpec, Last, Within
from weft.spec.options import check_switch

__all__ = ["Choice", "Limits", "check_switch", "check_tasks", "choose", "estimate"]

_MOST = 10_000
"""Tasks beyond which every batch would spend minutes on empty ones."""


def check_tasks(tasks: object, hint: str) -> None:
    """Refuse what is no sensible number of tasks."""
    if isinstance(tasks, bool) or not isinstance(tasks, int) or not 1 <= tasks <= _MOST:
        raise SpecError.of(
            f"tasks={tasks!r}.", f"It is the number of join tasks, at least 1 and at most {_MOST:,}.", hint
        )


@dataclass(frozen=True)
class Limits:
    """Thresholds of `choose`, so that a test can force every branch."""

    range_tasks: int = 2
    """From this many tasks on a band is cut into ranges; a single task needs no routing."""
    skew_tasks: int = 2
    """From this many tasks on an equality watches for skewed keys; on a single task there is nothing to even out."""
    skew: float = 1.5
    """Work of the busiest task over that of the idlest from which keys move or are split."""
    skew_arrivals: float = 1000.0
    """Rows per task and batch (or held per task, for ranges) from which skew is worth a migration."""
    uneven: float = 1.3
    """Rows of the fullest key range over the mean from which areas of the tuple matrix take over."""
    rows: int = 1 << 16
    """Stored rows that two inequalities are estimated for; a count window knows its own."""
    probes: int = 1 << 16
    """Probes of a batch that they are estimated for."""
    allowed: tuple[float, float] = (0.5, 0.5)
    """Shares of the stored rows that each of two inequalities is taken to allow."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why."""

    scheme: Scheme
    index: str
    why_scheme: str
    why_index: str


def choose(
    spec: JoinSpec, tasks: int, scheme: str | Scheme = "auto", index: str = "auto", limits: Limits | None = None
) -> Choice:
    """Choose scheme and index; what the user names is taken as it is, if it can serve the join."""
    limits = limits or Limits()
    with about("scheme"):
        chosen, why_scheme = (scheme_named(scheme), "as asked") if scheme != "auto" else _scheme(spec, tasks, limits)
        plan = chosen.initial(spec, tasks)  # refuses what it cannot serve
    if index == "auto":
        name, why_index = _index(spec, limits)
        return Choice(chosen, name, why_scheme, why_index)
    with about("index"):
        given: object = index
        if not isinstance(given, str):
            raise UnknownName.among("index", index, [*INDEXES, "auto"])
        if kind_of(index) not in INDEXES:
            raise UnknownName.among("index", kind_of(index), [*INDEXES, "auto"])
        name, why_index = settled(spec, plan, index)
        if name == "hash" and spec.access.equal is None:
            raise SpecError.of(
                "index='hash' needs an equality between the sides.",
                f"The condition is {spec.condition.text}.",
                "use index='runs', which serves every condition.",
            )
    return Choice(chosen, name, why_scheme, why_index)


def _scheme(spec: JoinSpec, tasks: int, limits: Limits) -> tuple[Scheme, str]:
    if any(column != spec.left.bucket for column in spec.left.equal):
        # The number of a tumbling window alone is no key: all that arrives now would go to one task.
        if tasks < limits.skew_tasks:
            return Hash(), "equal keys meet on one task, every row is kept once"
        even = FastJoin(
            threshold=limits.skew, load="work", biclique=False, split_hot=True, calls=2, enough=limits.skew_arrivals
        )
        return even, "starts as a hash of the key; keys move, or are split, only where measured skew calls for it"
    if tasks < limits.range_tasks:
        return Matrix(), "one task needs no routing"
    ordered = Ordered(imbalance=limits.uneven, enough=limits.skew_arrivals)
    if ordered.ranges(spec):
        return ordered, "a band meets neighbours only; key ranges while they are even, then areas (A-DSP)"
    within = spec.access.within
    if isinstance(spec.window, Within) and within is not None and within.left == spec.left.time:
        return Slices(), "any condition, balanced whatever the keys; slices of time where a batch spans many windows"
    if ordering(spec) is not None:
        return ordered, "a matrix, then areas (A-DSP) that leave out what cannot match, once they relieve its tasks"
    return Matrix(), "any condition, balanced whatever the keys: rows times columns over random draws"


def _index(spec: JoinSpec, limits: Limits) -> tuple[str, str]:
    access = spec.access
    if access.equal is None and access.within is None:
        return "scan", "no comparison to sort by"
    ways = estimate(spec, limits)
    if ways is not None and ways.index != "runs":
        return ways.index, f"of two inequalities the {ways.best} is estimated to be cheapest"
    return "runs", "sorted runs serve equality, bands and inequalities, and are their own snapshot"


def estimate(spec: JoinSpec, limits: Limits | None = None) -> TwoPredicates | None:
    """Return what the ways through two inequalities are estimated to cost; None where there are not two (000-50)."""
    limits = limits or Limits()
    rows = spec.window.n if isinstance(spec.window, Last) else limits.rows
    return two_predicates(spec, rows, limits.probes, *limits.allowed)
