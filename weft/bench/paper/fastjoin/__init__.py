"""The figures of the FastJoin paper (003-30) as sized experiments on the local runtime.

References
----------
[^1]: Zhou, Zhang, Chen, Jin, Zhou. FastJoin: A Skewness-Aware Distributed Stream Join System. IPDPS 2019.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.bench.paper.fastjoin.auto import figure_auto
from weft.bench.paper.fastjoin.over_time import figure_1a, figure_1c, figure_3, figure_4, figure_11
from weft.bench.paper.fastjoin.selection import figure_14, figure_14_optimum
from weft.bench.paper.fastjoin.sweeps import (
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_12,
    figure_13,
)
from weft.bench.paper.figure import Figure

__all__ = ["FIGURES"]

FIGURES: dict[str, Callable[[float], Figure]] = {
    "1a": figure_1a, "1c": figure_1c, "3": figure_3, "4": figure_4, "5": figure_5, "6": figure_6, "7": figure_7,
    "8": figure_8, "9": figure_9, "10": figure_10, "11": figure_11, "12": figure_12, "13": figure_13, "14": figure_14,
    "14b": figure_14_optimum, "auto": figure_auto,
}  # fmt: skip
"""Figures by name; runs are shared, so all of them together take little longer than the longest sweeps."""
