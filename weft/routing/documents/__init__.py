"""Partitions of schema-free documents: pairs to tasks, made from samples, kept good by a control loop."""

from __future__ import annotations

from weft.routing.documents.groups import (
    Group,
    Sample,
    association_groups,
    equivalence_groups,
    expansion_for,
    filled,
    merged_groups,
)
from weft.routing.documents.notes import DocumentView, document_measures, note_documents, noted_of
from weft.routing.documents.plan import DocumentPlan, Quality, gini, quality_of, tasks_of
from weft.routing.documents.scheme import DOCUMENT_SCHEMES, Association, Auto, DocumentScheme, document_scheme, worse

__all__ = [
    "DOCUMENT_SCHEMES", "Association", "Auto", "DocumentPlan", "DocumentScheme", "DocumentView", "Group", "Quality", "Sample",
    "association_groups", "document_measures", "document_scheme", "equivalence_groups", "expansion_for", "filled", "gini",
    "merged_groups", "note_documents", "noted_of", "quality_of", "tasks_of", "worse",
]  # fmt: skip
