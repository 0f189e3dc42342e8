"""Which schemes, indexes, task counts and plans may serve a join. Schemes adapt as early as they can: few rows suffice."""

from __future__ import annotations

from weft.index import known_indexes
from weft.routing import MatrixPlan, Plan, RangePlan, Scheme, Sta, scheme_named
from weft.spec import JoinSpec
from weft_lab.schemes import SCHEMES
from weft_lab.torture.draw import Draw

__all__ = ["a_number_of_tasks", "a_plan", "legal_indexes", "legal_schemes"]


def legal_schemes(spec: JoinSpec) -> list[str | Scheme]:
    """Return every registered scheme that can serve a join exactly, with settings that adapt to few rows; and "auto"."""
    examples = [scheme for kind in SCHEMES.values() for scheme in kind.examples()]
    return ["auto", *(scheme for scheme in examples if scheme.exact and scheme.serves(spec))]


def a_number_of_tasks(draw: Draw, scheme: str | Scheme, most: int = 7) -> int:
    """Draw a number of tasks that a scheme can do with."""
    hot = scheme.hot if isinstance(scheme, Sta) else 0
    return draw.integer(2 if hot == "auto" else hot + 1, most)


def legal_indexes(spec: JoinSpec) -> list[str]:
    """Return every index that can serve a join."""
    return ["auto", *(name for name in known_indexes() if name != "hash" or spec.access.equal is not None)]


def a_plan(draw: Draw, spec: JoinSpec, tasks: int) -> Plan:
    """Draw a plan that serves a join, whether or not a scheme would have chosen it now."""
    preserved = spec.kind.preserved
    kinds = ["matrix"] if preserved else ["broadcast", "split", "matrix"]
    kinds += ["hash"] if spec.access.equal is not None else []
    if spec.access.within is not None and RangePlan.over(spec, tasks, ()).preserves(spec):
        kinds.append("range")
    kind = draw.pick(kinds)
    if kind == "matrix" and preserved:
        return scheme_named(kind).initial(spec, tasks)
    if kind == "matrix":
        shapes = [(rows, columns) for rows in range(1, tasks + 1) for columns in range(1, tasks // rows + 1)]
        return MatrixPlan(tasks, *draw.pick(shapes))
    if kind == "range":
        words = {_a_word(draw) for _ in range(draw.integer(0, tasks - 1))}
        return RangePlan.over(spec, tasks, tuple(sorted(words)))
    return scheme_named(kind).initial(spec, tasks)


def _a_word(draw: Draw) -> int:
    return draw.integer(-2, 8) if draw.flag() else draw.integer(-(2**63), 2**63 - 1)
