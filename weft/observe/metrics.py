"""What a batch did: from the metrics files that every task writes, and, while a query runs, by Spark's own timing.

It is for people, and never read by the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyarrow import fs

from weft.errors import WeftError
from weft.observe.markup import html_table
from weft.routing.documents import document_measures
from weft.state import Folder, read_reports, read_sealed
from weft.types import SIDES, Side

__all__ = [
    "BatchMetrics", "BatchReport", "Migration", "Summary", "disk_use", "imbalance", "read_batch", "read_documents",
    "resource_cost",
]  # fmt: skip


@dataclass(frozen=True)
class Migration:
    """A plan change: from what to what, why, how many rows moved, how long the slowest task took, and what was read for it.

    `files` are those of other tasks that tasks opened, counted once for each of them; `bytes` are the segments' in them.
    """

    change: str
    reason: str = ""
    rows: int = 0
    seconds: float = 0.0
    files: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        """Say it in a line."""
        reason = f" ({self.reason})" if self.reason else ""
        read = f"{self.files:,} files opened, {self.bytes / 1e6:,.1f} MB read"
        return f"{self.change}, {self.rows:,} rows moved in {self.seconds:.2f} s, {read}{reason}"

    def _repr_html_(self) -> str:
        row = (self.change, self.rows, f"{self.seconds:.2f} s", self.reason)
        return html_table(("change", "rows moved", "took", "why"), [row])

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {**self.__dict__, "seconds": round(self.seconds, 3)}

    @classmethod
    def of_tasks(cls, found: Sequence[dict[str, Any]]) -> Migration | None:
        """Add up what the tasks of a batch report; None when the plan did not change."""
        change = next((one["migrated"] for one in found if one.get("migrated")), "")
        if not change:
            return None
        reason = next((one["reason"] for one in found if one.get("reason")), "")
        rows, files, read = (sum(int(one.get(name, 0)) for one in found) for name in ("gained", "opened", "read"))
        slowest = max(float(one["seconds"].get("load", 0.0)) for one in found)
        return cls(str(change), str(reason), rows, slowest, files, read)


@dataclass(frozen=True)
class BatchMetrics:
    """One batch over all its tasks: rows that arrived, rows stored afterwards, late rows, pairs emitted."""

    batch: int
    tasks: int
    arrived: dict[Side, int]
    held: dict[Side, int]
    late: dict[Side, int]
    pairs: int
    imbalance: float
    migration: Migration | None
    seconds: dict[str, float]
    moving: str = ""
    """Why a new plan was pinned for the next batch (a migration is in progress); "" if none was."""
    active: int = 0
    """Tasks that store rows or were probed; tasks of an elastic plan may be idle."""
    asked: int = 0
    """Join requests: rows that probed a task, including copies."""
    routed: int = 0
    """Rows sent to tasks, including copies."""
    routed_bytes: int = 0

    @classmethod
    def of_tasks(cls, batch: int, found: Sequence[dict[str, Any]]) -> BatchMetrics:
        """Add the tasks of a batch up; a batch lasts as long as its slowest task."""
        total = {
            name: {side: sum(int(one[name][side]) for one in found) for side in SIDES}
            for name in ("arrived", "held", "late")
        }
        held = [sum(one["held"].values()) for one in found]
        arrived = [sum(one["arrived"].values()) for one in found]
        slowest = {part: max(float(one["seconds"].get(part, 0.0)) for one in found) for part in ("state", "pairs")}
        return cls(
            batch, len(found), total["arrived"], total["held"], total["late"], sum(int(one["pairs"]) for one in found),
            imbalance(held if any(held) else arrived), Migration.of_tasks(found), slowest,
            next((str(one["moving"]) for one in found if one.get("moving")), ""),
            sum(bool(rows or one.get("asked", 0)) for rows, one in zip(held, found, strict=True)),
            *(sum(int(one.get(name, 0)) for one in found) for name in ("asked", "routed", "routed_bytes")),
        )  # fmt: skip


def imbalance(loads: Sequence[int]) -> float:
    """Return the share of the fullest task relative to the mean; 1 is perfect.

    >>> imbalance([30, 10]), imbalance([0, 0])
    (1.5, 1.0)
    """
    total = sum(loads)
    return max(loads) * len(loads) / total if total else 1.0


def read_batch(query: Folder, batch: int) -> BatchMetrics | None:
    """Return what the tasks of a batch report, or None if none has reported yet. Unreadable files are skipped."""
    found = _reports(query, batch)
    try:
        return BatchMetrics.of_tasks(batch, found) if found else None
    except (KeyError, TypeError, ValueError):
        return None


def read_documents(query: Folder, batch: int) -> dict[str, Any] | None:
    """Return the cost of a batch of a natural join: replication, largest load, Gini, seconds. None if no task has reported."""
    found = _reports(query, batch)
    return document_measures(found) if found else None


def _reports(query: Folder, batch: int) -> list[dict[str, Any]]:
    """Return what the tasks of a batch report; of a task of an earlier attempt with more of them, nothing."""
    return read_reports(query, batch, _tasks(query, batch))


def _tasks(query: Folder, batch: int) -> int | None:
    """Return how many tasks the plan of a batch has; None where that cannot be read."""
    try:
        return int(read_sealed(query / "0", f"{batch}.json")["plan"]["tasks"])
    except (WeftError, OSError, KeyError, TypeError, ValueError):
        return None


def disk_use(folder: Folder) -> tuple[int, int]:
    """Return the number of files below a folder and their bytes."""
    infos = folder.system.get_file_info(fs.FileSelector(folder.path, allow_not_found=True, recursive=True))
    sizes = [info.size or 0 for info in infos if info.type == fs.FileType.File]
    return len(sizes), sum(sizes)


ROWS_PER_TASK_SECOND = 1_000_000.0
"""Rows sent that cost as much as one task for one second: the price of bandwidth in RC."""


def resource_cost(task_seconds: float, rows: float) -> float:
    """Return RC = Σ r t_r (001-44): the seconds of all tasks, plus the price of rows sent or moved.

    >>> resource_cost(10.0, 500_000)
    10.5
    """
    return task_seconds + rows / ROWS_PER_TASK_SECOND


@dataclass(frozen=True)
class BatchReport:
    """One finished batch.

    `read` is what Spark read from the sources; `rows` is what reached the join, per side, without NULL keys and rows that a
    condition on one side filters out. `pairs` is None if the state path cannot be read from here.
    """

    batch: int
    seconds: float
    read: int
    rows: dict[Side, int]
    pairs: int | None
    held: dict[Side, int]
    late: dict[Side, int]
    imbalance: float
    tasks: int
    migration: Migration | None = None
    moving: str = ""
    """Why the next batch migrates, "" if it does not."""
    active: int = 0
    asked: int = 0
    routed: int = 0
    routed_bytes: int = 0

    @classmethod
    def of(cls, batch: int, seconds: float, read: int, metrics: BatchMetrics | None, pairs: int | None) -> BatchReport:
        """Combine both; `pairs`, counted after a residual condition, takes precedence over the number that the tasks report."""
        none = dict.fromkeys(SIDES, 0)
        if metrics is None:
            return cls(batch, seconds, read, rows=none, pairs=pairs, held=none, late=none, imbalance=1.0, tasks=0)
        return cls(
            batch,
            seconds,
            read,
            rows=metrics.arrived,
            pairs=metrics.pairs if pairs is None else pairs,
            held=metrics.held,
            late=metrics.late,
            imbalance=metrics.imbalance,
            tasks=metrics.tasks,
            migration=metrics.migration,
            moving=metrics.moving,
            active=metrics.active,
            asked=metrics.asked,
            routed=metrics.routed,
            routed_bytes=metrics.routed_bytes,
        )

    @property
    def rate(self) -> float:
        """Return rows per second."""
        return self.read / self.seconds if self.seconds else 0.0

    @property
    def requests(self) -> float:
        """Return the join requests per active task."""
        return self.asked / self.active if self.active else 0.0

    @property
    def cost(self) -> float:
        """Return RC = Σ r t_r of the batch (001-44)."""
        return resource_cost(self.active * self.seconds, self.routed + (self.migration.rows if self.migration else 0))

    @property
    def state_rows(self) -> int:
        """Return the rows stored by all tasks after the batch, including copies."""
        return sum(self.held.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "batch": self.batch, "seconds": round(self.seconds, 3), "rows_read": self.read, "rows_left": self.rows["left"],
            "rows_right": self.rows["right"], "pairs": self.pairs, "rows_per_s": round(self.rate, 1),
            "state_rows": self.state_rows, "state_left": self.held["left"], "state_right": self.held["right"],
            "late_left": self.late["left"], "late_right": self.late["right"], "imbalance": round(self.imbalance, 3),
            "tasks": self.tasks, "active_tasks": self.active, "requests_per_task": round(self.requests, 1),
            "rows_routed": self.routed, "bytes_routed": self.routed_bytes, "cost": round(self.cost, 3),
            "migration": None if self.migration is None else self.migration.to_json(),
            "moving": bool(self.moving),
        }  # fmt: skip


@dataclass
class Summary:
    """All batches of a run, added up."""

    batches: int = 0
    seconds: float = 0.0
    read: int = 0
    pairs: int = 0
    rows: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    late: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    state_rows: int = 0
    migrations: list[tuple[int, Migration]] = field(default_factory=list)
    slowest: float = 0.0
    state_files: int = 0
    state_bytes: int = 0
    task_seconds: float = 0.0
    peak_tasks: int = 0
    asked: int = 0
    asked_tasks: int = 0
    routed: int = 0
    routed_bytes: int = 0
    cost: float = 0.0

    def add(self, report: BatchReport) -> None:
        """Count one more batch."""
        self.batches += 1
        self.seconds += report.seconds
        self.read += report.read
        self.pairs += report.pairs or 0
        for side in SIDES:
            self.rows[side] += report.rows[side]
            self.late[side] += report.late[side]
        self.state_rows = report.state_rows
        self.slowest = max(self.slowest, report.seconds)
        self.task_seconds += report.active * report.seconds
        self.peak_tasks = max(self.peak_tasks, report.active)
        self.asked, self.asked_tasks = self.asked + report.asked, self.asked_tasks + report.active
        self.routed, self.routed_bytes = self.routed + report.routed, self.routed_bytes + report.routed_bytes
        self.cost += report.cost
        if report.migration is not None:
            self.migrations.append((report.batch, report.migration))

    @property
    def rate(self) -> float:
        """Return rows per second of batch time."""
        return self.read / self.seconds if self.seconds else 0.0

    @property
    def tasks(self) -> float:
        """Return the active tasks, mean over time."""
        return self.task_seconds / self.seconds if self.seconds else 0.0

    @property
    def requests(self) -> float:
        """Return the join requests per active task and batch."""
        return self.asked / self.asked_tasks if self.asked_tasks else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON data."""
        return {
            "batches": self.batches, "seconds": round(self.seconds, 3), "rows_read": self.read,
            "rows_left": self.rows["left"], "rows_right": self.rows["right"], "pairs": self.pairs,
            "late_left": self.late["left"], "late_right": self.late["right"], "rows_per_s": round(self.rate, 1),
            "state_rows": self.state_rows, "state_files": self.state_files, "state_bytes": self.state_bytes,
            "active_tasks": round(self.tasks, 2), "peak_tasks": self.peak_tasks,
            "requests_per_task": round(self.requests, 1), "rows_routed": self.routed, "bytes_routed": self.routed_bytes,
            "rows_migrated": sum(event.rows for _, event in self.migrations), "adjustments": len(self.migrations),
            "adjustment_seconds": round(sum(event.seconds for _, event in self.migrations), 3),
            "cost": round(self.cost, 3), "migrations": [{"batch": batch, **event.to_json()} for batch, event in self.migrations],
        }  # fmt: skip
