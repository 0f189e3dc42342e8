"""What survives: segments, manifests, plans. The only file I/O of a join."""

from __future__ import annotations

from weft.state.columns import Derived
from weft.state.history import History
from weft.state.memory import MemoryStore
from weft.state.paths import Folder, open_folder
from weft.state.segments import Segment
from weft.state.store import Manifest, StateStore
from weft.state.task import Clock, Pinned, TaskState

__all__ = [
    "Clock", "Derived", "Folder", "History", "Manifest", "MemoryStore", "Pinned", "Segment", "StateStore", "TaskState",
    "open_folder",
]  # fmt: skip
