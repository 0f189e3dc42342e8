"""The Spark queries that the benchmarks time; the only pyspark of the laboratory's benchmarks."""

from __future__ import annotations

__all__: list[str] = []
