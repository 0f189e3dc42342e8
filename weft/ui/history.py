"""What was seen of a query so far: its batches and its plans, read once each and kept in bounded memory.

A look at a query reads what came since the look before. What is collected, rolled back or damaged meanwhile is no error: what
is known stays known, batches that were rolled back go, and damage is listed. Of a query with thousands of kept batches the
newest are read first and of the older ones a selection, some with every look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import StateError, WeftError
from weft.observe import batches_of
from weft.routing import Plan, plan_from_json
from weft.state import Folder, read_sealed, reported_at, reports_by_task
from weft.types import Side
from weft.ui.batches import Batch, batch_of
from weft.ui.pictures import Scale

__all__ = ["History", "PlanEvent"]

FILES = 6_000
"""Reports that one look reads at most."""
OLDER = 200
"""Batches from before the newest ones that are read."""
MOST = 1_200
"""Batches that are remembered; of more, every second one of the older half is forgotten."""
EVENTS = 200
_LOOK_AROUND = 30.0
"""Seconds after which the folder is listed whether or not a new batch is there: a query may have been rolled back."""
_TROUBLE = 20


@dataclass(frozen=True)
class PlanEvent:
    """A plan, the first batch that went by it, why, and how words lay among the rows then."""

    batch: int
    plan: Plan
    reason: str
    scale: Scale


_Pinned = tuple[Plan | None, str, dict[Side, int] | None]


class History:
    """Reads one query, look by look."""

    def __init__(self, query: Folder, clock: Callable[[], float] = time.monotonic) -> None:
        self.query, self._clock = query, clock
        self.batches: dict[int, Batch] = {}
        self.plans: dict[int, PlanEvent] = {}
        self.trouble: dict[str, str] = {}
        self.version = 0
        """Grows with everything that is new."""
        self._open: set[int] = set()
        self._later: list[int] = []
        self._looked = -_LOOK_AROUND
        self._stamp: float | None = None
        self._bodies: dict[int, _Pinned] = {}

    @property
    def newest(self) -> Batch | None:
        """Return the newest batch."""
        return self.batches[max(self.batches)] if self.batches else None

    @property
    def pending(self) -> bool:
        """Tell whether older batches are still to be read."""
        return bool(self._later)

    def plan_at(self, batch: int) -> PlanEvent | None:
        """Return the plan by which a batch went, as far as it is known."""
        before = [number for number in self.plans if number <= batch]
        return self.plans[max(before)] if before else None

    def look(self) -> bool:
        """Read what is new; tell whether anything is."""
        before = self.version
        if self._may_have_changed():
            self._look_around()
        self._catch_up()
        return self.version != before

    def _may_have_changed(self) -> bool:
        """Tell whether listing the folder is worth it: with thousands of versions in it that takes a while."""
        newest = self.newest
        if newest is None or self._open or self._clock() - self._looked >= _LOOK_AROUND:
            return True
        try:
            return (self.query / "0").exists(f"{newest.number + 1}.json") or self._time(newest.number) != self._stamp
        except WeftError:
            return True

    def _look_around(self) -> None:
        self._looked = self._clock()
        try:
            listed = batches_of(self.query, 0)
        except WeftError as error:
            self._complain(self.query.path, error)
            return
        last = max(self.batches, default=-1)
        rolled_back = [number for number in self.batches if not listed or number > listed[-1]] if listed else []
        self._bodies.clear()
        for number in rolled_back:
            del self.batches[number]
            self.plans.pop(number, None)
            self.version += 1
        if last >= 0 and last in self.batches and self._stamp != self._time(last):  # joined again
            self._open.add(last)
        lower = min(self.batches, default=0)
        fresh = [number for number in listed if number not in self.batches or number in self._open]
        fresh = [number for number in fresh if number > lower or not self.batches]
        self._open -= set(fresh)
        room = max(12, FILES // max(self.newest.tasks if self.newest else 8, 1) // 4)
        newest, older = fresh[-room:], fresh[:-room]
        if older:
            step = max(1, len(older) // OLDER)
            self._later = older[::-1][::step][:OLDER]
        for number in newest:
            self._read(number, newest=number == listed[-1])

    def _catch_up(self) -> None:
        """Read some of the older batches."""
        files, newest = 0, self.newest
        while self._later and newest is not None and files + newest.tasks <= FILES // 4:
            files += newest.tasks
            self._read(self._later.pop(0), newest=False)

    def _time(self, batch: int) -> float | None:
        try:
            at = reported_at(self.query, batch)
        except (WeftError, OSError):
            return None
        return None if at is None else at.timestamp()

    def _read(self, number: int, *, newest: bool) -> None:
        try:
            told = reports_by_task(self.query, number)
        except (WeftError, OSError) as error:
            self._complain(f"{self.query}, reports of batch {number}", error)
            return
        told = _of_one_history(told)
        if not told:  # unfinished, or collected meanwhile
            return
        at = self._time(number)
        plan, reason, _ = self._pinned(number)
        clock = self._pinned(number + 1)[2]  # what this batch left
        if newest:
            self._stamp = at
            tasks = len([name for name in self.query.names() if name.isdigit()])
            if len(told) < tasks and (plan is None or len(told) < plan.tasks):
                self._open.add(number)
        try:
            self.batches[number] = batch = batch_of(number, at or 0.0, told, clock)
        except (KeyError, TypeError, ValueError, OverflowError):
            self._complain(f"{self.query}, reports of batch {number}", ValueError("they are no reports"))
            return
        self.version += 1
        if plan is not None:
            self._note_plan(number, plan, reason, batch, told)
        self._forget()

    def _pinned(self, number: int) -> _Pinned:
        """Return the plan of a batch, why it came to be, and the newest times before it."""
        if number not in self._bodies:
            if len(self._bodies) > 2:
                self._bodies.clear()
            self._bodies[number] = self._read_pinned(number)
            if self._bodies[number][0] is None:  # it may come
                return self._bodies.pop(number)
        return self._bodies[number]

    def _read_pinned(self, number: int) -> _Pinned:
        folder, name = self.query / "plans", f"{number}.json"
        try:
            body = read_sealed(folder, name)
            newest = body.get("clock", {}).get("newest")
            clock: dict[Side, int] | None = (
                {"left": int(newest["left"]), "right": int(newest["right"])} if newest else None
            )
            return plan_from_json(body["plan"]), str(body.get("reason", "")), clock
        except (WeftError, OSError) as error:
            if " is missing" not in str(error):
                self._complain(folder.where(name), error)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._complain(folder.where(name), ValueError("it is not a plan"))
        return None, "", None

    def _note_plan(
        self, number: int, plan: Plan, reason: str, batch: Batch, told: Mapping[int, Mapping[str, Any]]
    ) -> None:
        if plan.tasks != batch.tasks:
            plan = plan.adapt(batch.tasks)  # restarted with another number of tasks
        before = self.plan_at(number)
        why = reason or (batch.migration.reason if batch.migration is not None else "")
        if before is None or before.batch == number or before.plan != plan or (reason and number == 0):
            self.plans[number] = PlanEvent(number, plan, why, Scale.of(list(told.values())))
            following = self.plans.get(min((other for other in self.plans if other > number), default=-1))
            if following is not None and following.plan == plan and not following.reason:
                del self.plans[following.batch]  # known from further back now

    def _forget(self) -> None:
        if len(self.batches) > MOST:
            numbers = sorted(self.batches)
            for number in numbers[1 : len(numbers) // 2 : 2]:
                del self.batches[number]
        if len(self.plans) > EVENTS:
            del self.plans[sorted(self.plans)[1]]

    def _complain(self, where: str, error: Exception) -> None:
        if where not in self.trouble and len(self.trouble) < _TROUBLE:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            self.trouble[where] = why.removeprefix(f"{where} ") if isinstance(error, StateError) else why
            self.version += 1


def _of_one_history(told: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Leave out what an attempt with other tasks left behind."""
    first = told.get(0)
    if first is None or "history" not in first:
        return told
    return {task: one for task, one in told.items() if one.get("history") == first["history"]}
