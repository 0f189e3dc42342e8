"""A plan says which tasks keep a tuple and which tasks it asks. Pure data, pure functions.

Correct iff for every pair that can match, exactly one task is in `store` of the earlier and in `probe` of the later
tuple, whichever came first (`tests/routing` checks it for every scheme and every plan a scheme can reach).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from typing_extensions import Self

from weft.errors import StateError
from weft.spec import JoinSpec
from weft.spec.plugins import load
from weft.spec.shapes import check_shape
from weft.types import U32, Bools, Rows, Side, Words

__all__ = ["MOST_TASKS", "PLANS", "PLUGINS", "Plan", "plan_from_json"]

PLANS: dict[str, type[Plan]] = {}
"""Plans by the name that stands in their JSON."""

PLUGINS = "weft.schemes"
"""The entry points under which other packages have schemes, by the names of schemes and of the plans that they make."""

MOST_TASKS = 10_000
"""No plan has more tasks: every batch would spend minutes on empty ones."""


@dataclass(frozen=True)
class Plan:
    """Base of all plans: a number of tasks and two questions.

    `store` and `probe` answer with one Boolean row per task, one column per tuple.
    """

    scheme: ClassVar[str]

    tasks: int

    def __init_subclass__(cls) -> None:
        PLANS[cls.scheme] = cls

    @property
    def title(self) -> str:
        """Return what a report of a migration calls this plan."""
        return self.scheme

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        """Tell which tasks keep each tuple."""
        raise NotImplementedError

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        """Tell in which tasks each tuple looks for partners."""
        raise NotImplementedError

    def keeps_whole(self, side: Side) -> bool:
        """Tell whether each tuple of a side is stored on one task and probes that task alone.

        Then this task knows whether the tuple has found a partner, and no other task has to be asked.
        """
        del side
        return False

    def preserves(self, spec: JoinSpec) -> bool:
        """Tell whether the tuples of all sides that a join preserves are whole."""
        return all(self.keeps_whole(side) for side in spec.kind.preserved)

    def changed(self, old: Plan, side: Side) -> Callable[[Words], Rows] | None:
        """Return what finds the rows whose keepers may be others than under `old`; None if those of any row may.

        A migration looks at these rows alone. Only a plan that knows what it changed can say more than None.
        """
        del old, side
        return None

    def adapt(self, tasks: int) -> Plan:
        """Return the plan for another number of tasks, the same on every machine that asks."""
        raise NotImplementedError

    def copies(self) -> tuple[float, float]:
        """Return how often a left and a right tuple is stored."""
        raise NotImplementedError

    def lookups(self) -> tuple[float, float]:
        """Return how many tasks a left and a right tuple asks (an upper bound where it depends on keys)."""
        raise NotImplementedError

    def describe(self) -> str:
        """Say in a few words who keeps a tuple and who is asked; for `explain`."""
        return self.scheme

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        return {"scheme": self.scheme, **asdict(self)}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """Make the plan from its JSON data, lists back to tuples."""
        fields: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in data.items()}
        return cls(**fields)


def plan_from_json(data: dict[str, Any]) -> Plan:
    """Read any plan."""
    rest = dict(data)
    scheme = rest.pop("scheme", None)
    if isinstance(scheme, str) and scheme not in PLANS:
        load(PLUGINS, scheme)  # a plan registers itself when it is imported
    if not isinstance(scheme, str) or scheme not in PLANS:
        raise StateError.of(
            f"A plan has the unknown scheme {scheme!r}.",
            f"Known: {', '.join(sorted(PLANS))}.",
            "use the Weft version that wrote it.",
        )
    try:
        plan = PLANS[scheme].of_json(rest)
        check_shape(plan)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        plan, why = None, str(error)
    if plan is None or not 1 <= plan.tasks <= MOST_TASKS:
        raise StateError.of(
            f"A plan of the scheme {scheme!r} cannot be read: "
            + (f"it has {plan.tasks} tasks." if plan is not None else f"{why}."),
            "Weft joins only from plans that it wrote.",
            "restore the state folder, or start from a new checkpoint.",
        )
    return plan
