"""The state of one query: pinned plans, manifests and segments, versioned by batch.

    <state>/<query id>/spec.json                 what joins, and its fingerprint
    <state>/<query id>/owner.json                which join of which run writes here, and which runs no longer may
    <state>/<query id>/plans/<batch>.json        pinned plan, written once
    <state>/<query id>/<task>/<batch>.json       manifest
    <state>/<query id>/<task>/<batch>-<n>-<mark>.arrow  segment
    <state>/<query id>/<task>/<batch>.metrics.json  what the batch did; for people, and to see whether tasks agree

On an object store, where each request counts, segments lie in packs or in the manifest (`weft.state.contents`), reports beside
each other (`weft.state.reports`), and files of a hundred batches in a folder of their own (`weft.state.object_folder`).

`state(b) = f(state(b-1), input(b), plan(b))` is deterministic: a retry, a twin or a replay writes the same bytes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, Protocol

import pyarrow as pa

from weft.errors import StateError, StateMismatch
from weft.index import Run
from weft.routing import Plan, TaskStats, plan_from_json
from weft.state.cache import SealedFiles
from weft.state.collect import collect, collect_orphans
from weft.state.contents import read_segments, write_segments
from weft.state.failures import missing
from weft.state.folder import Folder
from weft.state.ownership import Holder
from weft.state.places import open_folder
from weft.state.reports import find_report, refuse_parted, summaries, write_report
from weft.state.sealed import digest_of, find_sealed, read_sealed, write_sealed
from weft.state.segments import Derived, Segment
from weft.state.task import Clock, History, Manifest, Pinned, TaskState, flagged, packed_flags
from weft.types import SIDES, Side

__all__ = ["StateStore"]


_MAPPED: dict[tuple[str, int, str], dict[tuple[int, str], Run]] = {}
"""The segments of the last migration of this process, by folder, batch and history: by task and name. At most one entry."""
_MAPPING = Lock()


class Wanted(Protocol):
    """Says whether a migration has to open a segment of an old task."""

    def __call__(self, owner: int, side: Side, segment: Segment, *, waits: bool) -> bool:
        """Tell it of a segment whose rows wait for the ends of their windows, or do not."""


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
        self.sealed = SealedFiles()

    def working_for(self, run: str) -> StateStore:
        """Read as part of a run of the query: what cannot change within it is kept on this machine."""
        self.sealed = SealedFiles(run)
        return self

    def claim(self, holder: Holder, *, lead: bool) -> None:
        """Go on as a task of this run, or raise where the run no longer may; the `lead` task takes the state over."""
        self.holder = holder
        self.working_for(holder.run)
        holder.take(self.folder) if lead else holder.still_held(self.folder)

    def introduce(self, identity: dict[str, str]) -> None:
        """Write down what joins, with the first batch (and with its replay), so that a restart can say what changed."""
        write_sealed(self.folder, "spec.json", {"fingerprint": self.fingerprint, **identity})

    def check(self, fingerprint: str, identity: dict[str, str]) -> None:
        """Refuse state of another join, naming what changed."""
        if fingerprint == self.fingerprint:
            return
        before = read_sealed(self.folder, "spec.json") if self.folder.exists("spec.json") else {}
        changed = [
            f"{name}: was {before.get(name, 'inner')!r}, is {identity.get(name, 'inner')!r}"  # only `how` is left out, if inner
            for name in dict.fromkeys([*identity, *(name for name in before if name in (*identity, "how"))])
            if before.get(name) != identity.get(name)
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
        others = self.manifests(range(tasks), max(done))
        whole = first is not None and tasks and all(one is not None and one.history == first.history for one in others)
        return max(done) + 1 if whole else max(done)

    # Plans

    def read_pinned(self, batch: int) -> Pinned:
        """Return the plan pinned for a batch, with the clock before it."""
        folder, name = self.folder / "plans", f"{batch}.json"
        body = self.sealed.find(folder, name, shared=True)
        if body is None:
            raise missing(folder.where(name))
        return self._pinned_of(body, batch, folder.where(name))

    def _pinned_of(self, body: dict[str, Any], batch: int, where: str) -> Pinned:
        try:
            if body["batch"] != batch:
                raise StateError.torn(where, f"it is the plan of batch {body['batch']}")
            plan = plan_from_json(body["plan"])
            clock = Clock.of_json(body["clock"]) if "clock" in body else self._clock(batch)
            history = str(body.get("history", ""))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StateError.torn(where, "it is not a plan") from None
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
        before = self._pinned_before(folder, name, batch)
        if before is not None and before.history == pinned.history:
            return before
        self._still_held()
        body = {
            "batch": batch, "plan": pinned.plan.to_json(), "reason": reason, "clock": pinned.clock.to_json(),
            "history": pinned.history,
        }  # fmt: skip
        write_sealed(folder, name, body)
        return pinned

    def _pinned_before(self, folder: Folder, name: str, batch: int) -> Pinned | None:
        """Return what is pinned for a batch already, as it stands in the folder."""
        try:
            found = find_sealed(folder, name)
            return None if found is None else self._pinned_of(found[0], batch, folder.where(name))
        except StateError as error:
            if isinstance(error.__cause__, OSError):  # out of reach: somebody may have read it
                raise
            return None  # it cannot be read, so nobody has

    # Manifests and segments

    def manifests(self, tasks: Iterable[int], batch: int, history: str = "") -> list[Manifest | None]:
        """Return the manifests of several tasks, read at once where each read takes a round trip."""
        return self.folder.together([partial(self.manifest, task, batch, history) for task in tasks])

    def manifest(self, task: int, batch: int, history: str = "") -> Manifest | None:
        """Return a manifest, or None if the task has none for this batch (it did not exist then).

        That of a known `history` may be on this machine; whoever asks compares it.
        """
        folder, name = self.folder / str(task), f"{batch}.json"
        try:
            body = self.sealed.find(folder, name, history)
            if body is None:
                return None
            manifest = Manifest.of_json(body)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StateError.torn(folder.where(name), "it is not a manifest") from None
        if (manifest.task, manifest.batch) != (task, batch):
            why = f"it is the manifest of task {manifest.task}, batch {manifest.batch}"
            raise StateError.torn(folder.where(name), why)
        if manifest.query not in ("", self.query):
            raise StateError.foreign(folder.where(name), f"it belongs to query {manifest.query}")
        return manifest

    def stats(self, tasks: Sequence[int], batch: int, history: str) -> dict[int, TaskStats]:
        """Return what tasks saw in a batch, as far as their reports say it; where each request counts, those are smaller.

        A report says the same as the manifest of its history, so it does not matter which of them is read. A task whose
        consumer stopped early has none.
        """
        if not (self.folder.packed and history):
            return {}
        found = summaries(self.folder, batch, history, self.sealed)
        return {task: TaskStats.of_json(found[task]) for task in tasks if task in found}

    def load(self, manifest: Manifest, plan: Plan, payload: dict[Side, pa.Schema]) -> TaskState:
        """Return the state behind a manifest, which came to be under `plan`."""
        _MAPPED.clear()
        return self._state(manifest, plan, self._runs(manifest, list(_entries(manifest)), payload))

    def load_some(
        self, manifests: Mapping[int, Manifest], plan: Plan, payload: dict[Side, pa.Schema], wanted: Wanted
    ) -> tuple[TaskState, ...]:  # fmt: skip
        """Return what a migration needs of the states of all tasks under `plan`: of each manifest given the segments wanted.

        A process runs several tasks of a batch, which look at the same states: each segment is mapped once. What was mapped last
        is kept until the process loads something else.
        """
        (first, *_) = manifests.values()
        key = str(self.folder), first.batch, first.history
        entries = {
            task: [entry for entry in _entries(manifest) if wanted(task, entry[0], entry[1], waits=entry[2])]
            for task, manifest in manifests.items()
        }
        with _MAPPING:
            known = _MAPPED.setdefault(key, {}) if set(_MAPPED) <= {key} else {}
            if key not in _MAPPED:
                _MAPPED.clear()
                _MAPPED[key] = known
            missing = {
                task: [entry for entry in entries[task] if (task, entry[1].name) not in known] for task in entries
            }
            calls = [partial(self._runs, manifests[task], asked, payload) for task, asked in missing.items() if asked]
            for task, runs in zip(
                [task for task, asked in missing.items() if asked], self.folder.together(calls), strict=True
            ):
                known |= {(task, name): run for name, run in runs.items()}
            nothing = TaskState(plan, before=first.before, clock=Clock.of_json(first.clock), index=first.index)
            return tuple(
                self._state(manifests[task], plan, {e[1].name: known[task, e[1].name] for e in entries[task]})
                if task in manifests else nothing
                for task in range(plan.tasks)
            )  # fmt: skip

    def _runs(
        self, manifest: Manifest, entries: Sequence[tuple[Side, Segment, bool]], payload: dict[Side, pa.Schema]
    ) -> dict[str, Run]:  # fmt: skip
        """Return the runs of some segments by name, with the flags that the manifest has of them."""
        folder = self.folder / str(manifest.task)
        where = folder.where(f"{manifest.batch}.json")
        if manifest.fingerprint != self.fingerprint:
            raise StateError.torn(where, f"it belongs to another join (fingerprint {manifest.fingerprint})")
        flags = {
            entry.name: text
            for side, texts in manifest.matched.items()
            for entry, text in zip(manifest.segments[side], texts, strict=True)
        }
        read = read_segments(folder, [(entry, payload[side]) for side, entry, _ in entries])
        return {
            entry.name: flagged(run, flags.get(entry.name, ""), where)
            for (_, entry, _), run in zip(entries, read, strict=True)
        }

    def _state(self, manifest: Manifest, plan: Plan, runs: Mapping[str, Run]) -> TaskState:
        """Return the state of a task with these of its runs."""
        there: dict[bool, dict[Side, tuple[Run, ...]]] = {
            waits: {
                side: tuple(runs[entry.name] for entry in kinds.get(side, ()) if entry.name in runs) for side in SIDES
            }
            for waits, kinds in ((False, manifest.segments), (True, manifest.waiting))
        }
        clock = Clock.of_json(manifest.clock)
        return TaskState(plan, there[False], manifest.before, clock, manifest.index, there[True])

    def save(
        self, task: int, batch: int, state: TaskState, stats: dict[str, Any], previous: Manifest | None, history: History
    ) -> Manifest:  # fmt: skip
        """Write new runs as segments, then the manifest, then collect what no kept version needs."""
        folder = self.folder / str(task)
        # Another history, or another index, has other names: what a run that was given up still writes harms nobody.
        mark = digest_of({"history": history.now, "index": state.index})[:8]
        segments, waiting = write_segments(folder, batch, mark, state, previous, self.derived)
        matched = {side: packed_flags(state.runs[side]) for side in SIDES}
        kept = {entry.name for kinds in (segments, waiting) for side in SIDES for entry in kinds[side]}
        gone = (
            [(batch, entry.name) for entry in previous.files if entry.name not in kept] if previous is not None else []
        )
        garbage = () if folder.packed or previous is None else (*previous.garbage, *gone)
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
            oldest=max(0, horizon) if folder.packed else 0,
        )
        self._still_held()
        self.sealed.write(folder, f"{batch}.json", manifest.to_json(), history.now)
        names = [name for since, name in garbage if since <= horizon]
        collect(self.folder, manifest, names, self.retain, partial(self.manifest, task))
        return manifest

    def _still_held(self) -> None:
        if self.holder is not None:
            self.holder.still_held(self.folder)

    def collect_orphans(self, batch: int, tasks: int) -> None:
        """Delete folders of tasks that no longer exist, once no kept version refers to them."""
        collect_orphans(self.folder, batch, tasks, self.retain)

    # Metrics

    def write_metrics(self, task: int, batch: int, metrics: dict[str, Any]) -> None:
        """Write what a task did in a batch, after its last pair has left."""
        write_report(self.folder, task, batch, metrics, self.sealed)

    def finish(self, task: int, batch: int, metrics: dict[str, Any], tasks: int, history: str) -> None:
        """Write the metrics, and refuse a batch whose tasks were sent different rows while Spark can still run it again."""
        attempt = self.holder.attempt if self.holder is not None else ""
        if not attempt:
            self.write_metrics(task, batch, metrics)
            return
        self.write_metrics(task, batch, {**metrics, "history": history, "attempt": attempt})
        refuse_parted(self.folder, task, batch, tasks, attempt=attempt, history=history)

    def read_metrics(self, task: int, batch: int) -> dict[str, Any] | None:
        """Return what a task did in a batch, if it has finished it."""
        return find_report(self.folder, task, batch)


def _entries(manifest: Manifest) -> Iterator[tuple[Side, Segment, bool]]:
    """Yield side and entry of each segment, and whether its rows wait for their windows to end."""
    yield from ((side, entry, False) for side in SIDES for entry in manifest.segments[side])
    yield from ((side, entry, True) for side in SIDES for entry in manifest.waiting.get(side, ()))
