"""Plans that a test forces upon a join, in place of those that control has pinned."""

from __future__ import annotations

from dataclasses import replace

from weft.routing import Plan
from weft.state import MemoryStore, StateStore, read_sealed, write_sealed

__all__ = ["force_plan"]


def force_plan(store: StateStore, batch: int, plan: Plan) -> None:
    """Pin another plan for the batch that is next."""
    if isinstance(store, MemoryStore):
        store.plans[batch] = (replace(store.read_pinned(batch), plan=plan), "forced")
        return
    folder, name = store.folder / "plans", f"{batch}.json"
    write_sealed(folder, name, {**read_sealed(folder, name), "plan": plan.to_json(), "reason": "forced"})
