"""The one door to Numba: how kernels are compiled, which there are, what machine code is kept of them, and when it compiles.

A *variant* is a kernel compiled for certain types of its arguments. What Numba keeps it loads again only for the same source,
the same Numba and the same kind of processor; that is asked of Numba itself, with its own keys.

Machine code is kept where every process and every copy of the same source finds it. Numba compares the time of the file that
holds a kernel. That is too little: a kernel contains the kernels that it calls, and those of another file may have changed. It is
also too much: a second checkout or virtual environment of the same version would compile everything again. Here machine code
belongs to a digest of the source of all kernels.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event as _event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

__all__ = ["KERNELS", "KernelCache", "cache_folder", "inlined", "kept_variants", "kernel", "told_of_compiling"]

_HERE = Path(__file__).parent
_KEPT = 8
"""Digests whose machine code is kept; the one that was not used for longest goes first."""


@cache
def cache_folder() -> Path | None:
    """Return the folder of this source: below `NUMBA_CACHE_DIR`, in the user's cache, or beside the source.

    None where nothing can be written: then every process compiles for itself.
    """
    digest = _digest(_HERE)
    for root in _roots():
        folder = root / digest
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.utime(folder)  # it is in use
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            _forget_others(root)
            return folder
    return None


def _roots() -> Iterator[Path]:
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield Path(named) / "weft"
        return
    with contextlib.suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft" / "kernels"
    yield _HERE / "__pycache__" / "kernels"


def _digest(folder: Path) -> str:
    found = blake2b(digest_size=10)
    for file in sorted(folder.rglob("*.py")):
        found.update(f"{file.relative_to(folder)}\n{file.stat().st_size}\n".encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def _forget_others(root: Path) -> None:
    """Delete what older sources left behind."""
    with contextlib.suppress(OSError):  # another process may be at it too
        folders = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for folder in folders[:-_KEPT]:
            for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()


class _Locator(_CacheLocator):
    """Tells Numba where the machine code of one kernel is."""

    def __init__(self, function: Any, file: Path, folder: Path) -> None:
        self._py_file = str(file)  # Numba names it in warnings
        self._line = function.__code__.co_firstlineno
        inside = file.is_relative_to(_HERE)
        module = file.relative_to(_HERE).with_suffix("").as_posix() if inside else function.__module__
        self._stamp = "" if inside else _digest(file.parent)  # kernels of a laboratory call ours and each other
        self._path = folder / module.replace("/", ".")

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        folder = cache_folder()
        return None if folder is None else cls(function, Path(file).resolve(), folder)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Kept(CompileResultCacheImpl):
    _locator_classes: Any = (_Locator,)


class KernelCache(FunctionCache):
    """Keeps the machine code of one kernel; made only where there is a `cache_folder`."""

    _impl_class = _Kept


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
    """Let Numba keep the machine code of a kernel where we say (`weft.kernels.jit`)."""
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
