"""A plan says which tasks keep a tuple and which tasks it asks. Pure data, pure functions.

Correct iff for every pair that can match, exactly one task is in `store` of the earlier and in `probe` of the later
tuple, whichever came first (`tests/routing` checks it for every scheme and every plan a scheme can reach).

Plans share a few ways to place a tuple: by its draw, by a hash of its key, within one of two groups of tasks. The groups are
those of a join-biclique: one keeps the left stream, the other the right one (003-01). With a single task both groups are that
task. In a *shared* layout, which is ours, every task is in both groups: as long as both groups send a key to the same task, a
tuple visits one task only, as it does under a plain hash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from weft.errors import StateError
from weft.kernels import mix_words
from weft.routing.regions import Regions
from weft.spec import JoinSpec
from weft.spec.names import load
from weft.spec.shapes import check_shape
from weft.types import U32, Bools, Rows, Side, Words

__all__ = [
    "MOST_TASKS", "PLANS", "PLUGINS", "Plan", "TaskGroup", "draw_of", "group_of", "hash_draw", "hash_home", "key_word", "owned",
    "plan_from_json",
]  # fmt: skip

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

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        """Return where the tasks keep the rows of a side; with `first`, only the first task of each row. None if unknown."""
        del side, first
        return None

    def gained(self, old: Plan, side: Side, task: int) -> tuple[Bools, Regions] | None:
        """Tell which tasks of the plan before may hold rows that a task gains, and where these lie; None if anywhere."""
        mine, held, first = self.regions(side), old.regions(side), old.regions(side, first=True)
        if mine is None or held is None or first is None:
            return None
        mine = mine.of_task(task).but(held.of_task(task))
        owners = np.zeros(old.tasks, np.bool_)
        owners[first.task[mine.meet(first)]] = True
        return owners, mine

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


def owned(owner: NDArray[np.integer[Any]], tasks: int) -> Bools:
    """Return the Boolean rows of tuples that have one task each."""
    return np.asarray(owner[None, :] == np.arange(tasks, dtype=owner.dtype)[:, None])


def draw_of(u: U32, parts: int) -> NDArray[np.int64]:
    """Cut [0, 2**32) into equal intervals and return the number of each draw's interval."""
    return ((u.astype(np.uint64) * np.uint64(parts)) >> np.uint64(32)).astype(np.int64)


def key_word(words: Words, columns: tuple[int, ...]) -> Words:
    """Return the routing key of each tuple: the one word, or a hash of several."""
    return words[columns[0]] if len(columns) == 1 else mix_words([words[column] for column in columns])


def hash_home(key: Words, parts: int) -> NDArray[np.int64]:
    """Return which of `parts` each key's hash falls on."""
    return draw_of(hash_draw(key).astype(np.uint32), parts)


def hash_draw(key: Words) -> NDArray[np.int64]:
    """Return the hash of each key as a draw."""
    return (mix_words([key]).view(np.uint64) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class TaskGroup:
    """The tasks `start .. start + size - 1`, which keep one side's tuples."""

    start: int
    size: int


def group_of(side: Side, tasks: int, *, shared: bool = False) -> TaskGroup:
    """Return the group that keeps `side`; with an odd number of tasks the left one is the larger.

    >>> group_of("left", 5), group_of("right", 5), group_of("right", 1)
    (TaskGroup(start=0, size=3), TaskGroup(start=3, size=2), TaskGroup(start=0, size=1))
    """
    if shared or tasks == 1:
        return TaskGroup(0, tasks)
    lefts = (tasks + 1) // 2
    return TaskGroup(0, lefts) if side == "left" else TaskGroup(lefts, tasks - lefts)
