"""The control loop: statistics of the batch before, plan of the batch after.

Join task 0 of batch b reads the manifests of batch b - 1 and pins the plan of batch b + 1, which cannot start before
batch b is done. A replay reads the same manifests and pins the same plan: no driver hook, no race.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.routing.plan import Plan
from weft.routing.scheme import Scheme, TaskStats
from weft.spec import JoinSpec

__all__ = ["next_plan"]


def next_plan(spec: JoinSpec, scheme: Scheme, plan: Plan, stats: Sequence[TaskStats]) -> tuple[Plan, str]:
    """Return the plan that follows, and why it differs ("" if it does not).

    A plan that another scheme left behind (the user restarted with a new one) gives way to the scheme's first plan.
    """
    first = scheme.initial(spec, plan.tasks)
    if plan.scheme not in (first.scheme, scheme.name, *scheme.reaches):
        return first, f"scheme is now {scheme.name}"
    if not stats:
        return plan, ""
    return scheme.control(spec, plan, list(stats))
