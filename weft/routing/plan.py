"""A plan says which tasks keep a tuple and which tasks it asks. Pure data, pure functions.

Correct iff for every pair that can match, exactly one task is in `store` of the earlier and in `probe` of the later
tuple, whichever came first (`tests/routing` checks it for every scheme and every plan a scheme can reach).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from weft.errors import StateError
from weft.types import U32, Bools, Rows, Side, Words

__all__ = ["PLANS", "Plan", "draw_of", "owned", "plan_from_json"]

PLANS: dict[str, type[Plan]] = {}
"""Plans by the name that stands in their JSON."""


@dataclass(frozen=True)
class Plan:
    """Base of all plans: a number of tasks and two questions.

    `store` and `probe` answer with one Boolean row per task, one column per tuple.
    """

    scheme: ClassVar[str]

    tasks: int

    def __init_subclass__(cls) -> None:
        PLANS[cls.scheme] = cls

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        """Tell which tasks keep each tuple."""
        raise NotImplementedError

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        """Tell in which tasks each tuple looks for partners."""
        raise NotImplementedError

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
    if scheme not in PLANS:
        raise StateError.of(
            f"A plan names the scheme {scheme!r}.",
            f"Known: {', '.join(sorted(PLANS))}.",
            "use the Weft version that wrote it.",
        )
    return PLANS[scheme].of_json(rest)


def owned(owner: NDArray[np.integer[Any]], tasks: int) -> Bools:
    """Return the Boolean rows of tuples that have one task each."""
    return np.asarray(owner[None, :] == np.arange(tasks, dtype=owner.dtype)[:, None])


def draw_of(u: U32, parts: int) -> NDArray[np.int64]:
    """Cut [0, 2**32) into equal intervals and return the number of each draw's interval."""
    return ((u.astype(np.uint64) * np.uint64(parts)) >> np.uint64(32)).astype(np.int64)
