"""What goes when no version that Spark may ask for needs it: on a disk with every batch, on an object store once in many.

A kept version is one of the last `retain` batches. A segment belongs to the batch that wrote it and is needed by versions from
then on, until its run is merged or expires. So of what is older than the oldest kept version, that version names all that is
needed still.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from weft.errors import StateError
from weft.state.folder import Folder
from weft.state.object_folder import ObjectFolder
from weft.state.reports import TOLD
from weft.state.task import Manifest
from weft.types import SIDES

__all__ = ["collect", "collect_orphans", "collects", "versions"]

_SWEEP = 10
"""At least so many batches lie between two searches for stray files."""
_SELDOM = 50
"""So many batches lie between two collections where each request counts."""

_OURS = re.compile(r"\.?(\d+)(\.json|\.metrics\.json|-\d+(-[0-9a-f]{8})?\.arrow)(\.\d+-[0-9a-f]+)?")

Find = Callable[[int], "Manifest | None"]
"""Reads a version of the task that collects."""


def versions(folder: Folder) -> list[int]:
    """Return the batches that a task has a manifest of."""
    return [int(name[:-5]) for name in folder.names() if name.endswith(".json") and name[:-5].isdigit()]


def collects(query: Folder, task: int, batch: int) -> bool:
    """Tell whether a task collects in this batch; on an object store the tasks take turns."""
    return not query.packed or (batch + task) % _SELDOM == 0


def collect(query: Folder, manifest: Manifest, names: Sequence[str], retain: int, find: Find) -> None:
    """Delete what is older than every version Spark may ask for; `names` are the segments that ceased to be needed now."""
    if not collects(query, manifest.task, manifest.batch):
        return
    folder, last = query / str(manifest.task), manifest.batch - retain
    if isinstance(folder, ObjectFolder):
        if last > 0:
            _drop(query, folder, manifest.task, last, find)
        return
    for name in names:
        folder.delete(name)
    if last <= 0:
        return
    folder.delete(f"{last - 1}.json")  # at most one is older than the horizon
    folder.delete(f"{last - 1}.metrics.json")
    if manifest.task == 0:
        (query / "plans").delete(f"{last - 1}.json")
    if manifest.batch % max(retain, _SWEEP) == 0:
        _sweep(query, folder, manifest.task, last, find)


def _drop(query: Folder, folder: ObjectFolder, task: int, last: int, find: Find) -> None:
    try:
        oldest = find(last)
    except StateError:  # damaged: it may need any segment
        return
    folder.drop(last, set() if oldest is None else {entry.file for entry in oldest.files})
    if task == 0:
        for other in ("plans", TOLD):
            below = query / other
            assert isinstance(below, ObjectFolder)
            below.drop(last, ())


def _sweep(query: Folder, folder: Folder, task: int, last: int, find: Find) -> None:
    """Delete what slipped through: left by killed tasks, by a task that was away, by a longer `retain`."""
    try:
        kept = [find(version) for version in versions(folder) if version >= last]
    except StateError:  # a damaged old version is no reason to fail, and may need any segment
        return
    needed = {entry.name for manifest in kept if manifest for side in SIDES for entry in manifest.segments[side]}
    for name in folder.names():
        if _batch_of(name) < last and name not in needed:
            folder.delete(name)
    if task == 0:
        for name in (query / "plans").names():
            if _batch_of(name) < last:
                (query / "plans").delete(name)


def _batch_of(name: str) -> int:
    """Return the batch that wrote a file (or wrote it aside); of a file that is not ours, one that never gets old."""
    found = _OURS.fullmatch(name)
    return int(found[1]) if found else sys.maxsize


def collect_orphans(query: Folder, batch: int, tasks: int, retain: int) -> None:
    """Delete folders of tasks that no longer exist, once no kept version refers to them."""
    if not collects(query, 0, batch):
        return
    for name in query.names():
        if name.isdigit() and int(name) >= tasks:
            folder = query / name
            if max(versions(folder), default=-1) < batch - retain:
                folder.delete_all()
