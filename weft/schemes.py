"""Routing schemes to configure: `weft.join(..., scheme=weft.schemes.FastJoin(threshold=1.3))`.

A scheme decides which tasks store a row and which tasks the row probes. `scheme="auto"` picks one; a name with settings,
`scheme="fastjoin(threshold=1.3)"`, means the same as an object from this module. `weft-lab`, where it is installed, brings more.
"""

from __future__ import annotations

from weft.routing import Adsp, Biclique, Broadcast, FastJoin, Hash, Matrix, Ordered, Range, Slices, Split, Sta
from weft.routing.documents import Association

__all__ = [
    "Adsp", "Association", "Biclique", "Broadcast", "FastJoin", "Hash", "Matrix", "Ordered", "Range", "Slices", "Split", "Sta",
]  # fmt: skip
