"""Partitions of schema-free documents: pairs to tasks, made from samples, kept good by a control loop."""

from __future__ import annotations

from weft.routing.documents.groups import association_groups, equivalence_groups, filled, merged_groups
from weft.routing.documents.notes import note_documents, noted_of
from weft.routing.documents.others import disjoint_groups, set_cover
from weft.routing.documents.plan import DocumentPlan, Quality, gini, quality_of, tasks_of
from weft.routing.documents.sample import Sample, expansion_for
from weft.routing.documents.schemes import (
    DOCUMENT_SCHEMES,
    Association,
    Auto,
    Disjoint,
    DocumentScheme,
    Everywhere,
    SetCover,
    document_scheme,
    worse,
)

__all__ = [
    "DOCUMENT_SCHEMES", "Association", "Auto", "Disjoint", "DocumentPlan", "DocumentScheme", "Everywhere", "Quality",
    "Sample", "SetCover", "association_groups", "disjoint_groups", "document_scheme", "equivalence_groups",
    "expansion_for", "filled", "gini", "merged_groups", "note_documents", "noted_of", "quality_of", "set_cover",
    "tasks_of", "worse",
]  # fmt: skip
