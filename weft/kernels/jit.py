"""The one door to Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

__all__ = ["kernel"]

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, keep the machine code on disk, run without the GIL."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
