"""Natural joins of schema-free documents: route, step, migrate, run by the same worker over the same state as every join."""

from __future__ import annotations

from weft.engine.natural.fp_trees import INDEX, TreeCache, tree_of
from weft.engine.natural.joiner import DocumentJoiner, migrate_documents
from weft.engine.natural.route import (
    DocumentRouter,
    code_documents,
    document_inputs,
    document_payload,
    either_way,
    light,
    natural_spec,
    whole,
)
from weft.engine.natural.step import as_times, as_typed, natural_step, result_schema

__all__ = [
    "INDEX", "DocumentJoiner", "DocumentRouter", "TreeCache", "as_times", "as_typed", "code_documents", "document_inputs",
    "document_payload", "either_way", "light", "migrate_documents", "natural_spec", "natural_step", "result_schema", "tree_of",
    "whole",
]  # fmt: skip
