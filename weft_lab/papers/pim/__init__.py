"""The figures of the PIM-Tree paper (002-34), measured: steps are timed, not modelled."""

from __future__ import annotations

from collections.abc import Callable

from weft_lab.papers.figure import Figure
from weft_lab.papers.pim import many_threads, one_thread, shape, speed

__all__ = ["FIGURES"]

_PAPER = {**one_thread.FIGURES, **many_threads.FIGURES, **shape.FIGURES}

FIGURES: dict[str, Callable[[float], Figure]] = {
    **{name: _PAPER[name] for name in sorted(_PAPER, key=lambda name: (int(name[:-1]), name[-1]))},
    **speed.FIGURES,
}
"""Every figure of the paper by its number, then our own; called with a scale."""
