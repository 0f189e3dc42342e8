"""Which kernels there are, what machine code Numba keeps of them, and when it compiles.

A *variant* is a kernel compiled for certain types of its arguments. What Numba keeps it loads again only for the same source
file, the same Numba and the same kind of processor; that is asked of Numba itself, with its own keys.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib import import_module
from typing import Any

from numba.core import event as _event

from weft.kernels.jit import KERNELS

__all__ = ["cache_folder", "kept_variants", "told_of_compiling"]


def _kernels() -> dict[str, Any]:
    """Return every kernel of the package by its name."""
    package = import_module("weft.kernels")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return {_name(kernel): kernel for kernel in KERNELS}


def _name(kernel: Any) -> str:
    function = kernel.py_func
    return f"{function.__module__}.{function.__qualname__}".removeprefix("weft.kernels.")


def kept_variants() -> dict[str, str]:
    """Return the file of every variant that would be loaded here instead of being compiled, by kernel and types."""
    found = {}
    for name, kernel in _kernels().items():
        cache, codegen = kernel._cache, kernel.targetctx.codegen()
        for key, file in cache._cache_file._load_index().items():  # empty if of another source or another Numba
            types = blake2b(str(key[0]).encode(), digest_size=8).hexdigest()
            if key == cache._index_key(key[0], codegen):
                found[f"{name} {types}"] = str(cache._cache_file._data_path(file))
    return found


def cache_folder() -> str:
    """Return where Numba keeps machine code: in `NUMBA_CACHE_DIR`, beside the source, or in the user's cache."""
    return str(_kernels()["checksum._lanes"].stats.cache_path)


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
