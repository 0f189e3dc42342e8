"""Schema-free documents: JSON text, maps and structs into coded attribute-value pairs."""

from __future__ import annotations

from weft.documents.coded import COLUMNS, Coded, Names, Spoken, names_of
from weft.documents.general import members_of
from weft.documents.read import DocumentReader, Read, check_documents, coded_members

__all__ = [
    "COLUMNS",
    "Coded",
    "DocumentReader",
    "Names",
    "Read",
    "Spoken",
    "check_documents",
    "coded_members",
    "members_of",
    "names_of",
]  # fmt: skip
