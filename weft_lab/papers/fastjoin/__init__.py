"""The figures of the FastJoin paper (003-30) as sized experiments on the local runtime.

References
----------
[^1]: Zhou, Zhang, Chen, Jin, Zhou. FastJoin: A Skewness-Aware Distributed Stream Join System. IPDPS 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weft_lab.papers.fastjoin.auto import figure_auto
from weft_lab.papers.fastjoin.over_time import figure_1a, figure_1c, figure_3, figure_4, figure_11
from weft_lab.papers.fastjoin.seconds import figure_5_seconds, figure_9_seconds, figure_12_seconds
from weft_lab.papers.fastjoin.selection import figure_14, figure_14_optimum
from weft_lab.papers.fastjoin.sweeps import (
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_12,
    figure_13,
)
from weft_lab.papers.figure import Figure

__all__ = ["FIGURES"]


def _marked(make: Callable[[float], Figure], how: str) -> Callable[[float], Figure]:
    """Say in the title how a figure came about."""

    def made(scale: float) -> Figure:
        figure = make(scale)
        return replace(figure, title=f"{figure.title}, {how}")

    return made


_DRAWN = {"1a": figure_1a}
_COUNTED = {
    "1c": figure_1c, "3": figure_3, "4": figure_4, "5": figure_5, "6": figure_6, "7": figure_7, "8": figure_8,
    "9": figure_9, "10": figure_10, "11": figure_11, "12": figure_12, "13": figure_13, "14": figure_14,
    "14b": figure_14_optimum, "auto": figure_auto,
}  # fmt: skip
_TIMED = {"5s": figure_5_seconds, "9s": figure_9_seconds, "12s": figure_12_seconds}

FIGURES: dict[str, Callable[[float], Figure]] = {
    **{name: _marked(make, "as generated") for name, make in _DRAWN.items()},
    **{name: _marked(make, "counted by the load model") for name, make in _COUNTED.items()},
    **{name: _marked(make, "measured by the clock") for name, make in _TIMED.items()},
}
"""Figures by name; runs are shared, so all of them together take little longer than the longest sweeps."""
