"""What tasks tell of a batch when they have finished it: for people, and to see whether all were sent the same rows.

    <query>/<task>/<batch>.metrics.json                     on a file system
    <query>/told/<range>/<batch>/<task>-<attempt>-<history>.json   on an object store: one listing says what all have told

Whoever finishes tells its history first and then looks at what the others have told. Of two that differ the later one knows,
while Spark can still run the batch again. What an earlier attempt left behind says nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from weft.errors import StateError, WeftError
from weft.state.cache import SealedFiles
from weft.state.folder import Folder
from weft.state.object_folder import range_of
from weft.state.sealed import find_sealed, read_sealed, write_sealed

__all__ = [
    "TOLD", "find_report", "has_reported", "read_reports", "refuse_parted", "reported_at", "reports_by_task", "summaries",
    "write_report",
]  # fmt: skip

TOLD = "told"
_NAME = re.compile(r"t(\d+)-([0-9a-f]{16})-([0-9a-f]{16})\.json")


def write_report(query: Folder, task: int, batch: int, report: dict[str, Any], files: SealedFiles) -> None:
    """Write what a task did in a batch, after its last pair has left."""
    if query.packed:
        said = (_short(str(report.get(name, ""))) for name in ("attempt", "history"))
        name, mark = f"t{task}-{'-'.join(said)}.json", str(report.get("history", ""))
        files.write(_told(query, batch), name, report, mark)
    else:
        write_sealed(query / str(task), f"{batch}.metrics.json", report)


def refuse_parted(query: Folder, task: int, batch: int, tasks: int, *, attempt: str, history: str) -> None:
    """Raise where another task of this attempt has told another history; task 0 asks all others and they ask task 0."""
    if query.packed:
        for found in map(_NAME.fullmatch, _told(query, batch).names()):
            if found and found[2] == _short(attempt) and found[3] != _short(history):
                raise StateError.parted(batch, sorted((task, int(found[1]))))
        return
    for other in range(1, tasks) if task == 0 else (0,):
        try:
            told = find_report(query, other, batch) or {}
        except StateError:  # damaged: the next batch asks the manifest
            continue
        if told.get("attempt") == attempt and told.get("history") != history:
            raise StateError.parted(batch, (0, task or other))


def summaries(query: Folder, batch: int, history: str, files: SealedFiles) -> dict[int, dict[str, Any]]:
    """Return what the tasks of a batch have told of a history, as far as they have and it can be read: one listing tells who."""
    named = map(_NAME.fullmatch, _told(query, batch).names())
    names = {int(found[1]): found[0] for found in named if found and found[3] == _short(history)}

    def read(name: str) -> dict[str, Any]:
        try:
            found = files.find(_told(query, batch), name, history)
        except StateError:
            return {}
        return found if found is not None and found.get("history") == history else {}

    found = query.together([partial(read, name) for name in names.values()])
    return {task: one for task, one in zip(names, found, strict=True) if one}


def find_report(query: Folder, task: int, batch: int) -> dict[str, Any] | None:
    """Return what a task did in a batch, if it has finished it."""
    if not query.packed:
        found = find_sealed(query / str(task), f"{batch}.metrics.json")
        return None if found is None else found[0]
    name = _newest(query, batch).get(task)
    return None if name is None else read_sealed(_told(query, batch), name)


def read_reports(query: Folder, batch: int, tasks: int | None) -> list[dict[str, Any]]:
    """Return what the tasks of a batch have told, `tasks` of them where that is known. Unreadable files are skipped."""
    return list(reports_by_task(query, batch, tasks).values())


def reports_by_task(query: Folder, batch: int, tasks: int | None = None) -> dict[int, dict[str, Any]]:
    """Return what each task of a batch has told, in the order of tasks. Unreadable files are skipped."""
    if query.packed:
        asked = {task: (_told(query, batch), name) for task, name in sorted(_newest(query, batch).items())}
    else:
        numbers = sorted(int(name) for name in query.names() if name.isdigit())
        asked = {task: (query / str(task), f"{batch}.metrics.json") for task in numbers}
    some = {task: where for task, where in asked.items() if tasks is None or task < tasks}
    found = query.together([partial(_readable, *where) for where in some.values()])
    return {task: report for task, report in zip(some, found, strict=True) if report is not None}


def reported_at(query: Folder, batch: int) -> datetime | None:
    """Return when task 0 finished a batch, None if it has not or the file system does not say."""
    if query.packed:
        found = [info.mtime for info in _told(query, batch).entries() if info.base_name.startswith("t0-")]
        return max((time for time in found if time is not None), default=None)
    return (query / "0").info(f"{batch}.metrics.json").mtime


def _readable(folder: Folder, name: str) -> dict[str, Any] | None:
    try:
        found = find_sealed(folder, name)
    except (WeftError, OSError):  # collected meanwhile, or torn: metrics decide nothing
        return None
    return None if found is None else found[0]


def has_reported(query: Folder, tasks: Iterable[int], batch: int) -> bool:
    """Tell whether all of some tasks have finished a batch."""
    if query.packed:
        return set(tasks) <= set(_newest(query, batch))
    return all((query / str(task)).exists(f"{batch}.metrics.json") for task in tasks)


def _told(query: Folder, batch: int) -> Folder:
    return query / TOLD / range_of(batch) / str(batch)


def _newest(query: Folder, batch: int) -> dict[int, str]:
    """Return the newest report of each task: attempts before may have left theirs."""
    entries = sorted(_told(query, batch).entries(), key=lambda info: info.mtime_ns or 0)
    named = [(info.base_name, _NAME.fullmatch(info.base_name)) for info in entries]
    return {int(found[1]): name for name, found in named if found}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
