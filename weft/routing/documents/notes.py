"""What a task notes about its batch of documents: counts, a sample, and the pairs that nobody owns. JSON of bounded size.

Each document is noted by exactly one of its tasks, drawn by the document's `u`, so samples are disjoint and counts add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.kernels.documents.routing_pairs import routing_pairs
from weft.routing.documents.plan import DocumentPlan, gini, tasks_of
from weft.routing.scheme import BatchView, Notes
from weft.types import SIDES, U32, Bools, Words

__all__ = [
    "DocumentView",
    "Documents",
    "Noted",
    "document_measures",
    "note_batch",
    "note_documents",
    "noted_of",
    "noting",
]

_PAIRS, _UNSEEN = 4_096, 512

LONGEST = 256
"""Longer names are not told to the control step, so their attributes are never expanded."""

Documents = tuple[Words, Words, Words]
"""Offsets, attribute words, pair words."""


@dataclass(frozen=True)
class Noted:
    """One task's notes.

    The documents that it notes, the tasks they went to, the documents that came; a sample, the strangers among them, and how
    often each unowned pair occurred.
    """

    documents: int
    sent: int
    arrived: int
    sample: Documents
    strange: Documents
    unseen: dict[int, int]
    names: dict[int, str] = field(default_factory=dict)
    """The quoted names of the sample's attributes."""


@dataclass(frozen=True)
class DocumentView(BatchView):
    """One task's batch of documents. `said` gives their words, left before right, and what names attributes by words."""

    said: Callable[[], tuple[Documents, Callable[[Words], dict[int, str]]]]


def note_batch(view: DocumentView, before: Mapping[str, Any]) -> Notes:
    """Return the notes of one task's batch, with the names of the attributes in its sample."""
    plan, (documents, names_of) = view.plan, view.said()
    assert isinstance(plan, DocumentPlan)
    some = [view.probed[side][-plan.width :] for side in SIDES if view.probed[side].shape[1]]
    bits = np.concatenate(some, axis=1) if some else np.zeros((plan.width, 0), np.int64)
    u = np.concatenate([view.draws[side] for side in SIDES])
    notes = note_documents(plan, view.task, documents, bits, u, before)
    if "sample" in notes:
        told = names_of(np.unique(np.array(notes["sample"][1], np.int64)))
        notes["names"] = [[word, name] for word, name in told.items() if len(name) <= LONGEST]
    return notes


def noting(plan: DocumentPlan, task: int, bits: Words, u: U32) -> Bools:
    """Tell which of the documents at a task it notes: of a document's tasks, the one that its draw names."""
    sent = tasks_of(bits, plan.tasks)
    count = np.maximum(sent.sum(axis=0), 1)
    return np.asarray(sent[:task].sum(axis=0) == u % count)


def note_documents(
    plan: DocumentPlan, task: int, documents: Documents, bits: Words, u: U32, before: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Return the notes of one batch; counts of unowned pairs go on from `before`."""
    if plan.tasks == 1:  # nothing to decide
        count = int((np.diff(documents[0]) > 0).sum())
        return {"documents": count, "sent": count, "load": count}
    mine = noting(plan, task, bits, u)
    offsets, attrs, pairs = _taken(documents, np.flatnonzero(mine))
    kept, strangers = list[tuple[int, int]](), np.zeros(0, np.int64)
    if (
        plan.pairs and not plan.spread
    ):  # before the first partitions everything is unseen; owners by hash need no update
        kept, strangers = _unowned(plan, (offsets, attrs, pairs), before)
    return {
        "documents": int(mine.sum()),
        "sent": int(tasks_of(bits, plan.tasks)[:, mine].sum()),
        "load": len(documents[0]) - 1,
        "sample": _written(_spread((offsets, attrs, pairs), np.arange(len(offsets) - 1))),
        "strange": _written(_spread((offsets, attrs, pairs), strangers)),
        "unseen": [list(item) for item in kept],
    }


def _unowned(
    plan: DocumentPlan, documents: Documents, before: Mapping[str, Any]
) -> tuple[list[tuple[int, int]], np.ndarray[Any, Any]]:  # fmt: skip
    """Return the most frequent pairs that nobody owns, with how often they came so far, and the documents that have them."""
    made, words, _ = routing_pairs(*documents, np.array(plan.expansion, np.int64), plan.alone)
    owned, known = np.isin(words, np.array(plan.pairs, np.int64)), set(plan.pairs)
    counts = {int(pair): count for pair, count in before.get("unseen", ()) if pair not in known}
    fresh, times = np.unique(words[~owned], return_counts=True)
    for pair, count in zip(fresh.tolist(), times.tolist(), strict=True):
        counts[pair] = counts.get(pair, 0) + count
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_UNSEEN]
    rows = np.repeat(np.arange(len(made) - 1), np.diff(made))
    often = np.isin(words, np.array([pair for pair, _ in kept], np.int64)) & ~owned
    return kept, np.unique(rows[often])


def noted_of(notes: Mapping[str, Any]) -> Noted:
    """Read notes back; a task that noted nothing counts for nothing."""
    nothing: list[list[int]] = [[], [], []]
    return Noted(
        notes.get("documents", 0), notes.get("sent", 0), notes.get("load", 0), _read(notes.get("sample", nothing)),
        _read(notes.get("strange", nothing)), {int(pair): int(count) for pair, count in notes.get("unseen", ())},
        {int(word): str(name) for word, name in notes.get("names", ())},
    )  # fmt: skip


def _taken(documents: Documents, rows: np.ndarray[Any, Any]) -> Documents:
    offsets, attrs, pairs = documents
    sizes = offsets[rows + 1] - offsets[rows]
    made = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    which = np.arange(made[-1]) + np.repeat(offsets[rows] - made[:-1], sizes)
    return made, attrs[which], pairs[which]


def _spread(documents: Documents, rows: np.ndarray[Any, Any]) -> Documents:
    """Return evenly spaced ones of the named documents, so many that their pairs stay within bounds; huge ones stay out."""
    sizes = documents[0][rows + 1] - documents[0][rows] if len(rows) else np.zeros(0, np.int64)
    stride = max(1, -(-int(sizes.sum()) // _PAIRS))
    picked, sizes = rows[::stride], sizes[::stride]
    picked, sizes = picked[sizes <= _PAIRS], sizes[sizes <= _PAIRS]
    return _taken(documents, picked[np.cumsum(sizes) <= 2 * _PAIRS])


def _written(documents: Documents) -> list[list[int]]:
    return [np.diff(documents[0]).tolist(), documents[1].tolist(), documents[2].tolist()]


def _read(written: list[list[int]]) -> Documents:
    sizes, attrs, pairs = (np.array(column, np.int64) for column in written)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), attrs, pairs


def document_measures(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up the metrics of all tasks of a batch.

    Replication, largest share of documents at one task, Gini coefficient of the tasks' loads, whether the plan changed,
    lines that were refused, and seconds for state, for building trees and for the pairs (the building is part of these).
    """
    noted = [m.get("notes", {}) for m in found]
    documents, loads = sum(n.get("documents", 0) for n in noted), [n.get("load", 0) for n in noted]
    seconds = [m.get("seconds", {}) for m in found]
    return {
        "documents": documents,
        "pairs": sum(m.get("pairs", 0) for m in found),
        "replication": sum(n.get("sent", 0) for n in noted) / max(documents, 1),
        "max load": max(loads, default=0) / max(documents, 1),
        "gini": gini(loads),
        "repartitioned": any(m.get("migrated") for m in found),
        "refused": sum(m.get("refused", 0) for m in found),
        "state seconds": sum(s.get("state", 0.0) for s in seconds),
        "build seconds": sum(s.get("build", 0.0) for s in seconds),
        "join seconds": sum(s.get("pairs", 0.0) for s in seconds),
    }
