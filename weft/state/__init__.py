"""What survives: segments, manifests, plans. The only file I/O of a join."""

from __future__ import annotations

from weft.state.contents import content_of
from weft.state.failures import patiently
from weft.state.folder import Care, Folder
from weft.state.journal import JOURNAL, Journal, JournalBatch, find_journal, write_journal
from weft.state.memory_store import MemoryStore
from weft.state.object_folder import ObjectFolder
from weft.state.ownership import CHECKPOINT, Holder, known_checkpoint, known_sink, note_checkpoint
from weft.state.places import open_folder
from weft.state.reports import TOLD, has_reported, read_reports, reported_at, reports_by_task
from weft.state.sealed import read_sealed, write_sealed
from weft.state.segments import Derived, Segment, derived_note, one_chunk, read_words, written_words
from weft.state.store import StateStore
from weft.state.tables import TablePin, TableShelf, TableVersion, queries_with_tables, remove_tables
from weft.state.task import Clock, History, Manifest, Pinned, TaskState
from weft.state.verify import Damage, Verifier

__all__ = [
    "CHECKPOINT", "JOURNAL", "TOLD", "Care", "Clock", "Damage", "Derived", "Folder", "History", "Holder", "Journal",
    "JournalBatch", "Manifest", "MemoryStore", "ObjectFolder", "Pinned", "Segment", "StateStore", "TablePin", "TableShelf",
    "TableVersion", "TaskState", "Verifier", "content_of", "derived_note", "find_journal", "has_reported",
    "known_checkpoint", "known_sink", "note_checkpoint", "one_chunk", "open_folder", "patiently", "queries_with_tables",
    "read_reports", "read_sealed", "read_words", "remove_tables", "reported_at", "reports_by_task", "write_journal",
    "write_sealed", "written_words",
]  # fmt: skip
