"""The one door to Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

__all__ = ["KERNELS", "inlined", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

KERNELS: list[Any] = []
"""The kernels of every module that was imported."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, keep the machine code on disk, run without the GIL."""
    made = numba.njit(cache=True, nogil=True)(function)
    KERNELS.append(made)
    return cast("Callable[P, R]", made)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Do as `kernel`, and put the body into each kernel that calls it.

    For parts of a loop that take many arrays: a call would count a reference to each of them, there and back.
    """
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, inline="always")(function))
