"""Keys whose popularity moves: the hot ones of now are not the hot ones of later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft_lab.workloads.zipf import zipf_keys

__all__ = ["drifting_keys"]


def drifting_keys(
    rng: np.random.Generator, n: int, keys: int, z: float, batches: int, step: float
) -> list[NDArray[np.int64]]:
    """Return `batches` arrays of `n` Zipf keys; the hottest key is number 0 at first and moves up by `step` a batch.

    >>> first, last = drifting_keys(np.random.default_rng(1), 1000, 50, 2.0, batches=2, step=5)
    >>> int(np.bincount(first).argmax()), int(np.bincount(last).argmax())
    (0, 5)
    """
    return [(zipf_keys(rng, n, keys, z) + int(batch * step)) % keys for batch in range(batches)]
