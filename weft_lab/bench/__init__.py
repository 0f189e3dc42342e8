"""Benchmarks, each beside its peers; `weft_lab.cli.bench` runs them."""

from __future__ import annotations

__all__: list[str] = []
