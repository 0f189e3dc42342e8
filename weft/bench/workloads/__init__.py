"""Seeded, vectorised streams that the benchmarks run on."""

from __future__ import annotations

from weft.bench.workloads.electric import readings
from weft.bench.workloads.skewed import zipf_keys
from weft.bench.workloads.taxi import trips

__all__ = ["readings", "trips", "zipf_keys"]
