"""Which rows of a run have found a partner, as it stands in a manifest: a bit per row, compressed, as text.

Segments never change, but what their rows have found does. So it is written with every batch, and not into the segments.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

import numpy as np

from weft.errors import StateError
from weft.index import Run

__all__ = ["flagged", "packed_flags"]


def packed_flags(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the flags of each run, "" where no row has found a partner."""
    return tuple(_packed(run) for run in runs)


def _packed(run: Run) -> str:
    matched = run.compacted().matched  # as the rows stand in the segment
    if not bool(matched.any()):
        return ""
    return b64encode(zlib.compress(np.packbits(matched).tobytes(), 1)).decode()


def flagged(run: Run, text: str, where: str) -> Run:
    """Return a run with its flags; `where` is the file that has them."""
    if not text:
        return run
    try:
        bits = np.frombuffer(zlib.decompress(b64decode(text, validate=True)), np.uint8)
    except (ValueError, zlib.error):
        bits = np.zeros(0, np.uint8)
    if len(bits) != -(-run.rows // 8):
        raise StateError.torn(where, f"the flags of {run.segment} are not those of its {run.rows} rows")
    return run.flagged(np.unpackbits(bits, count=run.rows).astype(np.bool_))
