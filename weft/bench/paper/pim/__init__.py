"""The figures of the PIM-Tree paper (002-34), measured: steps are timed, not modelled."""

from __future__ import annotations

from collections.abc import Callable

from weft.bench.paper.figure import Figure
from weft.bench.paper.pim import many_threads, one_thread, shape

__all__ = ["FIGURES"]

_ALL = {**one_thread.FIGURES, **many_threads.FIGURES, **shape.FIGURES}

FIGURES: dict[str, Callable[[float], Figure]] = {
    name: _ALL[name] for name in sorted(_ALL, key=lambda name: (int(name[:-1]), name[-1]))
}
"""Every figure by its number; called with a scale."""
