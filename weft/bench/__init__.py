"""Benchmarks, each beside its peers, and the workloads they and the demo run on."""

from __future__ import annotations

__all__: list[str] = []
