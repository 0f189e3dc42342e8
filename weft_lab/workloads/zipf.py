"""Zipf-distributed keys: key of rank i has a share proportional to 1 / i**z; z = 0 is uniform."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["scattered_keys", "seeded_keys", "zipf_counts", "zipf_group", "zipf_keys", "zipf_shares"]


def zipf_shares(keys: int, z: float) -> NDArray[np.float64]:
    """Return the share of each of `keys` keys, by rank.

    >>> zipf_shares(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    weight = np.arange(1, keys + 1, dtype=np.float64) ** -z
    return weight / weight.sum()


def zipf_keys(rng: np.random.Generator, n: int, keys: int, z: float) -> NDArray[np.int64]:
    """Return `n` keys from 0 (the most frequent) to `keys` - 1, drawn independently.

    >>> zipf_keys(np.random.default_rng(1), 6, 100, 2.0).tolist()
    [0, 10, 0, 10, 0, 0]
    """
    if z == 0:
        return rng.integers(0, keys, n)
    total = np.cumsum(zipf_shares(keys, z))
    return np.minimum(np.searchsorted(total, rng.random(n), side="right"), keys - 1).astype(np.int64)


def scattered_keys(rng: np.random.Generator, n: int, keys: int, z: float) -> NDArray[np.int64]:
    """Return such keys with the popular ones scattered over the domain, not gathered at its low end (000-51)."""
    ranks = zipf_keys(rng, n, keys, z)
    return rng.permutation(keys)[ranks]


def seeded_keys(rows: int, domain: int, z: float, seed: int, *, scatter: int = 7) -> NDArray[np.int64]:
    """Draw such keys with a seed of their own; `scatter` seeds where the frequent keys lie, and both sides share it."""
    ranks = zipf_keys(np.random.default_rng(seed), rows, domain, z)
    return np.random.default_rng(scatter).permutation(domain)[ranks]


def zipf_counts(total: int, domain: int, z: float) -> NDArray[np.float64]:
    """Return the expected tuples of each rank."""
    return np.asarray(total * zipf_shares(domain, z))


def zipf_group(seed: int, n: int, keys: int, x: float, y: float) -> tuple[pa.Table, pa.Table]:
    """Return the streams of group Gxy of the FastJoin paper: `n` rows each, Zipf coefficient x left and y right (003-29).

    The paper names the size of one stream only; both have the same here. Ranks are given to keys at random, and to
    different ones on the two sides only where one side is uniform anyway: a hot key is hot on both sides.
    """
    rng = np.random.default_rng(seed)
    names = rng.permutation(keys)
    streams = [names[zipf_keys(rng, n, keys, z)] for z in (x, y)]
    left, right = (pa.table({"id": np.arange(n), "key": stream}) for stream in streams)
    return left, right
