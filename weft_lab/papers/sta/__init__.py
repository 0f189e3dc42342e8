"""The figures of the STA paper (5, 6, 11-35), sized for one machine; claims are held against their shapes (000-65)."""

from __future__ import annotations

from collections.abc import Callable

from weft_lab.papers.figure import Figure
from weft_lab.papers.sta.partition import figure_32, figure_33, figure_34, figure_35, figure_work
from weft_lab.papers.sta.predicates import figure_predicates
from weft_lab.papers.sta.study import figure_5, figure_6
from weft_lab.papers.sta.sweeps import SWEEPS
from weft_lab.papers.sta.zipf import ZIPFS

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
