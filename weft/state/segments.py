"""Segments: one run, one Arrow IPC file, memory-mapped and used as it lies.

Columns `_w0`, `_w1`, ... hold the words that do not follow from the payload (`weft.state.columns`), `_u` the draws, then
comes the payload, all in order of arrival; `_row` lists the rows in index order. So a mapped segment *is* a run: nothing is
sorted again.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from weft.errors import StateError
from weft.index import Run
from weft.kernels import checksum
from weft.state.cache import private_cache
from weft.state.columns import Derived, note_of, one_chunk, read_words, written_words
from weft.state.paths import Folder
from weft.types import Block

__all__ = ["Segment", "read_segment", "write_segment"]

_NOTE = b"weft.words"
_OPTIONS = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False)


@dataclass(frozen=True)
class Segment:
    """What a manifest says of one segment file."""

    name: str
    rows: int
    bytes: int
    checksum: str
    newest: int
    span: int

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return asdict(self)


def write_segment(folder: Folder, name: str, run: Run, derived: Derived | None = None) -> Segment:
    """Write a run and return its entry. The same run gives the same bytes."""
    run, derived = run.compacted(), derived or {}
    arrays, names = written_words(run.words, derived)
    arrays += [pa.array(run.u), pa.array(run.row)]
    names += ["_u", "_row"]
    fields = [pa.field(label, array.type, nullable=False) for label, array in zip(names, arrays, strict=True)]
    payload = run.payload.combine_chunks()
    arrays += [one_chunk(column) for column in payload.columns]
    note = {_NOTE: note_of(derived).encode()}
    schema = pa.schema(fields + [field.with_name(f"p{i}") for i, field in enumerate(payload.schema)], note)
    batch = pa.record_batch(arrays, schema=schema)

    def fill(sink: pa.NativeFile) -> None:
        with pa.ipc.new_file(sink, schema, options=_OPTIONS) as writer:
            writer.write_batch(batch)

    data = folder.write_through(name, fill)
    return Segment(name, len(run), data.size, checksum(memoryview(data)), run.newest, run.span)


def read_segment(folder: Folder, segment: Segment, payload: pa.Schema) -> Run:
    """Map a segment and verify it (once per process and file)."""
    where = f"{folder}/{segment.name}"
    data = folder.read(segment.name) if folder.local else _copy(folder, segment)
    if folder.local and (why := _damage(segment, data, where)):
        raise StateError.torn(where, why)
    try:
        with pa.ipc.open_file(data) as reader:
            table = reader.read_all()
    except pa.ArrowException as error:
        raise StateError.torn(where, f"Arrow cannot read it ({error})") from None
    names, note = table.column_names, (table.schema.metadata or {}).get(_NOTE)
    first = names.index("_u") if "_u" in names else -1
    if first < 0 or note is None or len(names) != first + 2 + len(payload) or table.num_rows != segment.rows:
        raise StateError.torn(where, "it holds other columns or rows than the manifest says")
    columns = [one_chunk(column) for column in table.columns]
    words = read_words(names[:first], columns, columns[first + 2 :], note.decode(), segment.rows)
    kept = [
        column if column.type == field.type else column.cast(field.type)  # the session's time zone may have changed
        for column, field in zip(columns[first + 2 :], payload, strict=True)
    ]
    block = Block(words, columns[first].to_numpy(), pa.table(kept, schema=payload))
    return Run.of(block, columns[first + 1].to_numpy(), segment.newest, segment.span, segment.name)


_VERIFIED: dict[tuple[str, str], int] = {}


def _damage(segment: Segment, data: pa.Buffer, file: str = "") -> str:
    """Tell what is wrong with the content, "" if nothing; of a local file that has not changed, only once."""
    if data.size != segment.bytes:
        return f"it has {data.size} bytes, the manifest says {segment.bytes}"
    key, stamp = (file, segment.checksum), os.stat(file).st_mtime_ns if file else 0
    if file and _VERIFIED.get(key) == stamp:
        return ""
    if checksum(memoryview(data)) != segment.checksum:
        return "its checksum does not match the manifest"
    if len(_VERIFIED) > 100_000:
        _VERIFIED.clear()
    if file:
        _VERIFIED[key] = stamp
    return ""


def _copy(folder: Folder, segment: Segment) -> pa.Buffer:
    """Return a remote segment from this machine's disk; it is fetched if there is no copy, or a damaged one."""
    name = f"{segment.checksum}-{segment.bytes}.arrow"
    with private_cache() as cache:
        here = f"{cache.path}/{name}"
        data = cache.mapped(name)
        if data is not None and not _damage(segment, data, here):
            cache.touch(name)
            return data
        fetched = folder.read(segment.name)
        if why := _damage(segment, fetched):
            raise StateError.torn(f"{folder}/{segment.name}", why)
        cache.sweep()
        kept = cache.mapped(name) if cache.keep(name, fetched) else None
    return fetched if kept is None else kept  # a disk without room costs the copy, not the join
