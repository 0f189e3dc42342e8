"""The figures of the papers, measured here: what was claimed, what we saw, and whether the shape is the same."""

from __future__ import annotations

from weft_lab.papers.figure import Figure, publish

__all__ = ["SYSTEMS", "Figure", "publish"]

SYSTEMS: dict[str, str] = {name: f"weft_lab.papers.{name}" for name in ("pim", "fastjoin", "adsp", "sta", "json")}
"""Systems by name; each is a module with `FIGURES: dict[str, Callable[[float], Figure]]`, called with a scale (1 = minutes)."""
