"""Keys whose k-th most frequent one occurs in proportion to 1 / k**z, for any z from 0 on (000-51)."""

from __future__ import annotations

import numpy as np

from weft.types import Words

__all__ = ["zipf_keys"]


def zipf_keys(rng: np.random.Generator, n: int, keys: int, z: float) -> Words:
    """Draw `n` keys of [0, keys); popular ones are scattered over the domain, not gathered at its low end."""
    total = np.cumsum(1.0 / np.arange(1, keys + 1) ** z)
    rank = np.searchsorted(total, rng.random(n) * total[-1], side="right")
    return rng.permutation(keys)[np.minimum(rank, keys - 1)].astype(np.int64)
