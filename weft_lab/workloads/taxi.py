"""Taxi trips: skewed fares, distances with a long tail, and a day with a quiet morning (000-49, 000-52 Fig. 4).

Numbers follow New York's green cabs: distances are log-normal (mean of the logarithm 0.70, deviation 0.86 miles), the meter
starts at 3.00 and counts in steps of 0.70, so that few fares make up most trips; one trip in fifty goes at a flat fare.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["trips"]

_DAY = 86_400_000_000
_QUIET, _BUSY = 4.8, 19.2
"""Hours of the fewest and of the most requests: 04:48 and 19:12."""


def trips(rng: np.random.Generator, n: int, *, every: int | None = None) -> pa.Table:
    """Return `n` trips: id, t (microseconds), fare, distance.

    One trip starts `every` so many microseconds; None spreads them over a day as requests are.
    """
    distance = np.round(np.exp(rng.normal(0.70, 0.86, n)), 2)
    metered = 3.00 + 0.70 * np.ceil((3.5 * distance + rng.gamma(2.0, 1.4, n)) / 0.70)
    flat = rng.random(n) < 0.02
    fare = np.round(np.where(flat, 70.0, metered), 2)
    time = np.arange(n, dtype=np.int64) * every if every is not None else _times_of_day(rng, n)
    return pa.table({"id": np.arange(n), "t": time, "fare": fare, "distance": distance})


def _times_of_day(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw sorted times from a day whose rate is lowest at 04:48 and highest at 19:12."""
    hours = np.linspace(0, 24, 1441)
    # Half a cosine up from quiet to busy, half a cosine down: the two halves have different lengths.
    rise = (hours - _QUIET) / (_BUSY - _QUIET)
    fall = ((hours - _BUSY) % 24) / (24 - (_BUSY - _QUIET))
    rate = np.where(
        (hours >= _QUIET) & (hours <= _BUSY), 0.5 - 0.5 * np.cos(np.pi * rise), 0.5 + 0.5 * np.cos(np.pi * fall)
    )
    total = np.cumsum(0.1 + rate)
    drawn = np.interp(rng.random(n) * total[-1], total, hours) / 24
    return np.sort((drawn * _DAY).astype(np.int64))
