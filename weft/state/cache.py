"""Copies of remote files on this machine: a folder of ours alone, in the temporary folder that everybody shares.

Whoever may write there knows its name and can be first. So it is opened without following a link and asked whose it is, and
files are made, replaced and deleted only below that open folder, whatever its path has come to mean since.

Besides segments (`weft.state.contents`) it holds small sealed files that cannot change within a run of a query: plans, and
manifests of a known history. A run joins each batch once, and what a batch begins with was pinned before it. So whoever of this
machine has read a plan has read it for all tasks of the batch, and the manifest that a task wrote is what its next batch needs.
Another run may find others in their place; a program may give its runs names of its own, the same ones again, and those keep
nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from weft.errors import StateError
from weft.state.folder import Folder
from weft.state.ownership import is_spark_run
from weft.state.sealed import find_sealed, open_sealed, sealed

__all__ = ["Cache", "SealedFiles", "private_cache"]

_OURS = re.compile(r"([0-9a-f]{16}-\d+\.arrow|[0-9a-f]{32}\.json)(\.\d+-[0-9a-f]{8})?")
_UNUSED = 3600
"""Seconds after which a copy that nobody reads any more may go."""
_PATIENCE = 2.0
"""Seconds that one task waits for what another fetches."""


@dataclass(frozen=True)
class Cache:
    """The folder, open: its path for reading, its handle for everything that changes it."""

    path: str
    handle: int

    def mapped(self, name: str) -> pa.Buffer | None:
        """Return the content of a copy, None if there is none."""
        found = self._stat(name)
        if found is None or not found.st_size:
            return None
        try:
            with pa.memory_map(f"{self.path}/{name}") as file:
                return file.read_buffer()
        except FileNotFoundError:  # another task swept it away meanwhile: by its clock nobody had read it for long
            return None

    def touch(self, name: str) -> None:
        """Note that a copy is in use; when it was written stays known."""
        found = self._stat(name)
        if found is not None:
            with contextlib.suppress(FileNotFoundError):  # another task was faster
                os.utime(name, ns=(time.time_ns(), found.st_mtime_ns), dir_fd=self.handle, follow_symlinks=False)

    def keep(self, name: str, data: pa.Buffer | bytes) -> bool:
        """Write a copy aside and put it in its place. False: there is no room, and no copy."""
        aside = f"{name}.{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self.handle)
            with open(file, "wb") as sink:
                sink.write(memoryview(data))
            os.replace(aside, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except OSError:
            self._delete(aside)
            return False
        return True

    def sweep(self, most: int) -> None:
        """Delete copies that nobody has read for long, then those read longest ago, until they take at most `most` bytes.

        Only files of ours by name and kind go. What is mapped stays whole for whoever has mapped it.
        """
        named = ((name, self._stat(name)) for name in os.listdir(self.handle) if _OURS.fullmatch(name))
        copies = sorted(
            ((found.st_atime, found.st_size, name) for name, found in named if found is not None), reverse=True
        )
        unused, held = time.time() - _UNUSED, 0
        for read, size, name in copies:
            held += size
            if read < unused or held > most:
                self._delete(name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let others of this machine who ask for the same wait, but not for long: who holds it may wait for a service."""
        file = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self.handle)
        try:
            until = time.monotonic() + _PATIENCE
            while not _taken(file) and time.monotonic() < until:
                time.sleep(0.005)
            yield
        finally:
            os.close(file)

    def _delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def _stat(self, name: str) -> os.stat_result | None:
        """Return what is known of a plain file of ours, None if there is no such."""
        try:
            found = os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() else None


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def private_cache() -> Iterator[Cache]:
    """Open the folder on this machine where copies are kept; refuse one that another user may have had a hand in."""
    path = os.path.join(tempfile.gettempdir(), f"weft-cache-{os.geteuid()}")
    fresh = False
    try:
        os.mkdir(path, 0o700)
        fresh = True
    except FileExistsError:
        pass
    except OSError as error:
        raise _not_ours(path, f"it cannot be created, {error.strerror}") from None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        why = "it is a link" if os.path.islink(path) else f"it cannot be opened, {error.strerror}"
        raise _not_ours(path, why) from None
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid():
            raise _not_ours(path, f"it belongs to user {found.st_uid}")
        if fresh:  # whatever the umask took away
            os.fchmod(handle, 0o700)
        elif stat.S_IMODE(found.st_mode) != 0o700:
            raise _not_ours(path, f"its mode is {stat.S_IMODE(found.st_mode):04o}, not 0700")
        yield Cache(path, handle)
    finally:
        os.close(handle)


def _not_ours(path: str, why: str) -> StateError:
    return StateError.of(
        f"{path} is not private: {why}.",
        "Weft caches remote segments there, and other users could read or replace them.",
        "remove it, or give the workers a temporary folder of their own: TMPDIR=/var/tmp/me.",
    )


@dataclass(frozen=True)
class SealedFiles:
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
