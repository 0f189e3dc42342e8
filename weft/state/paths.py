"""Where the state is: any path that `pyarrow.fs` opens, with whole-file reads and write-aside-and-rename.

The only place of Weft that touches files during a join.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs

from weft.errors import SpecError, StateError
from weft.state.disk import forget, fresh_file, made_folder, undeleted, unwritten

__all__ = ["Folder", "open_folder"]

T = TypeVar("T")


@dataclass(frozen=True)
class Folder:
    """A folder on some file system."""

    system: fs.FileSystem
    path: str

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.system, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    @property
    def local(self) -> bool:
        """Tell whether files can be memory-mapped in place."""
        return isinstance(self.system, fs.LocalFileSystem)

    def names(self) -> list[str]:
        """Return the names of files and folders directly below, sorted; none if there is no such folder, or it is a file."""
        try:
            found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        except NotADirectoryError:
            return []
        return sorted(info.base_name for info in found)

    def read(self, name: str) -> pa.Buffer:
        """Return a whole file, memory-mapped where possible."""
        path = f"{self.path}/{name}"
        try:
            if self.local:
                with pa.memory_map(path) as file:
                    return file.read_buffer()
            with self.system.open_input_file(path) as file:
                return file.read_buffer()
        except FileNotFoundError:
            raise StateError.of(
                f"{path} is missing.",
                "It was written by an earlier batch of this query and is needed to go on.",
                "restore the state folder, or start from a new checkpoint to build the state anew; "
                "inside foreachBatch, consume the whole DataFrame of every batch.",
            ) from None
        except OSError as error:
            if self.local and os.path.exists(path) and os.path.getsize(path) == 0:
                raise StateError.torn(path, "it is empty") from None
            raise StateError.of(
                f"{path} cannot be read: {error}.", "", "check the state path and its permissions."
            ) from error

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return bool(self.system.get_file_info(f"{self.path}/{name}").type != fs.FileType.NotFound)

    def is_file(self) -> bool:
        """Tell whether there is a file where the folder should be."""
        return bool(self.system.get_file_info(self.path).type == fs.FileType.File)

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
        try:
            try:
                done = fill(aside)
            except FileNotFoundError:
                self._make()
                done = fill(aside)
            self.system.move(aside, f"{self.path}/{name}")
        except BaseException:
            self._forget(aside)
            raise
        return done

    def _told(self, name: str, put: Callable[[], T], size: Callable[[], int]) -> T:
        try:
            return put()
        except OSError as error:
            raise unwritten(f"{self.path}/{name}", size(), error, self.local) from error

    def _make(self) -> None:
        if self.local:
            made_folder(self.path)
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
        try:
            self.system.delete_file(f"{self.path}/{name}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise undeleted(f"{self.path}/{name}", error) from error

    def delete_all(self) -> None:
        """Delete the folder and what is in it; already gone is fine."""
        try:
            self.system.delete_dir(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise undeleted(self.path, error) from error

    def check_writable(self) -> None:
        """Raise when nothing can be written here."""
        probe = f".weft-probe-{uuid.uuid4().hex[:8]}"
        try:
            self._put(probe, lambda aside: self._write(aside, b"weft"))
            self.system.delete_file(f"{self.path}/{probe}")
        except OSError as error:
            raise SpecError.of(
                f"The state path {self.path} cannot be written: {error}.",
                "Weft keeps the rows that may still find partners there.",
                "give state= a folder that the driver and every executor can write, such as 'file:///var/weft' or 'hdfs:///weft'.",
            ) from error


def open_folder(where: str) -> Folder:
    """Open a path or URI: `/var/weft`, `file:///var/weft`, `hdfs://…`, `s3://…`, `gs://…`.

    >>> open_folder("/tmp/weft").path
    '/tmp/weft'
    """
    try:
        if "\0" in where:
            raise ValueError("it holds a NUL character")  # noqa: TRY301  told with the others
        if "://" not in where and not where.startswith("file:"):
            return Folder(fs.LocalFileSystem(), str(Path(os.path.expanduser(where)).absolute()))
        if where.startswith("file:") and not where.startswith("file://"):
            where = "file://" + where.removeprefix("file:")
        system, path = fs.FileSystem.from_uri(where)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise SpecError.of(
            f"The state path {where!r} cannot be opened: {str(error).splitlines()[0].rstrip('.')}.",
            "Weft opens local paths and the file systems of pyarrow.fs: file, hdfs, s3, gs, abfs.",
            "write state='file:///var/weft'.",
        ) from error
    return Folder(system, path.rstrip("/"))


def _size(fill: Callable[[pa.NativeFile], None]) -> int:
    """Return how many bytes something would write."""
    sink = pa.MockOutputStream()
    fill(sink)
    return int(sink.size())
