"""The Python function behind a compiled kernel, with its type: kernels are tested both ways."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def plain(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return the kernel uncompiled."""
    return cast("Callable[P, R]", attrgetter("py_func")(kernel))
