"""Natural joins of schema-free documents: route, step, worker, over the same state as every other join."""

from __future__ import annotations

from weft.engine.natural.measures import document_measures
from weft.engine.natural.route import (
    DocumentRouter,
    document_inputs,
    document_payload,
    either_way,
    light,
    natural_spec,
    whole,
)
from weft.engine.natural.step import as_times, natural_step, result_schema
from weft.engine.natural.trees import Forest, tree_of
from weft.engine.natural.worker import INDEX, NaturalWorker, migrate_documents

__all__ = [
    "INDEX", "DocumentRouter", "Forest", "NaturalWorker", "as_times", "document_inputs", "document_measures",
    "document_payload", "either_way", "light",
    "migrate_documents", "natural_spec", "natural_step", "result_schema", "tree_of", "whole",
]  # fmt: skip
