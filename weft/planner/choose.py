"""The one place where Weft decides: which scheme, which index. First rule that fits wins; every number has a name."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import SpecError, UnknownName, about
from weft.index import INDEXES, kind_of, known_indexes
from weft.planner.costs import TwoPredicates, further_ranges, settled, two_predicates
from weft.routing import MOST_TASKS, FastJoin, Hash, Matrix, Ordered, Scheme, Slices, ordering, scheme_named
from weft.spec import JoinSpec, Last, Within
from weft.spec.options import check_switch
from weft.types import other

__all__ = ["Choice", "Thresholds", "check_switch", "check_tasks", "choose", "estimate"]


def check_tasks(tasks: object, hint: str) -> None:
    """Refuse what is no sensible number of tasks."""
    if isinstance(tasks, bool) or not isinstance(tasks, int) or not 1 <= tasks <= MOST_TASKS:
        raise SpecError.of(
            f"tasks={tasks!r}.", f"It is the number of join tasks, at least 1 and at most {MOST_TASKS:,}.", hint
        )


@dataclass(frozen=True)
class Thresholds:
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
    spec: JoinSpec, tasks: int, scheme: str | Scheme = "auto", index: str = "auto", limits: Thresholds | None = None
) -> Choice:
    """Choose scheme and index; what the user names is taken as it is, if it can serve the join."""
    limits = limits or Thresholds()
    with about("scheme"):
        chosen, why_scheme = (
            (scheme_named(scheme), _asked(scheme)) if scheme != "auto" else _scheme(spec, tasks, limits)
        )
        plan = chosen.initial(spec, tasks)  # refuses what it cannot serve
    if index == "auto":
        name, why_index = _index(spec, limits)
        return Choice(chosen, name, why_scheme, why_index)
    with about("index"):
        given: object = index
        if not isinstance(given, str):
            raise UnknownName.among("index", index, [*known_indexes(), "auto"])
        if kind_of(index) not in INDEXES and kind_of(index) not in known_indexes():
            raise UnknownName.among("index", kind_of(index), [*known_indexes(), "auto"])
        name, why_index = settled(spec, plan, index)
        if name == "hash" and spec.access.equal is None:
            raise SpecError.of(
                "index='hash' needs an equality between the sides.",
                f"The condition is {spec.condition.text}.",
                "use index='runs', which serves every condition.",
            )
    return Choice(chosen, name, why_scheme, why_index)


def _asked(scheme: str | Scheme) -> str:
    """Repeat the settings that a scheme's name carries."""
    return f"as requested, {scheme.strip()}" if isinstance(scheme, str) and "(" in scheme else "as requested"


def _scheme(spec: JoinSpec, tasks: int, limits: Thresholds) -> tuple[Scheme, str]:
    if any(column != spec.left.bucket for column in spec.left.equal):
        # The number of a tumbling window alone is no key: all that arrives now would go to one task.
        if tasks < limits.skew_tasks:
            return Hash(), "equal keys meet on one task, and every row is stored once"
        even = FastJoin(
            threshold=limits.skew, load="work", biclique=False, split_hot=True, calls=2, enough=limits.skew_arrivals
        )
        return even, "starts as hash partitioning; moves or splits keys only if measured skew requires it"
    if tasks < limits.range_tasks:
        return Matrix(), "one task needs no routing"
    ordered = Ordered(imbalance=limits.uneven, enough=limits.skew_arrivals)
    if spec.kind.preserved:
        return _preserving(spec, ordered)
    if ordered.ranges(spec):
        return ordered, "a band only matches nearby keys; key ranges while they are balanced, then A-DSP areas"
    within = spec.access.within
    if isinstance(spec.window, Within) and within is not None and within.left == spec.left.time:
        return Slices(), "supports any condition, balanced for any keys; slices of time if a batch spans many windows"
    if ordering(spec) is not None:
        return (
            ordered,
            "starts as a matrix; switches to A-DSP areas, which skip impossible pairs, when that lowers task load",
        )
    return Matrix(), "supports any condition, balanced for any keys: rows and columns of tasks chosen at random"


def _preserving(spec: JoinSpec, ordered: Ordered) -> tuple[Scheme, str]:
    """Return a scheme that keeps each row of the preserved sides on one task, so that no task has to ask another."""
    if ordered.ranges(spec):
        return (
            ordered,
            f"key ranges: each {spec.kind.preserved[0]} row is stored on one task, which knows whether it has matched",
        )
    if len(spec.kind.preserved) > 1:
        return (
            Matrix(),
            "without an equality, only a single task can tell for both sides which rows have matched",
        )
    side = spec.kind.preserved[0]
    return (
        Matrix(),
        f"each {side} row is stored on one task, which knows whether it has matched; {other(side)} rows are sent to all tasks",
    )


def _index(spec: JoinSpec, limits: Thresholds) -> tuple[str, str]:
    access = spec.access
    if access.equal is None and access.within is None:
        return "scan", "no comparison to sort by"
    ways = estimate(spec, limits)
    if ways is not None and ways.index != "runs":
        return ways.index, f"for two inequalities, the {ways.best} is estimated to be cheapest"
    if ways is None and further_ranges(spec):
        return (
            "runs",
            "sorted runs; blocks sorted by a second range where some of its candidates show that this is cheaper",
        )
    return "runs", "sorted runs support equalities, bands and inequalities, and need no separate snapshot"


def estimate(spec: JoinSpec, limits: Thresholds | None = None) -> TwoPredicates | None:
    """Return what the ways through two inequalities are estimated to cost; None where there are not two (000-50)."""
    limits = limits or Thresholds()
    rows = spec.window.n if isinstance(spec.window, Last) else limits.rows
    return two_predicates(spec, rows, limits.probes, *limits.allowed)
