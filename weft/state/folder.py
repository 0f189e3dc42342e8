"""Where the state is: any path that `pyarrow.fs` opens, with whole-file reads and write-aside-and-rename.

The only place of Weft that touches files during a join. On a local disk files and folders are for nobody but their owner. What
cannot be written is told with the room that there is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs

from weft.errors import SpecError, StateError

__all__ = ["Folder", "forget", "fresh_file", "made_folder", "open_folder", "undeleted", "unread", "unwritten"]

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
            return sorted(self._names())
        except NotADirectoryError:
            return []
        except OSError as error:
            raise unread(self.path, error) from error

    def _names(self) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return [info.base_name for info in found]

    def read(self, name: str) -> pa.Buffer:
        """Return a whole file, memory-mapped where possible."""
        path = f"{self.path}/{name}"
        try:
            return self._read(path)
        except FileNotFoundError:
            raise StateError.of(
                f"{path} is missing.",
                "An earlier batch of this query wrote it, and the query needs it to continue.",
                "restore the state folder, or start from a new checkpoint to rebuild the state; "
                "inside foreachBatch, consume the whole DataFrame of every batch.",
            ) from None
        except OSError as error:
            if self.local and os.path.exists(path) and os.path.getsize(path) == 0:
                raise StateError.torn(path, "it is empty") from None
            raise unread(path, error) from error

    def _read(self, path: str) -> pa.Buffer:
        with pa.memory_map(path) if self.local else self.system.open_input_file(path) as file:
            return file.read_buffer()

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return self._type(f"{self.path}/{name}") != fs.FileType.NotFound

    def is_file(self) -> bool:
        """Tell whether there is a file where the folder should be."""
        return self._type(self.path) == fs.FileType.File

    def _type(self, path: str) -> fs.FileType:
        try:
            return self._look_up(path)
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
        path = f"{self.path}/{name}"
        try:
            self._delete(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise undeleted(path, error) from error

    def _delete(self, path: str) -> None:
        self.system.delete_file(path)

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
                "Weft persists the rows that can still match there.",
                "give state= a folder that the driver and every executor can write, such as 'file:///var/weft' or 'hdfs:///weft'.",
            ) from error


def open_folder(where: str) -> Folder:
    """Open a path or URI: `/var/weft`, `file:///var/weft`, `hdfs://…`, `s3://…`, `gs://…`.

    >>> open_folder("/tmp/weft").path
    '/tmp/weft'
    """
    try:
        if "\0" in where:
            raise ValueError("it contains a NUL character")  # noqa: TRY301  told with the others
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


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def made_folder(path: str) -> None:
    """Make a folder and those above it that are missing, mode 0700 whatever the umask; one that is there stays as it is."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        made_folder(above)
    with contextlib.suppress(FileExistsError):  # another task was faster, or it is a file: then writing says so
        os.mkdir(path, 0o700)


def fresh_file(path: str) -> int:
    """Make a file that was not there, mode 0600 whatever the umask, and return its handle."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def forget(path: str) -> None:
    """Delete what was written aside; if even that fails, the first error is the one to tell."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def unwritten(path: str, needed: int | None, error: OSError, local: bool) -> StateError:
    """Tell which file could not be written, how large it would be, and how much room there is."""
    why = _why(error)
    facts = [] if needed is None else [f"It takes {needed:,} bytes"]
    free = _free(os.path.dirname(path)) if local else None
    if free is not None:
        facts.append(f"{free:,} are free there" if facts else f"{free:,} bytes are free there")
    again = "then start the query again: it continues from the last finished batch."
    hint = "check the disk or service behind the state path, "
    if error.errno in _FULL:
        hint = "free some space, or move the state to a larger disk, "
    elif error.errno in _CLOSED:
        hint = "make the state path writable for the driver and every executor, "
    told = ", and ".join(facts) + ". " if facts else ""
    return StateError.of(
        f"{path} cannot be written: {why}.", f"{told}The state of the previous batch is intact.", hint + again
    )


def undeleted(path: str, error: OSError) -> StateError:
    """Tell which file could not be deleted."""
    return StateError.of(
        f"{path} cannot be deleted: {_why(error)}.",
        "No version that can still be read needs it.",
        "make the state path writable for the driver and every executor, then start the query again.",
    )


def unread(path: str, error: OSError) -> StateError:
    """Tell which file or folder could not be read or looked up."""
    return StateError.of(
        f"{path} cannot be read: {_why(error)}.",
        "Nothing was changed.",
        "check the disk or service behind the state path and its permissions, then start the query again.",
    )


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error).splitlines()[0].rstrip(".")


def _free(folder: str) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize
