"""A Spark checkpoint as files: the batches that it has planned and finished, and whether Spark can go on behind one of them.

    <checkpoint>/metadata            the query's id
    <checkpoint>/offsets/<batch>     what a batch reads, written before it runs
    <checkpoint>/commits/<batch>     that a batch is finished
    <checkpoint>/sources/<n>/<log>   what a file source has found
    <checkpoint>/state/...           the state of Spark's own operators: version b + 1 is the one after batch b

A power cut may leave files empty or cut, so each of them is looked at before anything is built on it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import fs

from weft.errors import StateError, WeftError
from weft.state import Care, open_folder, patiently

__all__ = ["Checkpoint", "SparkLog", "Tree", "open_tree"]

_ENTRY = re.compile(r"(\d+)(\.compact)?")
_PATIENCE = 20.0
"""Seconds for which a request to a store is repeated that fails for reasons that may pass: going back must not stop halfway."""
_VERSION = re.compile(r"(\d+)(_[0-9a-f-]+)*\.(delta|snapshot|zip|changelog)")


@dataclass(frozen=True)
class Tree:
    """Files as they lie, whoever wrote them: the names of an object store's objects are not Weft's here."""

    system: fs.FileSystem
    path: str

    def __truediv__(self, name: str) -> Tree:
        return Tree(self.system, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    def files(self, *, deep: bool = False) -> list[Any]:
        """Return the files below, by path; none if there is no such folder."""
        found = self._infos(fs.FileSelector(self.path, allow_not_found=True, recursive=deep))
        return sorted((info for info in found if info.type == fs.FileType.File), key=lambda info: str(info.path))

    def folders(self) -> list[str]:
        """Return the names of the folders directly below."""
        found = self._infos(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(str(info.base_name) for info in found if info.type == fs.FileType.Directory)

    def there(self) -> bool:
        """Tell whether there is such a file or folder."""
        return bool(self._infos(self.path).type != fs.FileType.NotFound)

    def read(self) -> bytes | None:
        """Return the content of the file, None if there is none."""

        def whole() -> bytes:
            with self.system.open_input_stream(self.path, compression=None) as file:
                return bytes(file.read())

        try:
            return patiently(whole, _PATIENCE)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def write(self, content: bytes) -> None:
        """Write the file, with its folder."""

        def put() -> None:
            with self.system.open_output_stream(self.path) as sink:
                sink.write(content)

        try:
            patiently(put, _PATIENCE)
        except FileNotFoundError:  # object stores have no folders to make
            self.system.create_dir(self.path.rpartition("/")[0], recursive=True)
            put()

    def delete(self) -> None:
        """Delete the file, and the checksum that Hadoop keeps beside it."""
        above, _, name = self.path.rpartition("/")
        for path in (f"{above}/.{name}.crc", self.path):
            if self._infos(path).type == fs.FileType.File:
                patiently(partial(self.system.delete_file, path), _PATIENCE)

    def _infos(self, of: str | fs.FileSelector) -> Any:
        return patiently(lambda: self.system.get_file_info(of), _PATIENCE)


def open_tree(where: str) -> Tree:
    """Open a path or URI."""
    folder = open_folder(where, Care(patience=5.0))
    return Tree(folder.system, folder.path)


@dataclass(frozen=True)
class SparkLog:
    """A folder in which Spark notes one thing per batch; every few batches some logs put all before into one file."""

    tree: Tree

    def names(self) -> dict[int, str]:
        """Return the file of each batch."""
        found: dict[int, str] = {}
        for info in self.tree.files():
            named = _ENTRY.fullmatch(str(info.base_name))
            if named and (named[2] or int(named[1]) not in found):
                found[int(named[1])] = str(info.base_name)
        return found

    def lines(self, batch: int) -> list[str] | None:
        """Return what stands in the file of a batch, behind its version; None where it is missing or damaged."""
        name = self.names().get(batch)
        if name is None:
            return None
        raw = (self.tree / name).read()
        summed = (self.tree / f".{name}.crc").read()
        if not raw or (summed is not None and _differs(raw, summed)):
            return None
        try:
            version, *lines = raw.decode().split("\n")
            for line in lines:
                if line not in ("", "-"):
                    json.loads(line)
        except ValueError:
            return None
        return [line for line in lines if line] if re.fullmatch(r"v\d+", version) else None

    def starts(self, batch: int) -> bool:
        """Tell whether all can be read that Spark reads when it starts with this batch as the last one."""
        names = self.names()
        compact = max((number for number, name in names.items() if number <= batch and "." in name), default=-1)
        return all(self.lines(number) is not None for number in range(max(compact, 0), batch + 1))


def _differs(raw: bytes, summed: bytes) -> bool:
    """Tell whether a file is not what Hadoop's checksum says; a damaged checksum says nothing, to Hadoop neither."""
    if summed[:4] != b"crc\0" or len(summed) < 8:
        return False
    size = int.from_bytes(summed[4:8], "big")
    pieces = range(0, len(raw), size) if size > 0 else ()
    return summed[8:] != b"".join(zlib.crc32(raw[at : at + size]).to_bytes(4, "big") for at in pieces)


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one query."""

    tree: Tree

    @classmethod
    def open(cls, where: str, query: str) -> Checkpoint:
        """Open the checkpoint of a query, or say why this is none."""
        try:
            tree = open_tree(where)
            raw = (tree / "metadata").read()
        except (WeftError, OSError, pa.ArrowException) as error:
            raise StateError.of(
                f"The checkpoint {where} cannot be read: {(str(error).splitlines() or ['?'])[0].rstrip('.')}.",
                "Spark reads it through Hadoop; this command reads it through PyArrow.",
                "give a URI that PyArrow or fsspec can open: --checkpoint s3://bucket/checkpoint.",
            ) from None
        try:
            named = None if raw is None else json.loads(raw)["id"]
        except (ValueError, KeyError, TypeError):
            named = None
        if named != query:
            there = f"It belongs to query {named}." if named else "It has no readable metadata file."
            hint = "name the folder that is the query's checkpointLocation: --checkpoint PATH."
            raise StateError.of(f"{where} is not the checkpoint of query {query}.", there, hint)
        return cls(tree)

    @property
    def offsets(self) -> SparkLog:
        """Return what batches read."""
        return SparkLog(self.tree / "offsets")

    @property
    def commits(self) -> SparkLog:
        """Return which batches are finished."""
        return SparkLog(self.tree / "commits")

    @property
    def newest(self) -> int:
        """Return the newest batch that is planned, or was finished; -1 if none."""
        return max([*self.offsets.names(), *self.commits.names()], default=-1)

    def stands(self, batch: int) -> bool:
        """Tell whether Spark can read what a batch reads, in the logs of its sources too."""
        lines = self.offsets.lines(batch)
        return lines is not None and len(lines) > 1 and all(log.starts(last) for log, last in self._found(lines))

    def _found(self, offsets: list[str]) -> Iterator[tuple[SparkLog, int]]:
        """Yield the log of each file source, and its last entry that a batch reads."""
        for number, line in enumerate(offsets[1:]):
            offset = None if line == "-" else json.loads(line)
            if isinstance(offset, dict) and set(offset) == {"logOffset"} and int(offset["logOffset"]) >= 0:
                yield SparkLog(self.tree / "sources" / str(number)), int(offset["logOffset"])

    def trouble(self, batch: int) -> str:
        """Say why Spark cannot go on behind a batch, "" if it can."""
        if not self.stands(batch):
            return f"{self.tree}/offsets/{batch}, or what it refers to in sources, is missing or damaged"
        if self.commits.lines(batch) is None and self.versions(-1):
            return f"{self.tree}/commits/{batch} is missing or damaged, and Spark's own operators need it"
        return ""

    def commit(self, batch: int) -> str:
        """Return the commit of a batch as Spark would have written it, "" where it is whole: a watermark is all it holds."""
        if self.commits.lines(batch) is not None:
            return ""
        after = self.offsets.lines(batch + 1) or self.offsets.lines(batch)
        assert after is not None
        watermark = int(json.loads(after[0]).get("batchWatermarkMs", 0))
        return f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'

    def unread(self, last: int) -> list[Tree]:
        """Return the damaged entries of sources behind what batch `last` reads, and those behind them."""
        lines, gone = self.offsets.lines(last), list[Tree]()
        for log, entry in self._found(lines or []):
            names = log.names()
            whole = entry
            while whole + 1 in names and log.starts(whole + 1):
                whole += 1
            gone += [log.tree / name for number, name in sorted(names.items()) if number > whole]
        return gone

    def versions(self, last: int) -> list[Tree]:
        """Return the files of Spark's own operators that are newer than a version."""
        found = ((info, _VERSION.fullmatch(str(info.base_name))) for info in (self.tree / "state").files(deep=True))
        return [Tree(self.tree.system, str(info.path)) for info, named in found if named and int(named[1]) > last]
