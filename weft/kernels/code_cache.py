"""Where compiled kernels are kept, so that every process and every copy of the same source finds them.

Numba compares the time of the file that holds a kernel. That is too little: a kernel contains the kernels that it calls, and
those of another file may have changed. It is also too much: a second checkout or virtual environment of the same version
would compile everything again. Here machine code belongs to a digest of the source of all kernels.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

__all__ = ["KernelCache", "cache_folder"]

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
