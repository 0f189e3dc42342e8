"""Joins that only figures need: the yardsticks and baselines of the papers, tuple at a time."""

from __future__ import annotations

__all__: list[str] = []
