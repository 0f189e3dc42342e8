"""A query's state for people: what each task holds, whether the files are whole, which batch is the last good one.

A batch is *good* when the manifests of all its tasks, the plan of the batch after it and every segment can be read:
then Spark can go on from it. Nothing is raised for a damaged file; it is named.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from weft.errors import NoSuchState, WeftError
from weft.observe.clock import ClockView, clock_view
from weft.observe.files import contents
from weft.observe.listing import find_query
from weft.observe.metrics import Migration, imbalance, read_batch
from weft.observe.verify import Damage, Verifier
from weft.routing import plan_from_json
from weft.spec import read_self_join
from weft.state import Folder, Manifest
from weft.types import SIDES, Side

__all__ = ["QueryView", "TaskView", "inspect_query"]


@dataclass(frozen=True)
class TaskView:
    """One task after the batch that is shown."""

    task: int
    rows: dict[Side, int]
    segments: dict[Side, int]
    bytes: int
    late: dict[Side, int]
    versions: tuple[int, ...]


@dataclass(frozen=True)
class QueryView:
    """The state of one query, as of one batch (the last good one unless asked for another)."""

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
    tasks: tuple[TaskView, ...]
    clock: ClockView | None
    late: dict[Side, int]
    """Rows that were dropped as late in the batch shown."""
    late_kept: dict[Side, int]
    """The same in all batches kept."""
    late_batches: tuple[tuple[int, dict[Side, int]], ...]
    """Batch by batch, where any were."""
    files: int
    bytes: int
    damage: tuple[Damage, ...]
    unfinished: str
    foreign: tuple[str, ...]
    migrations: tuple[tuple[int, Migration], ...] = ()
    """Batch and event of every migration in the batches kept."""
    moving: str = ""
    """Why the batch behind the one shown has another plan, "" if it has not: a migration is decided or under way."""

    @property
    def imbalance(self) -> float:
        """Return the fullest task's rows over the mean."""
        return imbalance([sum(task.rows.values()) for task in self.tasks] or [0])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        events = [{"batch": batch, **event.to_json()} for batch, event in self.migrations]
        late = [{"batch": batch, **counts} for batch, counts in self.late_batches]
        return {**asdict(self), "imbalance": round(self.imbalance, 3), "migrations": events, "late_batches": late}


def inspect_query(folder: Folder | str, batch: int | None = None, *, verify: bool = True) -> QueryView:
    """Look at the state of a query. `verify` reads every segment and compares its checksum; else only its size."""
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
    return QueryView(
        query.path.rpartition("/")[2], query.path, str(spec.get("fingerprint", "")), str(spec.get("condition", "")),
        str(spec.get("window", "")), *read_self_join(str(spec.get("self join", ""))),
        {side: str(spec.get(f"{side} schema", "")) for side in SIDES}, shown, last, last_good, verify, plan, reason,
        tuple(_task(manifest, check) for manifest in manifests),
        clock_view(manifests[0], str(spec.get("window", ""))) if manifests else None,
        late.get(shown, none) if shown is not None else none, {side: sum(one[side] for one in late.values()) for side in SIDES},
        tuple((number, one) for number, one in late.items() if any(one.values())), disk.files, disk.bytes,
        tuple(check.damage), check.unfinished, disk.foreign + disk.aside, _events(query, kept),
        _moving(query, shown, plan, check),
    )  # fmt: skip


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


def _task(manifest: Manifest, check: Verifier) -> TaskView:
    entries = manifest.segments
    return TaskView(
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
