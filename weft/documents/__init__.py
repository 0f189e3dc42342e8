"""Schema-free documents: JSON text, maps and structs into coded attribute-value pairs."""

from __future__ import annotations

from weft.documents.coded import COLUMNS, Coded
from weft.documents.columns import check_documents
from weft.documents.general import members_of
from weft.documents.names import Names, Spoken, names_of
from weft.documents.read import Read, Reader, coded_members

__all__ = [
    "COLUMNS", "Coded", "Names", "Read", "Reader", "Spoken", "check_documents", "coded_members", "members_of", "names_of",
]  # fmt: skip
