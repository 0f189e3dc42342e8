"""The one door to Numba: how kernels are compiled, which there are, what machine code is kept of them, and when it compiles.

A *variant* is a kernel compiled for certain types of its arguments. What Numba keeps it loads again only for the same source,
the same Numba and the same kind of processor; that is asked of Numba itself, with its own keys.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event as _event

from weft.kernels.code_cache import KernelCache, cache_folder

__all__ = ["KERNELS", "inlined", "kept_variants", "kernel", "told_of_compiling"]

P = ParamSpec("P")
R = TypeVar("R")

KERNELS: list[Any] = []
"""The kernels of every module that was imported."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, keep the machine code on disk, run without the GIL."""
    made = _kept(numba.njit(nogil=True)(function))
    KERNELS.append(made)
    return cast("Callable[P, R]", made)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Do as `kernel`, and put the body into each kernel that calls it.

    For parts of a loop that take many arrays: a call would count a reference to each of them, there and back.
    """
    return cast("Callable[P, R]", _kept(numba.njit(nogil=True, inline="always")(function)))


def _kept(made: Any) -> Any:
    """Let Numba keep the machine code of a kernel where we say (`weft.kernels.code_cache`)."""
    if cache_folder() is not None:
        made._cache = KernelCache(made.py_func)  # type: ignore[no-untyped-call]
    return made


def _kernels() -> dict[str, Any]:
    """Return every kernel of the package by its name."""
    package = import_module("weft.kernels")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    ours = (kernel for kernel in KERNELS if kernel.py_func.__module__.startswith(f"{package.__name__}."))
    return {_name(kernel): kernel for kernel in ours}  # the laboratory has kernels too


def _name(kernel: Any) -> str:
    function = kernel.py_func
    return f"{function.__module__}.{function.__qualname__}".removeprefix("weft.kernels.")


def kept_variants() -> dict[str, str]:
    """Return the file of every variant that would be loaded here instead of being compiled, by kernel and types."""
    found = {}
    kept = {name: kernel for name, kernel in _kernels().items() if isinstance(kernel._cache, KernelCache)}
    for name, kernel in kept.items():
        cache, codegen = kernel._cache, kernel.targetctx.codegen()
        for key, file in cache._cache_file._load_index().items():  # empty if of another source or another Numba
            types = blake2b(str(key[0]).encode(), digest_size=8).hexdigest()
            if key == cache._index_key(key[0], codegen):
                found[f"{name} {types}"] = str(cache._cache_file._data_path(file))
    return found


@contextmanager
def told_of_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell the name of each kernel when it begins to be compiled; one that is loaded is not told."""

    class Teller(_event.Listener):
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"] in KERNELS:  # and not a part of Numba's own
                tell(_name(event.data["dispatcher"]))

        def on_end(self, event: Any) -> None:
            pass

    with _event.install_listener("numba:compile", Teller()):
        yield
