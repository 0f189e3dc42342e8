"""A readable view of a query's state: what each task holds, whether the files are intact, which batch is the last good one.

A batch is *good* if the manifests of all its tasks, the plan of the next batch and every segment can be read:
then Spark can continue from it. A damaged file raises no error; it is listed.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from weft.errors import NoSuchState, SpecError, WeftError
from weft.observe.listing import contents, find_query
from weft.observe.markup import html_table
from weft.observe.metrics import Migration, imbalance, read_batch
from weft.planner import draw_svg
from weft.routing import AreaPlan, plan_from_json
from weft.spec import read_self_join
from weft.spec.options import microseconds
from weft.state import Damage, Folder, Manifest, Verifier
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["ClockView", "QueryView", "TaskContents", "clock_view", "inspect_query"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DELAY = re.compile(r", delay (.+)$")


@dataclass(frozen=True)
class TaskContents:
    """One task after the batch that is shown."""

    task: int
    rows: dict[Side, int]
    segments: dict[Side, int]
    bytes: int
    late: dict[Side, int]
    versions: tuple[int, ...]


@dataclass(frozen=True)
class QueryView:
    """The state of one query as of one batch, by default the last good one."""

    query: str
    path: str
    fingerprint: str
    condition: str
    window: str
    self_join: bool
    unordered: bool
    schemas: dict[Side, str]
    batch: int | None
    last_batch: int | None
    last_good: int | None
    verified: bool
    plan: dict[str, Any]
    reason: str
    tasks: tuple[TaskContents, ...]
    clock: ClockView | None
    late: dict[Side, int]
    """Rows dropped as late in the batch shown."""
    late_kept: dict[Side, int]
    """Rows dropped as late in all batches kept."""
    late_batches: tuple[tuple[int, dict[Side, int]], ...]
    """Late rows per batch, for batches that had any."""
    files: int
    bytes: int
    damage: tuple[Damage, ...]
    unfinished: str
    foreign: tuple[str, ...]
    migrations: tuple[tuple[int, Migration], ...] = ()
    """The batch and event of every migration in the batches kept."""
    moving: str = ""
    """Why the batch after the one shown has a different plan (a migration is pending or in progress); "" if it has not."""

    @property
    def imbalance(self) -> float:
        """Return the rows of the fullest task relative to the mean."""
        return imbalance([sum(task.rows.values()) for task in self.tasks] or [0])

    def _repr_html_(self) -> str:
        facts = [
            ("join", self.condition or "unknown"), ("window", self.window),
            ("plan", f"{self.plan.get('scheme', 'unknown')}, {self.plan.get('tasks', '?')} tasks"
             + (f": {self.reason}" if self.reason else "")),
            ("last good batch", f"{self.last_good} of {self.last_batch}"),
            ("late rows dropped", f"{sum(self.late_kept.values()):,} in the batches kept"),
        ]  # fmt: skip
        tasks = [
            (task.task, task.rows["left"], task.rows["right"], sum(task.segments.values()), task.bytes)
            for task in self.tasks
        ]
        made = html_table(("", ""), facts, f"State of {self.query}")
        made += html_table(("task", "left rows", "right rows", "segments", "bytes"), tasks, f"After batch {self.batch}")
        if self.plan.get("scheme") == AreaPlan.scheme:
            held = {task.task: sum(task.rows.values()) for task in self.tasks}
            made += draw_svg(plan_from_json(self.plan), held)
        events = [
            (batch, event.change, event.rows, f"{event.seconds:.2f} s", event.reason)
            for batch, event in self.migrations
        ]
        if events:
            made += html_table(("batch", "change", "rows moved", "took", "why"), events, "Migrations")
        return made + html_table(("file", "damage"), [(one.file, one.why) for one in self.damage], "Damaged") * bool(
            self.damage
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        events = [{"batch": batch, **event.to_json()} for batch, event in self.migrations]
        late = [{"batch": batch, **counts} for batch, counts in self.late_batches]
        return {**asdict(self), "imbalance": round(self.imbalance, 3), "migrations": events, "late_batches": late}


def inspect_query(folder: Folder | str, batch: int | None = None, *, verify: bool = True) -> QueryView:
    """Inspect the state of a query. `verify` reads every segment and checks its checksum; otherwise only its size is checked."""
    query = find_query(folder) if isinstance(folder, str) else folder
    check = Verifier(query, deep=verify)
    kept = check.batches()
    good = [number for number in kept if check.good(number)]
    last, last_good = kept[-1] if kept else None, good[-1] if good else None
    shown = batch if batch is not None else last_good if last_good is not None else last
    if batch is not None and batch not in kept:
        held = f"{kept[0]} to {kept[-1]}" if kept else "none"
        hint = "leave --batch out for the last good one."
        raise NoSuchState.of(f"Batch {batch} is not kept in {query}.", f"Kept: {held}.", hint)
    spec = check.document(query, "spec.json")
    manifests = check.readable(shown) if shown is not None else []
    plan, reason = _plan(query, shown, manifests, check)
    disk = contents(query)
    late = {number: _late(check, number) for number in kept}
    none: dict[Side, int] = dict.fromkeys(SIDES, 0)
    self_join, unordered = read_self_join(str(spec.get("self join", "")))
    return QueryView(
        query=query.path.rpartition("/")[2],
        path=query.path,
        fingerprint=str(spec.get("fingerprint", "")),
        condition=str(spec.get("condition", "")),
        window=str(spec.get("window", "")),
        self_join=self_join,
        unordered=unordered,
        schemas={side: str(spec.get(f"{side} schema", "")) for side in SIDES},
        batch=shown,
        last_batch=last,
        last_good=last_good,
        verified=verify,
        plan=plan,
        reason=reason,
        tasks=tuple(_task(manifest, check) for manifest in manifests),
        clock=clock_view(manifests[0], str(spec.get("window", ""))) if manifests else None,
        late=late.get(shown, none) if shown is not None else none,
        late_kept={side: sum(one[side] for one in late.values()) for side in SIDES},
        late_batches=tuple((number, one) for number, one in late.items() if any(one.values())),
        files=disk.files,
        bytes=disk.bytes,
        damage=tuple(check.damage),
        unfinished=check.unfinished,
        foreign=disk.foreign + disk.aside,
        migrations=_events(query, kept),
        moving=_moving(query, shown, plan, check),
    )


def _plan(query: Folder, batch: int | None, manifests: list[Manifest], check: Verifier) -> tuple[dict[str, Any], str]:
    """Return the plan by which the batch was routed, and why it came to be (the newest reason at or before it)."""
    plan = dict(manifests[0].plan) if manifests else {}  # empty if task 0's manifest cannot be read
    reason = ""
    numbers = sorted(int(n[:-5]) for n in (query / "plans").names() if n.endswith(".json") and n[:-5].isdigit())
    for number in numbers:
        if batch is not None and number <= batch:
            body = check.document(query / "plans", f"{number}.json")
            if body.get("reason"):
                reason = f"{body['reason']} (batch {number})"
    return plan, reason


def _events(query: Folder, kept: list[int]) -> tuple[tuple[int, Migration], ...]:
    found = ((batch, read_batch(query, batch)) for batch in kept)
    return tuple((batch, one.migration) for batch, one in found if one is not None and one.migration is not None)


def _moving(query: Folder, batch: int | None, plan: dict[str, Any], check: Verifier) -> str:
    """Say why the plan of the next batch is another one than that of the batch shown."""
    if batch is None or not (query / "plans").exists(f"{batch + 1}.json"):
        return ""
    body = check.document(query / "plans", f"{batch + 1}.json")
    try:
        other = bool(plan) and plan_from_json(body["plan"]) != plan_from_json(plan)
    except (WeftError, KeyError, TypeError, ValueError):  # damaged: named elsewhere
        return ""
    return str(body.get("reason", "")) if other else ""


def _task(manifest: Manifest, check: Verifier) -> TaskContents:
    entries = {side: (*manifest.segments[side], *manifest.waiting.get(side, ())) for side in SIDES}
    return TaskContents(
        manifest.task,
        {side: sum(entry.rows for entry in entries[side]) for side in SIDES},
        {side: len(entries[side]) for side in SIDES},
        sum(entry.bytes for side in SIDES for entry in entries[side]),
        {side: int(manifest.stats.get("late", {}).get(side, 0)) for side in SIDES},
        tuple(check.versions(manifest.task)),
    )


def _late(check: Verifier, batch: int) -> dict[Side, int]:
    found = check.readable(batch)
    return {side: sum(int(m.stats.get("late", {}).get(side, 0)) for m in found) for side in SIDES}


@dataclass(frozen=True)
class ClockView:
    """Rows seen per side, the greatest timestamp per side, and the watermark: what is older is late."""

    count: dict[Side, int]
    newest: dict[Side, str]
    watermark: str


def clock_view(manifest: Manifest, window: str) -> ClockView:
    """Write the clock of a manifest so that a person can read it; `window` is the window's text in spec.json."""
    newest = manifest.clock["newest"]
    show = _time if re.search(r"second|minute|hour|day", window) else str
    shown = {side: show(newest[side]) if newest[side] > WORD_MIN else "" for side in SIDES}
    found, slower, mark = _DELAY.search(window), min(newest.values()), ""
    if found and slower > WORD_MIN:
        try:
            delay = int(found[1]) if found[1].isdigit() else microseconds("delay", found[1])
            mark = show(slower - delay)
        except SpecError:  # a text of another version
            mark = ""
    return ClockView(dict(manifest.clock["count"]), shown, mark)


def _time(word: int) -> str:
    """Write microseconds since the epoch.

    >>> _time(1_700_000_000_500_000)
    '2023-11-14 22:13:20.500'
    """
    try:
        moment = _EPOCH + timedelta(microseconds=word)
    except OverflowError:
        return str(word)
    text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
    return text.removesuffix("000")
