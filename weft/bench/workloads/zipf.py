"""Keys by Zipf's law: rank r is drawn with weight r**-z, and ranks are scattered over the key domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["zipf_counts", "zipf_keys"]


def zipf_keys(rows: int, domain: int, z: float, seed: int, *, scatter: int = 7) -> NDArray[np.int64]:
    """Draw `rows` keys of `0 .. domain - 1`. `scatter` seeds where the frequent keys lie; both sides share it.

    >>> bool(zipf_keys(5, 10, 0.0, seed=1).max() < 10)
    True
    """
    weights = np.arange(1, domain + 1, dtype=np.float64) ** -z
    ranks = np.searchsorted(np.cumsum(weights) / weights.sum(), np.random.default_rng(seed).random(rows))
    return np.random.default_rng(scatter).permutation(domain)[np.minimum(ranks, domain - 1)]


def zipf_counts(total: int, domain: int, z: float) -> NDArray[np.float64]:
    """Return the expected tuples of each rank."""
    weights = np.arange(1, domain + 1, dtype=np.float64) ** -z
    return np.asarray(total * weights / weights.sum())
