"""Streams to measure with: seeded, vectorised, shaped like what the papers describe."""

from __future__ import annotations

from weft.bench.workloads.drift import drifting_keys
from weft.bench.workloads.electric import readings
from weft.bench.workloads.rides import ride_orders, ride_tracks
from weft.bench.workloads.taxi import trips
from weft.bench.workloads.zipf import scattered_keys, zipf_group, zipf_keys, zipf_shares

__all__ = [
    "drifting_keys", "readings", "ride_orders", "ride_tracks", "scattered_keys", "trips", "zipf_group", "zipf_keys",
    "zipf_shares",
]  # fmt: skip
