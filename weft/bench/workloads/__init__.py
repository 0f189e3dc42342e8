"""Streams to measure with: seeded, vectorised, shaped like what the papers describe."""

from __future__ import annotations

from weft.bench.workloads.drift import drifting_keys
from weft.bench.workloads.rides import ride_orders, ride_tracks
from weft.bench.workloads.zipf import zipf_group, zipf_keys, zipf_shares

__all__ = ["drifting_keys", "ride_orders", "ride_tracks", "zipf_group", "zipf_keys", "zipf_shares"]
