"""One query as the pages show it: its line in the overview, its batches, plans, hot keys and documents, and its join.

Pure data in, JSON data out. Everything comes from the state path: the reports, plans and manifests that a join writes anyway,
and the journal of its driver.
"""

from __future__ import annotations

import re
import statistics
import threading
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.routing import DocumentPlan, FastJoinPlan, Plan
from weft.state import Folder, Journal, Manifest, find_journal, read_sealed
from weft.types import SIDES, Side
from weft.ui.batches import Batch
from weft.ui.history import History, PlanEvent
from weft.ui.hot_keys import KeyNames, hot_keys, key_columns
from weft.ui.join_page import join_page
from weft.ui.pictures import MOST_KEYS, picture
from weft.ui.words import SideWords, side_words

__all__ = ["QueryModel"]

RECENT = 8
"""Batches over which rates are averaged."""
QUIET = 30.0
"""Seconds without a batch after which a query counts as silent, or ten times its usual pace if that is longer."""
CELLS = 40_000
"""Tasks x batches whose loads a page gets at once."""
_WORD = re.compile(r"-?\d{12,20}")


class QueryModel:
    """Looks at one query, and answers what a page asks."""

    def __init__(self, query: Folder, key: str, path: str) -> None:
        self.query, self.key, self.path = query, key, path
        self.lock = threading.Lock()
        """Held by whoever looks or asks."""
        self.history = History(query)
        self.journal: Journal | None = None
        self.names = KeyNames(query)
        self._spec: dict[str, Any] = {}
        self._named = -1
        self._manifests: tuple[int, dict[int, Manifest]] = (-1, {})

    @property
    def name(self) -> str:
        """Return the folder's name: the query's id, and the join's name where it has one."""
        return self.query.path.rpartition("/")[2]

    def look(self) -> bool:
        """Read what is new; tell whether anything is."""
        fresh = self.history.look()
        if fresh or self.journal is None or not self.journal.ended:
            found = find_journal(self.query)
            fresh, self.journal = fresh or found != self.journal, found
        newest = max(self.history.plans, default=-1)
        if newest > self._named:  # reasons name keys: find their values while their rows are there
            self._named = newest
            self.keys()
        return fresh

    @property
    def spec(self) -> dict[str, Any]:
        """Return what joins, {} as long as nobody wrote it down."""
        if not self._spec:
            try:
                self._spec = read_sealed(self.query, "spec.json")
            except (WeftError, OSError) as error:
                if " is missing" not in str(error):
                    self.history.trouble.setdefault(self.query.where("spec.json"), str(error).splitlines()[0])
        return self._spec

    @property
    def explained(self) -> dict[str, str]:
        """Return how the driver explained the join, {} where it has not."""
        return dict(self.journal.explain) if self.journal is not None else {}

    @property
    def words(self) -> dict[Side, SideWords]:
        """Return the word columns of both sides."""
        return {side: side_words(self.spec, side) for side in SIDES}

    def _batches(self) -> list[Batch]:
        return [self.history.batches[number] for number in sorted(self.history.batches)]

    # The overview

    def line(self, now: float) -> dict[str, Any]:
        """Return the query in a line."""
        batches, journal = self._batches(), self.journal
        recent, newest = batches[-RECENT:], batches[-1] if batches else None
        spoken = journal.batches if journal is not None else ()
        at = max(newest.at if newest else 0.0, spoken[-1].at / 1000 if spoken else 0.0)
        event = self.history.plan_at(newest.number) if newest else None
        failure = journal.error if journal is not None else ""
        condition = str(self.explained.get("join") or self.spec.get("condition", ""))
        data: dict[str, Any] = {
            "key": self.key, "query": self.name, "path": self.path, "name": journal.name if journal is not None else "",
            "condition": condition, "window": str(self.spec.get("window", "")),
            "scheme": event.plan.scheme if event else "", "tasks": newest.tasks if newest else 0,
            "batch": newest.number if newest else None, "at": round(at * 1000) or None, "version": self.history.version,
            "rows_per_s": _rate(recent, lambda one: sum(one.rows.values())), "pairs_per_s": _rate(recent, lambda one: one.pairs),
            "seconds": round(statistics.fmean(_total(one, journal) for one in recent), 3) if recent else None,
            "held": [newest.held[side] for side in SIDES] if newest else [0, 0],
            "bytes": spoken[-1].state_bytes if spoken else None,
            "late": [sum(one.late[side] for one in batches) for side in SIDES],
            "refused": sum(one.refused for one in batches),
            "moving": newest.moving if newest else "", "trouble": [f"{w}: {y}" for w, y in self.history.trouble.items()],
            "message": failure,
        }  # fmt: skip
        data["status"] = self._status(at, now, failure)
        data["behind"] = data["status"] == "running" and self._behind(recent)
        return data

    def _status(self, at: float, now: float, failure: str) -> str:
        ended = self.journal.ended if self.journal is not None else 0
        if failure:
            return "failed"
        if ended and ended / 1000 >= at - 1:
            return "stopped"
        if not self.history.batches:
            return "starting"
        pace = self._pace()
        return "silent" if at and now - at > max(QUIET, 10 * pace) else "running"

    def _pace(self) -> float:
        """Return the seconds from one batch to the next, as they mostly are."""
        times = [one.at for one in self._batches()[-RECENT:] if one.at]
        steps = [two - one for one, two in pairwise(times) if two > one]
        return statistics.median(steps) if steps else 0.0

    def _behind(self, recent: list[Batch]) -> bool:
        """Tell whether batches take longer than the trigger leaves them."""
        trigger = self.journal.trigger / 1000 if self.journal is not None else 0.0
        if not trigger or len(recent) < 3:
            return False
        return statistics.fmean(_total(one, self.journal) for one in recent[-3:]) > trigger

    # The pages of a query

    def body(self, now: float, since: int = -1) -> dict[str, Any]:
        """Return what the pages of a query need; of batches those after `since`."""
        batches = [one for one in self._batches() if one.number > since]
        newest = self.history.newest
        shown = max(12, min(240, CELLS // max(newest.tasks, 1))) if newest else 0
        spoken = {one.batch: one for one in self.journal.batches} if self.journal is not None else {}
        return {
            "line": self.line(now), "since": since,
            "batches": [{**one.to_dict(), "spark": _spark(spoken.get(one.number))} for one in batches],
            "life": [list(one.__dict__.values()) for one in spoken.values() if one.batch > since],
            "tasks": [one.loads() for one in batches[-shown:]],
            "plans": self.plans(),
            "join": join_page(self.spec, self.journal, self.words, newest),
            "documents": newest is not None and newest.documents is not None,
        }  # fmt: skip

    def plans(self) -> list[dict[str, Any]]:
        """Return the plans on their time line: those that are known, and the events of the journal before them."""
        known = [self._told(self.history.plans[number]) for number in sorted(self.history.plans)]
        first = known[0]["batch"] if known else 0
        told: list[dict[str, Any]] = [] if self.journal is None else [
            {"batch": batch, "scheme": change.rpartition("-> ")[2].partition(" x ")[0], "tasks": None, "change": change,
             "reason": self._readable(reason), "rows": rows, "seconds": seconds, "drawn": False}
            for batch, change, reason, rows, seconds in self.journal.events if batch <= first
        ]  # fmt: skip
        if known and told and not known[0]["reason"]:  # what the oldest batch that is kept went by, came to be then
            told[-1] |= {"drawn": True, "tasks": known[0]["tasks"]}
            known = known[1:]
        return [*(one for one in told if one["batch"] < first or one["drawn"]), *known]

    def _told(self, event: PlanEvent) -> dict[str, Any]:
        batch = self.history.batches.get(event.batch)
        moved = batch.migration if batch is not None else None
        return {
            "batch": event.batch, "scheme": event.plan.scheme, "tasks": event.plan.tasks,
            "reason": self._readable(event.reason), "change": moved.change if moved is not None else "",
            "rows": moved.rows if moved is not None else None, "drawn": True,
            "seconds": round(moved.seconds, 3) if moved is not None else None,
        }  # fmt: skip

    def _readable(self, reason: str) -> str:
        """Put the values of keys where a reason says their words."""
        return _WORD.sub(lambda found: repr(self.names.known.get(int(found[0]), found[0])), reason)

    def plan(self, batch: int | None = None) -> dict[str, Any] | None:
        """Return the picture of the plan of a batch, the newest by default; None where none is known."""
        newest = self.history.newest
        if newest is None:
            return None
        event = self.history.plan_at(newest.number if batch is None else batch)
        if event is None and self.history.plans and any(one["batch"] == batch and one["drawn"] for one in self.plans()):
            event = self.history.plans[min(self.history.plans)]
        if event is None:
            return None
        words = self.words
        columns = key_columns(event.plan, words)
        some = next(iter(columns.values()), ())
        made = picture(event.plan, words, event.scale, lambda key: self.names.name(key, some))
        return {"batch": event.batch, **made}

    def keys(self) -> list[dict[str, Any]]:
        """Return the hot keys by their values."""
        newest = self.history.newest
        event = self.history.plan_at(newest.number) if newest is not None else None
        if newest is None or event is None or isinstance(event.plan, DocumentPlan):
            return []
        manifests, columns = self._manifests_of(newest.number, newest.tasks), key_columns(event.plan, self.words)
        found = hot_keys(event.plan, manifests)
        homes = {int(one["id"]): int(one["tasks"][0]) for one in found}
        self.names.learn(self._homes(event.plan) | homes, columns, manifests)
        some = next(iter(columns.values()), ())
        column = " · ".join(one.name for one in some)
        return [{**one, "label": self.names.name(int(one["id"]), some), "column": column} for one in found]

    def _homes(self, plan: Plan) -> dict[int, int]:
        """Return the keys that plans name, those of earlier ones too, each with a task that keeps it now."""
        if not isinstance(plan, FastJoinPlan):
            return {}
        plans = [event.plan for event in self.history.plans.values()]
        splits = [one for each in plans if isinstance(each, FastJoinPlan) for group in each.split for one in group]
        words = np.array(sorted({one.key for one in splits}), np.int64)
        homes = dict(zip(words.tolist(), plan.owner(0, words).tolist(), strict=True)) if len(words) else {}
        homes |= {key: task for table in plan.moved for key, task in table[:MOST_KEYS]}
        return homes | {one.key: one.tasks[0] for group in plan.split for one in group}

    def _manifests_of(self, batch: int, tasks: int) -> Mapping[int, Manifest]:
        """Return the manifests of a batch, which are long: read when a page asks, and once."""
        if self._manifests[0] != batch:
            calls: list[Callable[[], Manifest | None]] = [
                partial(_manifest, self.query / str(t), batch) for t in range(tasks)
            ]
            found = self.query.together(calls)
            self._manifests = batch, {task: one for task, one in enumerate(found) if one is not None}
        return self._manifests[1]


def _manifest(folder: Folder, batch: int) -> Manifest | None:
    try:
        return Manifest.of_json(read_sealed(folder, f"{batch}.json"))
    except (WeftError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _spark(told: Any) -> dict[str, Any] | None:
    """Return what Spark measured of a batch, in seconds."""
    return (
        None if told is None else {"total": told.total / 1000, "joined": told.joined / 1000, "bytes": told.state_bytes}
    )


def _total(batch: Batch, journal: Journal | None) -> float:
    """Return how long a batch took: as Spark says, else as its slowest task says."""
    if journal is not None:
        for one in reversed(journal.batches):
            if one.batch == batch.number:
                return one.total / 1000
    return batch.seconds.get("state", 0.0) + batch.seconds.get("pairs", 0.0)


def _rate(recent: list[Batch], of: Callable[[Batch], int]) -> float | None:
    """Return how many per second of the clock, over the last batches."""
    timed = [one for one in recent if one.at]
    if len(timed) < 2 or timed[-1].at <= timed[0].at:
        return None
    return round(sum(of(one) for one in timed[1:]) / (timed[-1].at - timed[0].at), 1)
