"""Streams of the PIM-Tree paper's evaluation (002-26, 002-33): keys of a distribution, and the band that gives a match rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.types import Words

__all__ = ["DISTRIBUTIONS", "band_for", "drifting", "keys_of"]

SCALE = 1 << 36
"""Real values become integers by this factor; uniform ones spread over [0, SCALE)."""

DISTRIBUTIONS = ("uniform", "gaussian(0.5, 0.125)", "gamma(3, 3)", "gamma(1, 5)")


def _values(name: str, n: int, random: np.random.Generator) -> NDArray[np.float64]:
    if name == "uniform":
        return random.random(n)
    if name.startswith("gaussian"):
        return random.normal(0.5, 0.125, n)  # 002-32: the standard deviation, not the variance
    shape, scale = (3.0, 3.0) if "3, 3" in name else (1.0, 5.0)
    return random.gamma(shape, scale, n)


def keys_of(name: str, n: int, seed: int) -> Words:
    """Return n keys of a distribution."""
    return (_values(name, n, np.random.default_rng(seed)) * SCALE).astype(np.int64)


def drifting(n_still: int, n_moving: int, by: float, seed: int) -> Words:
    """Return a Gaussian stream that stands, moves by `by` linearly, and stands again (002-33)."""
    random = np.random.default_rng(seed)
    shift = np.concatenate([np.zeros(n_still), np.linspace(0, by, n_moving), np.full(n_still, by)])
    return ((random.normal(0.5, 0.125, len(shift)) + shift) * SCALE).astype(np.int64)


def band_for(keys: Words, window: int, rate: float = 2.0) -> int:
    """Return the band within which a tuple meets `rate` partners in a window of such keys, on average (002-26)."""
    sample = np.sort(keys[: 1 << 16])
    probes = sample[:: max(1, len(sample) // 2048)]
    wanted = rate * len(sample) / window
    low, high = 0, int(sample[-1] - sample[0]) + 1
    while low + 1 < high:
        middle = (low + high) // 2
        inside = np.searchsorted(sample, probes + middle, "right") - np.searchsorted(sample, probes - middle, "left")
        low, high = (low, middle) if float(inside.mean()) - 1 > wanted else (middle, high)  # without itself
    return low
