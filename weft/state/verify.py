"""Checking the files of a query: each document and each segment once, however many versions share it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from weft.errors import StateError, WeftError
from weft.routing import plan_from_json
from weft.state.collect import versions
from weft.state.contents import content_of
from weft.state.folder import Folder
from weft.state.reports import has_reported
from weft.state.sealed import read_sealed
from weft.state.segments import Segment
from weft.state.task import Manifest

__all__ = ["Damage", "Verifier"]


@dataclass(frozen=True)
class Damage:
    """A file that cannot be trusted, and the first batch that needs it."""

    file: str
    why: str
    batch: int | None = None


class Verifier:
    """Reads what a query has on disk and remembers what is wrong with it. `deep` compares checksums of segments too.

    What somebody has found damaged already is `known`, by path, and not read again.
    """

    def __init__(self, query: Folder, *, deep: bool = True, known: Collection[str] = ()) -> None:
        self.query, self.deep, self.known = query, deep, known
        self.damage: list[Damage] = []
        self.unfinished = ""
        self._documents: dict[str, dict[str, Any]] = {}
        self._manifests: dict[tuple[int, int], Manifest | None] = {}
        self._segments: dict[str, bool] = {}
        self._versions: dict[int, list[int]] = {}

    def batches(self) -> list[int]:
        """Return the batches of which any task has a manifest."""
        tasks = [int(name) for name in self.query.names() if name.isdigit()]
        oldest = min(self.versions(0), default=0)  # a task that was away for a while may have left older ones behind
        return sorted({batch for task in tasks for batch in self.versions(task) if batch >= oldest})

    def versions(self, task: int) -> list[int]:
        """Return the batches of which one task has a manifest."""
        if task not in self._versions:
            found = sorted(versions(self.query / str(task)))
            newest = self._manifest(task, found[-1], must=False) if found else None
            oldest = newest.oldest if newest is not None else 0  # what is older goes later, in part
            self._versions[task] = [batch for batch in found if batch >= oldest]
        return self._versions[task]

    def good(self, batch: int) -> bool:
        """Tell whether a query could go on from this batch, and note what is wrong if not."""
        first = self._manifest(0, batch)
        if first is None:
            return False
        try:
            tasks = plan_from_json(first.plan).tasks
        except (StateError, TypeError) as error:
            return self._bad(f"{self.query}/0/{batch}.json", _why(error), batch)
        manifests = [self._manifest(task, batch) for task in range(tasks)]
        good = all(manifest is not None for manifest in manifests)
        for manifest in manifests:
            if manifest is not None and manifest.history != first.history:
                where = f"{self.query}/{manifest.task}/{batch}.json"
                if not self._running(batch, f"task {manifest.task} has not finished it in the history of task 0"):
                    self._bad(where, "its history differs from that of the manifest of task 0", batch)
                good = False
            elif manifest is not None:
                whole = [self._segment(manifest, entry) for entry in manifest.files]
                good = all(whole) and good
        return self._plan(batch + 1, first) and good

    def last_good(self) -> int | None:
        """Return the newest batch that a query could go on from, None if there is none."""
        return next((batch for batch in reversed(self.batches()) if self.good(batch)), None)

    def readable(self, batch: int) -> list[Manifest]:
        """Return the manifests of a batch that can be read."""
        tasks = sorted(int(name) for name in self.query.names() if name.isdigit())
        found = [self._manifest(task, batch, must=False) for task in tasks if batch in self.versions(task)]
        first = next((manifest for manifest in found if manifest is not None and manifest.plan), None)
        return [
            manifest
            for manifest in found
            if manifest is not None and (first is None or manifest.history == first.history)  # else of another attempt
        ]

    def document(self, folder: Folder, name: str, batch: int | None = None) -> dict[str, Any]:
        """Return a document's body, {} if it cannot be read."""
        where = folder.where(name)
        if where in self.known:
            self._documents[where] = {}
            self._bad(where, "it is damaged", batch)
        if where not in self._documents:
            try:
                self._documents[where] = read_sealed(folder, name)
            except (WeftError, OSError) as error:
                self._documents[where] = {}
                self._bad(where, _why(error), batch)
        return self._documents[where]

    def _manifest(self, task: int, batch: int, *, must: bool = True) -> Manifest | None:
        key = (task, batch)
        if key not in self._manifests:
            self._manifests[key] = self._read_manifest(task, batch, must)
        return self._manifests[key]

    def _read_manifest(self, task: int, batch: int, must: bool) -> Manifest | None:
        folder, name = self.query / str(task), f"{batch}.json"
        if not folder.exists(name):
            if must and not self._running(batch, f"task {task} has not finished it"):
                self._bad(folder.where(name), "it is missing", batch)
            return None
        body = self.document(folder, name, batch)
        if not body:
            return None
        try:
            manifest = Manifest.of_json(body)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._bad(folder.where(name), "it is not a manifest", batch)
            return None
        if manifest.task != task or manifest.batch != batch:
            self._bad(folder.where(name), f"it is that of task {manifest.task}, batch {manifest.batch}", batch)
            return None
        return manifest

    def _plan(self, number: int, first: Manifest) -> bool:
        folder, name, batch = self.query / "plans", f"{number}.json", first.batch
        if not folder.exists(name) and self._running(batch, "the plan of the next one is not written yet"):
            return False
        body = self.document(folder, name, batch)
        if not body:
            return False
        try:
            plan_from_json(body["plan"])
        except (KeyError, TypeError, AttributeError, WeftError) as error:
            return self._bad(folder.where(name), f"it is not a plan ({_why(error)})", batch)
        if (body.get("history") or first.history) != first.history:  # format 1 says nothing of it
            if self._running(batch, "the plan of the next one is not written yet"):
                return False
            return self._bad(folder.where(name), "its history differs from that of the manifest of task 0", batch)
        return True

    def _segment(self, manifest: Manifest, segment: Segment) -> bool:
        folder = self.query / str(manifest.task)
        where = folder.where(segment.file) if segment.file else folder.where(f"{manifest.batch}.json")
        key = f"{where} {segment.name}"
        if key not in self._segments:
            self._segments[key] = self._whole(folder, segment, where, manifest.batch)
        return self._segments[key]

    def _whole(self, folder: Folder, segment: Segment, where: str, batch: int) -> bool:
        if where in self.known:
            return self._bad(where, "it is damaged", batch)
        if segment.file:
            info = folder.info(segment.file)
            if not info.is_file:
                return self._bad(where, "it is missing" if info.type.name == "NotFound" else "it is not a file", batch)
            if info.size < segment.at + segment.bytes or (not segment.pack and info.size != segment.bytes):
                return self._bad(
                    where, f"it has {info.size} bytes, the manifest says {segment.at + segment.bytes}", batch
                )
        if not self.deep:
            return True
        try:
            if why := segment.damage(content_of(folder, segment)):
                return self._bad(where, why, batch)
        except (WeftError, OSError) as error:
            return self._bad(where, _why(error), batch)
        return True

    def _running(self, batch: int, why: str) -> bool:
        """Tell whether a batch is the newest and some task of it has no metrics yet: then nothing is lost."""
        if batch != self.batches()[-1]:
            return False
        tasks = [task for task in map(int, filter(str.isdigit, self.query.names())) if batch in self.versions(task)]
        if has_reported(self.query, tasks, batch):
            return False
        self.unfinished = f"batch {batch}: {why}"
        return True

    def _bad(self, file: str, why: str, batch: int | None) -> bool:
        if all(known.file != file for known in self.damage):
            self.damage.append(Damage(file, why, batch))
        return False


def _why(error: Exception) -> str:
    """Return the reason without the file's name, which is given beside it."""
    first = (str(error).splitlines() or [type(error).__name__])[0]
    for mark in (" is damaged: ", " cannot be read: "):
        first = first.split(mark)[-1]
    return "it is missing" if first.endswith(" is missing.") else first.rstrip(".")
