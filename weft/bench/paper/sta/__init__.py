"""The figures of the STA paper (5, 6, 11-35), sized for one machine; claims are held against their shapes (000-65)."""

from __future__ import annotations

from collections.abc import Callable

from weft.bench.paper.figure import Figure
from weft.bench.paper.sta.partition import figure_32, figure_33, figure_34, figure_35, figure_work
from weft.bench.paper.sta.predicates import figure_predicates
from weft.bench.paper.sta.study import figure_5, figure_6
from weft.bench.paper.sta.sweeps import SWEEPS
from weft.bench.paper.sta.zipf import ZIPFS

__all__ = ["FIGURES"]

FIGURES: dict[str, Callable[[float], Figure]] = {
    "5": figure_5,
    "6": figure_6,
    **SWEEPS,
    **ZIPFS,
    "32": figure_32,
    "33": figure_33,
    "34": figure_34,
    "35": figure_35,
    "predicates": figure_predicates,
    "work": figure_work,
}
"""Figures by their number in the paper; `predicates` and `work` are ours."""
