"""What a batch did, from the metrics files that every task writes; for people, never read by the join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from weft.errors import WeftError
from weft.routing.documents import document_measures
from weft.state import Folder, read_reports, read_sealed
from weft.types import SIDES, Side

__all__ = ["BatchMetrics", "Migration", "disk_use", "imbalance", "read_batch", "read_documents"]


@dataclass(frozen=True)
class Migration:
    """A plan change: from what to what, why, how many rows moved, and how long the slowest task took."""

    change: str
    reason: str = ""
    rows: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.change}, {self.rows:,} rows moved in {self.seconds:.2f} s" + (
            f" ({self.reason})" if self.reason else ""
        )

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {"change": self.change, "reason": self.reason, "rows": self.rows, "seconds": round(self.seconds, 3)}

    @classmethod
    def of_tasks(cls, found: Sequence[dict[str, Any]]) -> Migration | None:
        """Add up what the tasks of a batch report; None when the plan did not change."""
        change = next((one["migrated"] for one in found if one.get("migrated")), "")
        if not change:
            return None
        reason = next((one["reason"] for one in found if one.get("reason")), "")
        rows = sum(int(one.get("gained", 0)) for one in found)
        return cls(str(change), str(reason), rows, max(float(one["seconds"].get("load", 0.0)) for one in found))


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
