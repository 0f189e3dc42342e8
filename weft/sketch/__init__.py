"""Sketches: how often a key was seen, in a few kilobytes. Pure NumPy, JSON both ways, one sketch per file (Y04)."""

from __future__ import annotations

from weft.sketch.asketch import ASketch, heaviest
from weft.sketch.countmin import CountMin
from weft.sketch.spacesaving import SpaceSaving

__all__ = ["ASketch", "CountMin", "SpaceSaving", "heaviest"]
