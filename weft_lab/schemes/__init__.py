"""Schemes that papers compare with, and that `auto` never picks. Installed beside Weft, they are found by their names.

`scheme="readj"`, or `weft_lab.schemes.Readj(sigma=0.01)`: Square, Dynamic and Readj of the A-DSP paper; BiStream's random
partitioning and ContRand; SAFit of FastJoin; CI, MCI and PIM of the STA paper; set covers and disjoint sets for documents.
They meet the same protocol as Weft's own and pass the same conformance tests. `SCHEMES` and `DOCUMENT_SCHEMES` are Weft's
registries, with these in them.
"""

from __future__ import annotations

from weft.routing import SCHEMES
from weft.routing.documents import DOCUMENT_SCHEMES
from weft_lab.schemes.chain import Chained, ChainPlan, Pim
from weft_lab.schemes.contrand import ContRand, Random
from weft_lab.schemes.document_baselines import Disjoint, Everywhere, SetCover, disjoint_groups, set_cover
from weft_lab.schemes.dynamic import Dynamic, advised
from weft_lab.schemes.readj import Readj, ReadjPlan, rebalanced
from weft_lab.schemes.safit import SaFit, sa_fit
from weft_lab.schemes.square import Square, square_shape

__all__ = [
    "DOCUMENT_SCHEMES", "SCHEMES", "ChainPlan", "Chained", "ContRand", "Disjoint", "Dynamic", "Everywhere", "Pim", "Random",
    "Readj", "ReadjPlan", "SaFit", "SetCover", "Square", "advised", "disjoint_groups", "rebalanced", "sa_fit", "set_cover",
    "square_shape",
]  # fmt: skip
