"""A folder on an object store, where there is no rename, and each request takes as long as a network does.

An object is written by one request and is there as a whole or not at all, so it is written in its place. Folders need not be
made. Deleting costs as many requests as objects, but for whole folders: so objects of a hundred batches lie in a folder of
their own (`100-199/150.json`), which goes when nothing in it is needed any more. Whoever asks for `150.json` need not know. Weft
0.1 wrote them one beside the other; they are found there too.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import fs

from weft.errors import SpecError
from weft.state.failures import unread
from weft.state.folder import Folder

__all__ = ["ObjectFolder", "range_of"]

T = TypeVar("T")

GROUP = 100
"""Batches whose objects lie in one folder, and go together."""

_NUMBERED = re.compile(r"(\d+)[-.]")
_RANGE = re.compile(r"\d+-(\d+)")


def range_of(batch: int) -> str:
    """Return the name of the folder of a batch.

    >>> range_of(7), range_of(123)
    ('0-99', '100-199')
    """
    first = batch // GROUP * GROUP
    return f"{first}-{first + GROUP - 1}"


@dataclass(frozen=True)
class ObjectFolder(Folder):
    """A prefix of keys."""

    @property
    def local(self) -> bool:
        return False

    @property
    def packed(self) -> bool:
        return True

    def where(self, name: str) -> str:
        found = _NUMBERED.match(name)
        if found is None:
            return f"{self.path}/{name}"
        return f"{self.path}/{range_of(int(found[1]))}/{name}"

    def _before(self, path: str) -> str:
        """Return where Weft 0.1 would have written a file, "" if that is the same path."""
        above, _, name = path.rpartition("/")
        folder, _, last = above.rpartition("/")
        return f"{folder}/{name}" if _NUMBERED.match(name) and _RANGE.fullmatch(last) else ""

    def _read(self, path: str) -> pa.Buffer:
        return self._or_before(super()._read, path)

    def _read_part(self, path: str, start: int, length: int) -> pa.Buffer:
        return self._or_before(lambda where: Folder._read_part(self, where, start, length), path)

    def _or_before(self, read: Callable[[str], pa.Buffer], path: str) -> pa.Buffer:
        try:
            return read(path)
        except FileNotFoundError:
            before = self._before(path)
            if not before:
                raise
            return read(before)

    def _look_up(self, path: str) -> fs.FileType:
        found, before = super()._look_up(path), self._before(path)
        return super()._look_up(before) if found == fs.FileType.NotFound and before else found

    def info(self, name: str) -> Any:
        found, before = super().info(name), self._before(self.where(name))
        if found.type == fs.FileType.NotFound and before:
            return self._patiently(lambda: self.system.get_file_info(before))
        return found

    def _put(self, name: str, fill: Callable[[str], T]) -> T:
        """Write an object in its place: nobody sees it before it is whole."""
        path = self.where(name)
        try:
            return fill(path)
        except FileNotFoundError:  # what stands in for an object store in tests has folders
            self.system.create_dir(path.rpartition("/")[0], recursive=True)
            return fill(path)

    def _entries(self) -> list[Any]:
        """Return what is below; of the folders of a hundred batches, what is in them."""
        found = list[Any]()
        for info in self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True)):
            if info.type == fs.FileType.Directory and _RANGE.fullmatch(info.base_name):
                inner = self.system.get_file_info(fs.FileSelector(info.path, allow_not_found=True, recursive=True))
                found += [one for one in inner if one.type == fs.FileType.File]
            else:
                found.append(info)
        return found

    def drop(self, before: int, needed: Collection[str]) -> None:
        """Delete the objects of batches before one, but those that are needed; a hundred at a time where none of them is.

        Of a folder in which something is needed, the largest objects that are not go one by one until they take less room than
        what is needed. The rest stays until the folder goes.
        """
        try:
            above = self._patiently(lambda: self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True)))
            for info in above:
                found, alone = _RANGE.fullmatch(info.base_name), _NUMBERED.match(info.base_name)
                if found is not None and int(found[1]) < before:
                    self._drop_range(info.path, needed)
                elif found is None and alone is not None and int(alone[1]) < before and info.base_name not in needed:
                    self._deleted(info.path, lambda path=info.path: self._delete(path))  # type: ignore[misc]  # of Weft 0.1
        except OSError as error:
            raise unread(self.path, error) from error

    def _drop_range(self, path: str, needed: Collection[str]) -> None:
        here = self._patiently(lambda: self.system.get_file_info(fs.FileSelector(path, allow_not_found=True)))
        held = [info for info in here if info.base_name in needed]
        if not held:
            self._deleted(path, lambda: self.system.delete_dir(path))
            return
        rest = sorted(
            (info for info in here if info.base_name not in needed), key=lambda info: (info.size or 0, info.path)
        )
        idle, enough = sum(info.size or 0 for info in rest), sum(info.size or 0 for info in held)
        while idle > enough:
            info = rest.pop()
            idle -= info.size or 0
            self._deleted(info.path, lambda path=info.path: self._delete(path))  # type: ignore[misc]

    def check_writable(self) -> None:
        probe = f"{self.path}/.weft-probe-{uuid.uuid4().hex[:8]}"
        try:
            self._patiently(lambda: self._write(probe, b"weft"))
        except FileNotFoundError:
            self._put(probe.rpartition("/")[2], lambda path: self._write(path, b"weft"))
        except OSError as error:
            raise SpecError.of(
                f"The state path {self.path} cannot be written: {error}.",
                "Weft persists the rows that can still match there.",
                "check that the bucket exists and that the credentials of the driver and of every executor may write to it.",
            ) from error
        with contextlib.suppress(OSError):  # who may write may not be allowed to delete; then versions stay
            self._delete(probe)
