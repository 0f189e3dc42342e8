"""Segments: one run, one Arrow IPC file, memory-mapped and used as it lies.

Columns `_w0`, `_w1`, ... hold the words that do not follow from the payload, `_u` the draws, then comes the payload, all in
order of arrival; `_row` lists the rows in index order. So a mapped segment *is* a run: nothing is sorted again.

A key that is a plain payload column has its word in that column already, so it is neither shipped nor saved a second time;
the reader makes it again, which for numbers and timestamps is a look at the same bytes. Which words are left out, and what
they follow from, stands with the data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from weft.errors import StateError
from weft.index import Run
from weft.kernels import checksum, words_of
from weft.spec.shapes import Width, check_shape
from weft.state.cache import private_cache
from weft.state.folder import Folder
from weft.types import Block, Words

__all__ = [
    "Derived",
    "Segment",
    "derived_note",
    "one_chunk",
    "read_segment",
    "read_words",
    "write_segment",
    "written_words",
]

Derived = Mapping[int, int]
"""Word column to the payload column it follows from."""

_PREFIX = "_w"
_NOTE = b"weft.words"
_NAME = re.compile(r"\d+-\d+(-[0-9a-f]{8})?\.arrow")
_OPTIONS = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False)


@dataclass(frozen=True)
class Segment:
    """What a manifest says of one segment file."""

    name: str
    rows: int
    bytes: int
    checksum: str
    newest: int
    span: Width

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Segment:
        """Read the entry from JSON data."""
        made = cls(**data)
        check_shape(made)
        if not _NAME.fullmatch(made.name):
            raise ValueError(f"{made.name!r} is not a segment")
        return made


def write_segment(folder: Folder, name: str, run: Run, derived: Derived | None = None) -> Segment:
    """Write a run and return its entry. The same run gives the same bytes."""
    run, derived = run.compacted(), derived or {}
    arrays, names = written_words(run.words, derived)
    arrays += [pa.array(run.u), pa.array(run.row)]
    names += ["_u", "_row"]
    fields = [pa.field(label, array.type, nullable=False) for label, array in zip(names, arrays, strict=True)]
    payload = run.payload.combine_chunks()
    arrays += [one_chunk(column) for column in payload.columns]
    note = {_NOTE: derived_note(derived).encode()}
    schema = pa.schema(fields + [field.with_name(f"p{i}") for i, field in enumerate(payload.schema)], note)
    batch = pa.record_batch(arrays, schema=schema)

    def fill(sink: pa.NativeFile) -> None:
        with pa.ipc.new_file(sink, schema, options=_OPTIONS) as writer:
            writer.write_batch(batch)

    data = folder.write_through(name, fill)
    return Segment(name, len(run), data.size, checksum(memoryview(data)), run.newest, Width(run.span))


def read_segment(folder: Folder, segment: Segment, payload: pa.Schema) -> Run:
    """Map a segment and verify it (once per process and file)."""
    where = f"{folder}/{segment.name}"
    stamp = _stamp(where) if folder.local else None  # before it is mapped: a file put in its place since is another one
    data = folder.read(segment.name) if folder.local else _copy(folder, segment)
    if folder.local and (why := _damage(segment, data, where, stamp)):
        raise StateError.torn(where, why)
    try:
        with pa.ipc.open_file(data) as reader:
            table = reader.read_all()
    except pa.ArrowException as error:
        raise StateError.torn(where, f"Arrow cannot read it ({error})") from None
    names, note = table.column_names, (table.schema.metadata or {}).get(_NOTE)
    first = names.index("_u") if "_u" in names else -1
    if first < 0 or note is None or len(names) != first + 2 + len(payload) or table.num_rows != segment.rows:
        raise StateError.torn(where, "its columns or rows differ from the manifest")
    columns = [one_chunk(column) for column in table.columns]
    words = read_words(names[:first], columns, columns[first + 2 :], note.decode(), segment.rows)
    kept = [
        column if column.type == field.type else column.cast(field.type)  # the session's time zone may have changed
        for column, field in zip(columns[first + 2 :], payload, strict=True)
    ]
    block = Block(words, columns[first].to_numpy(), pa.table(kept, schema=payload))
    return Run.of(block, columns[first + 1].to_numpy(), segment.newest, segment.span, segment.name)


_Stamp = tuple[int, int, int]
_VERIFIED: dict[tuple[str, str], _Stamp] = {}


def _stamp(file: str) -> _Stamp | None:
    """Return what tells a file from every other that was ever in its place, whatever the clock said when it was written."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _damage(segment: Segment, data: pa.Buffer, file: str = "", stamp: _Stamp | None = None) -> str:
    """Tell what is wrong with the content, "" if nothing; of a local file that has not changed, only once."""
    if data.size != segment.bytes:
        return f"it has {data.size} bytes, the manifest says {segment.bytes}"
    key = file, segment.checksum
    if stamp is not None and _VERIFIED.get(key) == stamp:
        return ""
    if checksum(memoryview(data)) != segment.checksum:
        return "its checksum does not match the manifest"
    if len(_VERIFIED) > 100_000:
        _VERIFIED.clear()
    if stamp is not None:
        _VERIFIED[key] = stamp
    return ""


def _copy(folder: Folder, segment: Segment) -> pa.Buffer:
    """Return a remote segment from this machine's disk; it is fetched if there is no copy, or a damaged one."""
    name = f"{segment.checksum}-{segment.bytes}.arrow"
    with private_cache() as cache:
        here = f"{cache.path}/{name}"
        stamp = _stamp(here)
        data = cache.mapped(name)
        if data is not None and not _damage(segment, data, here, stamp):
            cache.touch(name)
            return data
        fetched = folder.read(segment.name)
        if why := _damage(segment, fetched):
            raise StateError.torn(f"{folder}/{segment.name}", why)
        cache.sweep()
        kept = cache.mapped(name) if cache.keep(name, fetched) else None
    return fetched if kept is None else kept  # a disk without room costs the copy, not the join


def written_words(words: Words, derived: Derived) -> tuple[list[pa.Array], list[str]]:
    """Return the word columns that have to be written, and their names."""
    kept = [number for number in range(len(words)) if number not in derived]
    return [pa.array(words[number]) for number in kept], [f"{_PREFIX}{number}" for number in kept]


def derived_note(derived: Derived) -> str:
    """Return what the reader must know about the words that were left out."""
    return json.dumps({str(word): column for word, column in sorted(derived.items())})


def read_words(
    names: Sequence[str], columns: Sequence[pa.Array], payload: Sequence[pa.Array], note: str, rows: int
) -> Words:
    """Put the written words and those that follow from the payload together again."""
    found = {
        int(name.removeprefix(_PREFIX)): column
        for name, column in zip(names, columns, strict=False)
        if name.startswith(_PREFIX)
    }
    derived = {int(word): column for word, column in json.loads(note).items()}
    words = np.empty((len(found) + len(derived), rows), np.int64)
    for number, column in found.items():
        words[number] = column.to_numpy()
    for number, place in derived.items():
        words[number] = words_of(payload[place], "value")[0]
    return words


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, without a copy if it is in one already."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
