"""What one batch of documents cost, from what its tasks report (004-34)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.routing.documents import gini

__all__ = ["document_measures"]


def document_measures(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up the metrics of all tasks of a batch.

    Replication, largest share of documents at one task, Gini coefficient of the tasks' loads, whether the plan changed,
    lines that were refused, and seconds for state, for building trees and for the pairs (the building is part of these).
    """
    documents, loads = sum(m.get("documents", 0) for m in found), [m.get("load", 0) for m in found]
    seconds = [m.get("seconds", {}) for m in found]
    return {
        "documents": documents,
        "pairs": sum(m.get("pairs", 0) for m in found),
        "replication": sum(m.get("sent", 0) for m in found) / max(documents, 1),
        "max load": max(loads, default=0) / max(documents, 1),
        "gini": gini(loads),
        "repartitioned": any(m.get("migrated") for m in found),
        "refused": sum(m.get("refused", 0) for m in found),
        "state seconds": sum(s.get("state", 0.0) for s in seconds),
        "build seconds": sum(s.get("build", 0.0) for s in seconds),
        "join seconds": sum(s.get("pairs", 0.0) for s in seconds),
    }
