"""JSON documents in arrays: read from bytes, coded, ranked, searched in an FP-tree, united."""

from __future__ import annotations

from weft.kernels.documents.attributes import AttributeOrder, Ranked, codes_of, ranked, taken, translated
from weft.kernels.documents.fptree import FPTree, build_tree, count_partners, find_partners
from weft.kernels.documents.json_scan import Scanned, member_words, scan
from weft.kernels.documents.routing_pairs import routed, routing_pairs
from weft.kernels.documents.unite import Composed, compose

__all__ = [
    "AttributeOrder", "Composed", "FPTree", "Ranked", "Scanned", "build_tree", "codes_of", "compose", "count_partners",
    "find_partners", "member_words", "ranked", "routed", "routing_pairs", "scan", "taken", "translated",
]  # fmt: skip
