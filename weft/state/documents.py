"""Small documents that cannot change within a run of a query, kept on this machine: plans, and manifests of a known history.

A run joins each batch once, and what a batch begins with was pinned before it. So whoever of this machine has read a plan
has read it for all tasks of the batch, and the manifest that a task wrote is what its next batch needs. Another run may find
others in their place; a program may give its runs names of its own, the same ones again, and those keep nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from weft.errors import StateError
from weft.state.cache import private_cache
from weft.state.folder import Folder
from weft.state.ownership import is_spark_run
from weft.state.sealed import find_sealed, open_sealed, sealed

__all__ = ["Documents"]


@dataclass(frozen=True)
class Documents:
    """Reads and writes sealed files; those of a run of Spark's on a store where requests count are kept."""

    run: str = ""

    def _kept(self, folder: Folder) -> bool:
        return folder.packed and bool(folder.care.cache) and is_spark_run(self.run)

    def find(self, folder: Folder, name: str, mark: str = "", *, shared: bool = False) -> dict[str, Any] | None:
        """Return the body of a document, or None if there is none.

        `mark` is what it must say its history is to be kept, and found again. What all tasks of a machine ask for at once is
        `shared`: one of them fetches it, the others wait.
        """
        if not self._kept(folder) or not (mark or shared):
            found = find_sealed(folder, name)
            return None if found is None else found[0]
        key = self._key(folder, name, mark)
        known = self._known(folder, key, name)
        if known is not None:
            return known
        with _one_at_a_time() if shared else _all_at_once():
            known = self._known(folder, key, name) if shared else None
            if known is not None:
                return known
            found = find_sealed(folder, name)
            if found is None:
                return None
            body, raw = found
            if not mark or body.get("history") == mark:
                self._keep(folder, key, raw)
        return body

    def write(self, folder: Folder, name: str, body: dict[str, Any], mark: str = "") -> None:
        """Write a document; with `mark`, its history, the next batch finds it here."""
        raw = sealed(body)
        folder.write(name, raw)
        if mark and self._kept(folder):
            self._keep(folder, self._key(folder, name, mark), raw)

    def _key(self, folder: Folder, name: str, mark: str) -> str:
        told = "\n".join((self.run, folder.where(name), mark))
        return f"{hashlib.sha256(told.encode()).hexdigest()[:32]}.json"

    def _known(self, folder: Folder, key: str, name: str) -> dict[str, Any] | None:
        with private_cache() as cache:
            raw = cache.mapped(key)
        try:
            return None if raw is None else open_sealed(raw.to_pybytes(), folder.where(name))
        except StateError:  # the copy is damaged; the document may not be
            return None

    def _keep(self, folder: Folder, key: str, raw: bytes) -> None:
        with private_cache() as cache:
            if cache.keep(key, raw):
                cache.sweep(folder.care.cache)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with private_cache() as cache, cache.locked():
        yield


@contextmanager
def _all_at_once() -> Iterator[None]:
    yield
