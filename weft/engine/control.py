"""The control loop: statistics of the batch before, plan of the batch after.

Join task 0 of batch b reads the manifests of batch b - 1 and pins the plan of batch b + 1, which cannot start before
batch b is done. A replay reads the same manifests and pins the same plan: no driver hook, no race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.engine.joiner import Job
from weft.errors import StateError, StateLost
from weft.routing import Plan, Scheme, TaskStats, plan_from_json
from weft.spec import JoinSpec
from weft.state import Clock, History, Manifest, Pinned, StateStore

__all__ = ["manifest_before", "manifests_before", "next_plan", "pin_next", "pinned_for"]


def pinned_for(job: Job, store: StateStore | None, batch: int) -> Pinned:
    """Return what is pinned for a batch, the plan for the number of tasks there are now."""
    if store is None or batch == 0:
        history = "" if store is None else History.first(store.query, store.fingerprint)
        return Pinned(job.scheme.initial(job.spec, job.tasks), history=history)
    pinned = store.read_pinned(batch)
    return pinned if pinned.plan.tasks == job.tasks else replace(pinned, plan=pinned.plan.adapt(job.tasks))


def pin_next(job: Job, store: StateStore, batch: int, pinned: Pinned, clock: Clock, history: History) -> str:
    """Pin the plan of the next batch from what the batch before saw; return why rows move then, "" if they do not.

    `pinned` is what this batch goes by; `clock` and `history` are those behind it.
    """
    stats = list[TaskStats]()
    if batch > 0:
        old = plan_from_json(manifest_before(store, batch, 0, known=pinned.history).plan)
        known = store.stats(range(old.tasks), batch - 1, pinned.history)
        others = [task for task in range(old.tasks) if task not in known]
        for manifest in manifests_before(store, batch, others, known=pinned.history):
            known[manifest.task] = TaskStats.of_json(manifest.stats)
        stats = [known[task] for task in range(old.tasks)]
    else:
        store.introduce(job.spec.identity())
        store.pin(0, pinned, "first plan")
    after, reason = next_plan(job.spec, job.scheme, pinned.plan, stats)
    following = store.pin(batch + 1, Pinned(after, clock, history.now), reason)
    store.collect_orphans(batch, pinned.plan.tasks)
    return reason if following.plan != pinned.plan else ""


def next_plan(spec: JoinSpec, scheme: Scheme, plan: Plan, stats: Sequence[TaskStats]) -> tuple[Plan, str]:
    """Return the plan that follows, and why it differs ("" if it does not).

    A plan that another scheme left behind (the user restarted with a new one) gives way to the scheme's first plan.
    """
    first = scheme.initial(spec, plan.tasks)
    if plan.scheme not in (first.scheme, scheme.name, *scheme.reaches):
        return first, f"scheme is now {scheme.name}"
    if not stats:
        return plan, ""
    after, reason = scheme.control(spec, plan, list(stats))
    return (after, reason) if after.preserves(spec) else (plan, "")  # whatever it wants, an outer join stays exact


def manifest_before(
    store: StateStore, batch: int, task: int, history: str | None = None, known: str = ""
) -> Manifest:  # fmt: skip
    """Return what a task knew after the batch before; with `history`, of that very history.

    What was `known` of that history may be on this machine.
    """
    return manifests_before(store, batch, [task], history, known)[0]


def manifests_before(
    store: StateStore, batch: int, tasks: Sequence[int], history: str | None = None, known: str = ""
) -> list[Manifest]:  # fmt: skip
    """Return what tasks knew after the batch before."""
    found = store.manifests(tasks, batch - 1, history or known)
    return [_whole(store, batch, task, one, history) for task, one in zip(tasks, found, strict=True)]


def _whole(store: StateStore, batch: int, task: int, found: Manifest | None, history: str | None) -> Manifest:
    where = (store.folder / str(task)).where(f"{batch - 1}.json")
    if found is not None and history not in (None, found.history):
        raise StateError.foreign(where, "its history differs from that of the manifest of task 0")
    if found is None:
        raise StateLost.of(
            f"{where} is missing.",
            f"It records the state of task {task} after batch {batch - 1}; without it, batch {batch} cannot be joined.",
            "restore the state folder, or go back to the last whole batch: `weft state rollback`; inside foreachBatch, consume "
            "the whole DataFrame of every batch (a task whose rows nobody reads never runs).",
        )
    return found
