"""Feeds that stand in for the papers' private data: posts by date, and prices.

The Weibo posts of 001-46 are not public. What the query `abs(date - date) <= ds` sees of them is how many posts fall on a
day: here a weekly rhythm with a few bursts, in any order of arrival ("we disrupt the time series").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["feed_dates", "stock_prices"]


def feed_dates(rows: int, days: int, seed: int, *, bursts: int = 3) -> NDArray[np.int64]:
    """Draw the days of posts: five weekdays, quieter weekends, and bursts of ten times a normal day."""
    weights = np.where(np.arange(days) % 7 < 5, 1.0, 0.6)
    weights[np.random.default_rng(11).choice(days, min(bursts, days), replace=False)] *= 10
    return np.random.default_rng(seed).choice(days, rows, p=weights / weights.sum()).astype(np.int64)


def stock_prices(rows: int, seed: int, *, spread: float = 200.0) -> NDArray[np.int64]:
    """Draw prices in cents: a slow random walk with a fast one around it, as trades around a moving price."""
    draw = np.random.default_rng(seed)
    slow = 10_000 + np.cumsum(draw.normal(0, 1.0, rows))
    return np.asarray(np.rint(slow + draw.normal(0, spread, rows)), np.int64)
