"""Where the state is: a folder on some file system, with whole-file reads, and writes that nobody sees half done.

The only place of Weft that touches files during a join. This one writes aside and renames: local disks, shared mounts, HDFS.
Object stores have no rename (`weft.state.object_folder`). On a local disk files and folders are for nobody but their owner, and
are synced where they have to outlive a power cut. What cannot be written is told with the room that there is.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import fs
from typing_extensions import Self

from weft.errors import SpecError, StateError
from weft.state.failures import missing, patiently, undeleted, unread, unwritten

__all__ = ["DURABILITIES", "Care", "Folder", "forget", "fresh_file", "made_folder", "synced"]

DURABILITIES = ("process", "power")
"""What a finished batch outlives: the processes that wrote it, or also the power of their machine."""


@dataclass(frozen=True)
class Care:
    """What a user may set about the files of the state."""

    durability: str = "process"
    """`power` syncs every local file, and the folder that names it, before anybody goes by it."""
    patience: float = 60.0
    """Seconds for which a request that fails is made again."""
    cache: int = 8 << 30
    """Bytes of remote files that are kept on this machine."""

    @classmethod
    def of(cls, durability: str, cache: str) -> Care:
        """Read the settings as they stand in the session's conf."""
        if durability not in DURABILITIES:
            raise SpecError.of(
                f"spark.weft.durability is {durability!r}.",
                "It is 'process' (state outlives killed processes) or 'power' (it also outlives a power cut).",
                "leave it out for 'process'.",
            )
        if not (cache.isascii() and cache.isdigit()):
            raise SpecError.of(
                f"spark.weft.cache.bytes is {cache!r}.",
                "It is a number of bytes: how much of a remote state each machine may keep on its disk.",
                f"write '{cls.cache}', which is the default, or '0' for no copies.",
            )
        return cls(durability, cache=int(cache))


T = TypeVar("T")

_AT_ONCE = 16
"""Requests that a task has under way at a time."""


@dataclass(frozen=True)
class Folder:
    """A folder on some file system."""

    system: fs.FileSystem
    path: str
    care: Care = field(default_factory=Care, kw_only=True)

    def __truediv__(self, name: str) -> Self:
        made = object.__new__(type(self))  # `replace` takes ten times as long, and every file is asked for this way
        made.__dict__.update(self.__dict__, path=f"{self.path}/{name}")
        return made

    def __str__(self) -> str:
        return self.path

    @property
    def local(self) -> bool:
        """Tell whether files can be memory-mapped in place."""
        return isinstance(self.system, fs.LocalFileSystem)

    @property
    def packed(self) -> bool:
        """Tell whether each request counts, so that few and large files are to be written."""
        return False

    def where(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.path}/{name}"

    def names(self) -> list[str]:
        """Return the names of files and folders directly below, sorted; none if there is no such folder, or it is a file."""
        try:
            return sorted(self._patiently(self._names))
        except NotADirectoryError:
            return []
        except OSError as error:
            raise unread(self.path, error) from error

    def _names(self) -> list[str]:
        return [info.base_name for info in self._entries()]

    def entries(self) -> list[Any]:
        """Return what is directly below, by name, with sizes and times."""
        return sorted(self._patiently(self._entries), key=lambda info: str(info.base_name))

    def _entries(self) -> list[Any]:
        return list(self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True)))

    def info(self, name: str) -> Any:
        """Return type and size of a file."""
        return self._patiently(lambda: self.system.get_file_info(self.where(name)))

    def read(self, name: str) -> pa.Buffer:
        """Return a whole file, memory-mapped where possible."""
        found = self.find(name)
        if found is None:
            raise missing(self.where(name))
        return found

    def find(self, name: str) -> pa.Buffer | None:
        """Return a whole file, or None if there is none."""
        path = self.where(name)
        return self._got(path, lambda: self._read(path))

    def read_part(self, name: str, start: int, length: int) -> pa.Buffer:
        """Return a part of a file; less of it where the file ends early."""
        path = self.where(name)
        found = self._got(path, lambda: self._read_part(path, start, length))
        if found is None:
            raise missing(path)
        return found

    def _got(self, path: str, read: Callable[[], pa.Buffer]) -> pa.Buffer | None:
        try:
            return self._patiently(read)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if self.local and os.path.isfile(path) and os.path.getsize(path) == 0:
                raise StateError.torn(path, "it is empty") from None
            raise unread(path, error) from error

    def _read(self, path: str) -> pa.Buffer:
        with pa.memory_map(path) if self.local else self.system.open_input_file(path) as file:
            return file.read_buffer()

    def _read_part(self, path: str, start: int, length: int) -> pa.Buffer:
        with self.system.open_input_file(path) as file:
            there = max(0, min(length, file.size() - start))
            return pa.py_buffer(file.read_at(there, start) if there else b"")

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return self._type(self.where(name)) != fs.FileType.NotFound

    def is_file(self) -> bool:
        """Tell whether there is a file where the folder should be."""
        return self._type(self.path) == fs.FileType.File

    def _type(self, path: str) -> fs.FileType:
        try:
            return self._patiently(lambda: self._look_up(path))
        except OSError as error:
            raise unread(path, error) from error

    def _look_up(self, path: str) -> fs.FileType:
        return self.system.get_file_info(path).type

    def write(self, name: str, data: pa.Buffer | bytes) -> None:
        """Write aside, then rename: a reader sees the old file or the new one, never a part."""
        self._told(name, lambda: self._put(name, lambda aside: self._write(aside, data)), lambda: len(data))

    def _write(self, path: str, data: pa.Buffer | bytes) -> None:
        if self.local:
            with open(fresh_file(path), "wb") as file:
                file.write(memoryview(data))
            return
        with self.system.open_output_stream(path, buffer_size=None) as sink:
            sink.write(data)

    def write_through(self, name: str, fill: Callable[[pa.NativeFile], None]) -> pa.Buffer:
        """Write what `fill` writes, and return the content: straight to the disk here, through memory elsewhere."""
        if not self.local:
            memory = pa.BufferOutputStream()
            fill(memory)
            data = memory.getvalue()
            self.write(name, data)
            return data

        def through(aside: str) -> pa.Buffer:
            os.close(fresh_file(aside))
            with pa.OSFile(aside, "wb") as sink:
                fill(sink)
            with pa.memory_map(aside) as file:
                return file.read_buffer()

        return self._told(name, lambda: self._put(name, through), lambda: _size(fill))

    def _put(self, name: str, fill: Callable[[str], T]) -> T:
        """Let a file be written aside, with its folder where that is missing, and move it to its place; or leave nothing."""
        aside = f"{self.path}/.{name}.{os.getpid()}-{uuid.uuid4().hex[:8]}"
        lasting = self.local and self.care.durability == "power"
        try:
            try:
                done = fill(aside)
            except FileNotFoundError:
                self._make()
                done = fill(aside)
            if lasting:
                synced(aside)
            self.system.move(aside, self.where(name))
            if lasting:
                synced(self.path)
        except BaseException:
            self._forget(aside)
            raise
        return done

    def _told(self, name: str, put: Callable[[], T], size: Callable[[], int]) -> T:
        try:
            return self._patiently(put)
        except OSError as error:
            raise unwritten(self.where(name), size(), error, self.local) from error

    def _make(self) -> None:
        if self.local:
            made_folder(self.path, lasting=self.care.durability == "power")
        else:
            self.system.create_dir(self.path, recursive=True)

    def _forget(self, aside: str) -> None:
        if self.local:
            forget(aside)
            return
        with contextlib.suppress(OSError):
            self.system.delete_file(aside)

    def delete(self, name: str) -> None:
        """Delete a file; one that is already gone is fine (a retry collects the same garbage again)."""
        path = self.where(name)
        self._deleted(path, lambda: self._delete(path))

    def _delete(self, path: str) -> None:
        self.system.delete_file(path)

    def delete_all(self) -> None:
        """Delete the folder and what is in it; already gone is fine."""
        self._deleted(self.path, lambda: self.system.delete_dir(self.path))

    def _deleted(self, path: str, delete: Callable[[], None]) -> None:
        try:
            self._patiently(delete)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise undeleted(path, error) from error

    def _patiently(self, operation: Callable[[], T]) -> T:
        """Do something; what a service may do later is tried again. A disk here is no service."""
        return operation() if self.local else patiently(operation, self.care.patience)

    def together(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Make calls and return what they return: one after the other here, at once where each waits for a service."""
        each = list(calls)
        if self.local or len(each) < 2:
            return [call() for call in each]
        with ThreadPoolExecutor(min(len(each), _AT_ONCE)) as pool:
            return list(pool.map(lambda call: call(), each))

    def check_writable(self) -> None:
        """Raise when nothing can be written here."""
        probe = f".weft-probe-{uuid.uuid4().hex[:8]}"
        try:
            self._put(probe, lambda aside: self._write(aside, b"weft"))
            self.system.delete_file(self.where(probe))
        except OSError as error:
            raise SpecError.of(
                f"The state path {self.path} cannot be written: {error}.",
                "Weft persists the rows that can still match there.",
                "give state= a folder that the driver and every executor can write, such as 'file:///var/weft' or 'hdfs:///weft'.",
            ) from error


def _size(fill: Callable[[pa.NativeFile], None]) -> int:
    """Return how many bytes something would write."""
    sink = pa.MockOutputStream()
    fill(sink)
    return int(sink.size())


def made_folder(path: str, *, lasting: bool = False) -> None:
    """Make a folder and those above it that are missing, mode 0700 whatever the umask; one that is there stays as it is."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        made_folder(above, lasting=lasting)
    with contextlib.suppress(FileExistsError):  # another task was faster, or it is a file: then writing says so
        os.mkdir(path, 0o700)
    if lasting:
        synced(above)


def fresh_file(path: str) -> int:
    """Make a file that was not there, mode 0600 whatever the umask, and return its handle."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def forget(path: str) -> None:
    """Delete what was written aside; if even that fails, the first error is the one to tell."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def synced(path: str) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
