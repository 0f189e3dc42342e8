"""Electrical readings: voltage and current of a circuit, as an analogue-to-digital converter gives them (000-50, Fig. 3).

The voltage is a mains sine with noise; the current follows it with an amplitude that jumps between loads of a heavy-tailed
size. Rounded to the converter's steps both have few frequent values and a long tail of rare ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["readings"]

_MAINS, _RATE = 50.0, 6_400.0
"""Hertz of the sine, and readings a second of the circuit (not of the stream's clock)."""

_VOLT, _AMPERE = 0.5, 0.02
"""Steps of the converter."""


def readings(rng: np.random.Generator, n: int, *, every: int) -> pa.Table:
    """Return `n` readings: id, t (one `every` so many microseconds), v, i."""
    angle = 2 * np.pi * _MAINS / _RATE * np.arange(n) + rng.uniform(0, 2 * np.pi)
    voltage = 325 * np.sin(angle) + rng.normal(0, 2.0, n)
    load = rng.pareto(1.5, max(1, n // 500) + 1) + 0.05  # appliances come and go
    size = np.repeat(load, 500)[:n] if len(load) * 500 >= n else np.resize(load, n)
    current = size * np.sin(angle - 0.3) * (rng.random(n) < 0.7) + rng.normal(0, 0.01, n)
    return pa.table(
        {
            "id": np.arange(n),
            "t": np.arange(n, dtype=np.int64) * every,
            "v": np.round(voltage / _VOLT) * _VOLT,
            "i": np.round(np.round(current / _AMPERE) * _AMPERE, 4),
        }
    )
