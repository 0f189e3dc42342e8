"""What survives: segments, manifests, plans. The only file I/O of a join."""

from __future__ import annotations

from weft.state.columns import Derived
from weft.state.memory import MemoryStore
from weft.state.paths import Folder, open_folder
from weft.state.segments import Segment
from weft.state.store import Manifest, StateStore
from weft.state.task import Clock, TaskState

__all__ = ["Clock", "Derived", "Folder", "Manifest", "MemoryStore", "Segment", "StateStore", "TaskState", "open_folder"]
