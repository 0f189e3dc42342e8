"""The state of one query: pinned plans, manifests and segments, versioned by batch.

    <state>/<query id>/spec.json                 what joins, and its fingerprint
    <state>/<query id>/owner.json                which join of which run writes here, and which runs no longer may
    <state>/<query id>/plans/<batch>.json        pinned plan, written once
    <state>/<query id>/<task>/<batch>.json       manifest
    <state>/<query id>/<task>/<batch>-<n>-<mark>.arrow  segment
    <state>/<query id>/<task>/<batch>.metrics.json  what the batch did; for people, and to see whether tasks agree

`state(b) = f(state(b-1), input(b), plan(b))` is deterministic: a retry, a twin or a replay writes the same bytes again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

import pyarrow as pa

from weft.errors import StateError, StateMismatch
from weft.index import Run
from weft.routing import Plan, TaskStats, plan_from_json
from weft.spec.shapes import check_shape, listed
from weft.state.flags import flagged, packed_flags
from weft.state.folder import Folder
from weft.state.ownership import Holder
from weft.state.places import open_folder
from weft.state.sealed import digest_of, read_sealed, write_sealed
from weft.state.segments import Derived, Segment, read_segment, write_segment
from weft.state.task import Clock, History, Pinned, TaskState
from weft.types import SIDES, Side

__all__ = ["Manifest", "StateStore"]


@dataclass(frozen=True)
class Manifest:
    """One version of one task: which segments, and everything needed to go on from them.

    The plan stands in the manifest of task 0 alone, which always exists: it can be long, and all tasks have the same.
    `history` says where the state came from (`weft.state.task`) and is the same in all tasks of a batch, `since` is that
    of the batch before: a batch whose tasks were begun under different plans (a crash, then a restart with another number of
    tasks, and a crash again) is not finished. Format 1 has a digest of the plan in its place, and no `query`.
    """

    task: int
    batch: int
    fingerprint: str
    plan: dict[str, Any]
    segments: dict[Side, tuple[Segment, ...]]
    before: dict[Side, int]
    clock: dict[str, dict[Side, int]]
    stats: dict[str, Any]
    index: str = ""
    garbage: tuple[tuple[int, str], ...] = ()
    history: str = ""
    since: str = ""
    query: str = ""
    waiting: dict[Side, tuple[Segment, ...]] = field(default_factory=dict)
    matched: dict[Side, tuple[str, ...]] = field(default_factory=dict)
    """Which rows of each segment have found a partner, in joins that ask: a bit per row (`packed_flags`)."""

    @property
    def files(self) -> tuple[Segment, ...]:
        """Return the segments of both sides, those of waiting rows too."""
        return tuple(one for kinds in (self.segments, self.waiting) for entries in kinds.values() for one in entries)

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as JSON data; what only some kinds of joins have is left out by the others."""
        said = {**self.__dict__, "segments": _entries(self.segments), "garbage": [list(item) for item in self.garbage]}
        said |= {"waiting": _entries(self.waiting)}
        return {name: value for name, value in said.items() if value or name not in ("waiting", "matched")}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Manifest:
        """Read the manifest from JSON data."""
        segments, waiting = _segments(data["segments"]), _segments(data["waiting"]) if "waiting" in data else {}
        garbage = tuple((batch, name) for batch, name in listed(data["garbage"]))
        rest = {"history" if name == "digest" else name: value for name, value in data.items()}
        made = cls(**{**rest, "segments": segments, "waiting": waiting, "garbage": garbage})
        check_shape(made)
        Clock.of_json(made.clock)
        TaskStats.of_json(made.stats)
        if not all(side in made.before for side in SIDES):
            raise KeyError("before")
        if any(len(flags) != len(segments[side]) for side, flags in made.matched.items()):
            raise ValueError("matched")
        return made


def _entries(segments: Mapping[Side, Sequence[Segment]]) -> dict[Side, list[dict[str, Any]]]:
    return {side: [entry.to_json() for entry in entries] for side, entries in segments.items()}


def _segments(data: Mapping[Side, Any]) -> dict[Side, tuple[Segment, ...]]:
    return {side: tuple(Segment.of_json(entry) for entry in listed(data[side])) for side in SIDES}


_SWEEP = 10
"""At least so many batches lie between two searches for stray files."""

_MAPPED: list[tuple[tuple[str, tuple[Manifest, ...], dict[Side, pa.Schema]], tuple[TaskState, ...]]] = []
"""The states of the last migration of this process, at most one entry."""
_MAPPING = Lock()

_OURS = re.compile(r"\.?(\d+)(\.json|\.metrics\.json|-\d+(-[0-9a-f]{8})?\.arrow)(\.\d+-[0-9a-f]+)?")


def _batch_of(name: str) -> int:
    """Return the batch that wrote a file (or wrote it aside); of a file that is not ours, one that never gets old."""
    found = _OURS.fullmatch(name)
    return int(found[1]) if found else sys.maxsize


def _versions(folder: Folder) -> list[int]:
    return [int(name[:-5]) for name in folder.names() if name.endswith(".json") and name[:-5].isdigit()]


class StateStore:
    """Reads and writes the state of one query."""

    def __init__(
        self, where: str | Folder, query: str, fingerprint: str, retain: int = 100,
        derived: Mapping[Side, Derived] | None = None,
    ) -> None:  # fmt: skip
        self.folder = (open_folder(where) if isinstance(where, str) else where) / query
        self.query = query
        self.fingerprint = fingerprint
        self.retain = max(retain, 2)
        self.derived: Mapping[Side, Derived] = derived or {"left": {}, "right": {}}
        self.holder: Holder | None = None

    def claim(self, holder: Holder, *, lead: bool) -> None:
        """Go on as a task of this run, or raise where the run no longer may; the `lead` task takes the state over."""
        self.holder = holder
        holder.take(self.folder) if lead else holder.check(self.folder)

    def introduce(self, identity: dict[str, str]) -> None:
        """Write down what joins, with the first batch (and with its replay), so that a restart can say what changed."""
        write_sealed(self.folder, "spec.json", {"fingerprint": self.fingerprint, **identity})

    def check(self, fingerprint: str, identity: dict[str, str]) -> None:
        """Refuse state of another join, naming what changed."""
        if fingerprint == self.fingerprint:
            return
        before = read_sealed(self.folder, "spec.json") if self.folder.exists("spec.json") else {}
        changed = [
            f"{name}: was {before.get(name)!r}, is {now!r}" for name, now in identity.items() if before.get(name) != now
        ]
        plain = [change for change in changed if not change.startswith("words:")]  # follows from the others, mostly
        changed = plain or changed
        raise StateMismatch.of(
            f"The state in {self.folder} belongs to another join.",
            "What changed: " + "; ".join(changed[:4] or [f"fingerprint {fingerprint} is now {self.fingerprint}"]) + ".",
            "restart with the join that wrote it, or give the new join a new checkpoint location.",
        )

    def next_batch(self) -> int:
        """Return the batch to go on with: the one after the last that all its tasks finished, else that one again."""
        folder = self.folder / "0"
        done = [int(name.removesuffix(".json")) for name in folder.names() if name.removesuffix(".json").isdigit()]
        if not done:
            return 0
        first = self.manifest(0, max(done))
        tasks = 0 if first is None else int(first.plan["tasks"])
        others = [self.manifest(task, max(done)) for task in range(tasks)]
        whole = first is not None and tasks and all(one is not None and one.history == first.history for one in others)
        return max(done) + 1 if whole else max(done)

    # Plans

    def read_pinned(self, batch: int) -> Pinned:
        """Return the plan pinned for a batch, with the clock before it."""
        folder, name = self.folder / "plans", f"{batch}.json"
        body = read_sealed(folder, name)
        try:
            if body["batch"] != batch:
                raise StateError.torn(f"{folder}/{name}", f"it is the plan of batch {body['batch']}")
            plan = plan_from_json(body["plan"])
            clock = Clock.of_json(body["clock"]) if "clock" in body else self._clock(batch)
            history = str(body.get("history", ""))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StateError.torn(f"{folder}/{name}", "it is not a plan") from None
        return Pinned(plan, clock, history)

    def _clock(self, batch: int) -> Clock:
        """Return the clock before a batch whose plan does not say it: what task 0 knew after the batch before."""
        before = self.manifest(0, batch - 1) if batch else None
        return Clock() if before is None else Clock.of_json(before.clock)

    def reason(self, batch: int) -> str:
        """Return why the plan of a batch is not that of the batch before ("" if it is)."""
        return str(read_sealed(self.folder / "plans", f"{batch}.json").get("reason", ""))

    def pin(self, batch: int, pinned: Pinned, reason: str) -> Pinned:
        """Pin what all tasks of a batch are to know, and return it; of one history the first plan stays.

        A batch that is joined again may be joined with other settings, and control may then decide otherwise. What was
        pinned before may have been read, so it is not changed, unless it belongs to a history that was given up.
        """
        folder, name = self.folder / "plans", f"{batch}.json"
        if folder.exists(name):
            try:
                before = self.read_pinned(batch)
            except StateError:  # it cannot be read, so nobody has
                before = None
            if before is not None and before.history == pinned.history:
                return before
        self._still_held()
        body = {
            "batch": batch, "plan": pinned.plan.to_json(), "reason": reason, "clock": pinned.clock.to_json(),
            "history": pinned.history,
        }  # fmt: skip
        write_sealed(folder, name, body)
        return pinned

    # Manifests and segments

    def manifest(self, task: int, batch: int) -> Manifest | None:
        """Return a manifest, or None if the task has none for this batch (it did not exist then)."""
        folder, name = self.folder / str(task), f"{batch}.json"
        if not folder.exists(name):
            return None
        try:
            manifest = Manifest.of_json(read_sealed(folder, name))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StateError.torn(f"{folder}/{name}", "it is not a manifest") from None
        if (manifest.task, manifest.batch) != (task, batch):
            why = f"it is the manifest of task {manifest.task}, batch {manifest.batch}"
            raise StateError.torn(f"{folder}/{name}", why)
        if manifest.query not in ("", self.query):
            raise StateError.foreign(f"{folder}/{name}", f"it belongs to query {manifest.query}")
        return manifest

    def runs(self, manifest: Manifest, side: Side, payload: pa.Schema) -> tuple[Run, ...]:
        """Map the segments of one side."""
        folder = self.folder / str(manifest.task)
        runs = tuple(read_segment(folder, entry, payload) for entry in manifest.segments[side])
        flags = manifest.matched.get(side)
        if not flags:
            return runs
        where = f"{folder}/{manifest.batch}.json"
        return tuple(flagged(run, text, where) for run, text in zip(runs, flags, strict=True))

    def load(self, manifest: Manifest, plan: Plan, payload: dict[Side, pa.Schema]) -> TaskState:
        """Return the state behind a manifest, which came to be under `plan`."""
        _MAPPED.clear()
        return self._load(manifest, plan, payload)

    def _load(self, manifest: Manifest, plan: Plan, payload: dict[Side, pa.Schema]) -> TaskState:
        if manifest.fingerprint != self.fingerprint:
            where = f"{self.folder}/{manifest.task}/{manifest.batch}.json"
            raise StateError.torn(where, f"it belongs to another join (fingerprint {manifest.fingerprint})")
        clock = Clock.of_json(manifest.clock)
        runs = {side: self.runs(manifest, side, payload[side]) for side in SIDES}
        folder = self.folder / str(manifest.task)
        waiting = {
            side: tuple(read_segment(folder, entry, payload[side]) for entry in manifest.waiting.get(side, ()))
            for side in SIDES
        }
        return TaskState(plan, runs, manifest.before, clock, manifest.index, waiting)

    def load_all(
        self, manifests: Sequence[Manifest], plan: Plan, payload: dict[Side, pa.Schema]
    ) -> tuple[TaskState, ...]:  # fmt: skip
        """Return the states behind the manifests of all tasks, for a migration.

        A process runs several tasks of a batch, and each of them looks at all states: they are mapped once. What was
        mapped last is kept until the process loads something else.
        """
        key = str(self.folder), tuple(manifests), payload
        with _MAPPING:
            found = next((states for one, states in _MAPPED if one == key), None)
            if found is None:
                _MAPPED.clear()
                found = tuple(self._load(manifest, plan, payload) for manifest in manifests)
                _MAPPED.append((key, found))
        return found

    def save(
        self, task: int, batch: int, state: TaskState, stats: dict[str, Any], previous: Manifest | None, history: History
    ) -> Manifest:  # fmt: skip
        """Write new runs as segments, then the manifest, then collect what no kept version needs."""
        folder = self.folder / str(task)
        old = {} if previous is None else {entry.name: entry for entry in previous.files}
        # Another history, or another index, has other names: what a run that was given up still writes harms nobody.
        mark = digest_of({"history": history.now, "index": state.index})[:8]
        names = (f"{batch}-{number}-{mark}.arrow" for number in count())

        def written(side: Side, run: Run) -> Segment:
            known = old.get(run.segment)
            return known or write_segment(folder, next(names), run, self.derived[side])

        segments = {side: tuple(written(side, run) for run in state.runs[side]) for side in SIDES}
        waiting = {side: tuple(written(side, run) for run in state.waiting[side]) for side in SIDES}
        matched = {side: packed_flags(state.runs[side]) for side in SIDES}
        kept = {entry.name for kinds in (segments, waiting) for side in SIDES for entry in kinds[side]}
        garbage = (previous.garbage if previous is not None else ()) + tuple((batch, n) for n in old if n not in kept)
        horizon = batch - self.retain
        manifest = Manifest(
            task=task,
            batch=batch,
            fingerprint=self.fingerprint,
            plan={} if task else state.plan.to_json(),
            segments=segments,
            before=state.before,
            clock=state.clock.to_json(),
            stats=stats,
            index=state.index,
            garbage=tuple((since, name) for since, name in garbage if since > horizon),
            history=history.now,
            since=history.before,
            query=self.query,
            waiting=waiting if any(waiting.values()) else {},
            matched={side: flags for side, flags in matched.items() if any(flags)},
        )
        self._still_held()
        write_sealed(folder, f"{batch}.json", manifest.to_json())
        self._collect(folder, batch, [name for since, name in garbage if since <= horizon])
        return manifest

    def _still_held(self) -> None:
        if self.holder is not None:
            self.holder.check(self.folder)

    def _collect(self, folder: Folder, batch: int, names: Sequence[str]) -> None:
        """Delete what is older than every version Spark may ask for; a batch has at most one older than the horizon."""
        for name in names:
            folder.delete(name)
        last = batch - self.retain
        if last <= 0:
            return
        folder.delete(f"{last - 1}.json")
        folder.delete(f"{last - 1}.metrics.json")
        if folder.path.endswith("/0"):
            (self.folder / "plans").delete(f"{last - 1}.json")
        if batch % max(self.retain, _SWEEP) == 0:
            self._sweep(folder, last)

    def _sweep(self, folder: Folder, last: int) -> None:
        """Delete what slipped through: left by killed tasks, by a task that was away, by a longer `retain`."""
        task = int(folder.path.rpartition("/")[2])
        try:
            kept = [self.manifest(task, version) for version in _versions(folder) if version >= last]
        except StateError:  # a damaged old version is no reason to fail, and may need any segment
            return
        needed = {entry.name for manifest in kept if manifest for side in SIDES for entry in manifest.segments[side]}
        for name in folder.names():
            if _batch_of(name) < last and name not in needed:
                folder.delete(name)
        if folder.path.endswith("/0"):
            for name in (self.folder / "plans").names():
                if _batch_of(name) < last:
                    (self.folder / "plans").delete(name)

    def collect_orphans(self, batch: int, tasks: int) -> None:
        """Delete folders of tasks that no longer exist, once no kept version refers to them."""
        for name in self.folder.names():
            if name.isdigit() and int(name) >= tasks:
                folder = self.folder / name
                if max(_versions(folder), default=-1) < batch - self.retain:
                    folder.delete_all()

    # Metrics

    def write_metrics(self, task: int, batch: int, metrics: dict[str, Any]) -> None:
        """Write what a task did in a batch, after its last pair has left."""
        write_sealed(self.folder / str(task), f"{batch}.metrics.json", metrics)

    def finish(self, task: int, batch: int, metrics: dict[str, Any], tasks: int, history: str) -> None:
        """Write the metrics, and refuse a batch whose tasks were sent different rows while Spark can still run it again.

        Task 0 asks all others and they ask task 0, each after it has told its own history: of two that differ the later one
        knows. What an earlier attempt left behind says nothing.
        """
        attempt = self.holder.attempt if self.holder is not None else ""
        if not attempt:
            self.write_metrics(task, batch, metrics)
            return
        self.write_metrics(task, batch, {**metrics, "history": history, "attempt": attempt})
        for other in range(1, tasks) if task == 0 else (0,):
            try:
                told = self.read_metrics(other, batch) or {}
            except StateError:  # damaged: the next batch asks the manifest
                continue
            if told.get("attempt") == attempt and told.get("history") != history:
                raise StateError.parted(batch, (0, task or other))

    def read_metrics(self, task: int, batch: int) -> dict[str, Any] | None:
        """Return what a task did in a batch, if it has finished it."""
        folder = self.folder / str(task)
        return read_sealed(folder, f"{batch}.metrics.json") if folder.exists(f"{batch}.metrics.json") else None
