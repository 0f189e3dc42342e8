"""Segments: one run, one Arrow IPC file, used as it lies: mapped, or as it came from a store (`weft.state.contents`).

Columns `_w0`, `_w1`, ... hold the words that do not follow from the payload, `_u` the draws, then comes the payload, all in
order of arrival; `_row` lists the rows in index order. So a segment *is* a run: nothing is sorted again.

A key that is a plain payload column has its word in that column already, so it is neither shipped nor saved a second time;
the reader makes it again, which for numbers and timestamps is a look at the same bytes. Which words are left out, and what
they follow from, stands with the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from weft.errors import StateError
from weft.index import Run
from weft.kernels import checksum, words_of
from weft.spec.shapes import Width, check_shape, listed
from weft.state.folder import Folder
from weft.types import Block, Words

__all__ = [
    "Derived",
    "Segment",
    "derived_note",
    "one_chunk",
    "read_run",
    "read_words",
    "segment_of",
    "write_segment",
    "written_words",
]

Derived = Mapping[int, int]
"""Word column to the payload column it follows from."""

_PREFIX = "_w"
_NOTE = b"weft.words"
_NAME = re.compile(r"\d+-\d+(-[0-9a-f]{8})?\.arrow")
_PACK = re.compile(r"\d+-[0-9a-f]{8}\.pack")
_SELDOM = ("pack", "at", "data", "low", "high")
_BOUNDED = 8
"""Joins of rows have few words."""
_OPTIONS = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False)


@dataclass(frozen=True)
class Segment:
    """What a manifest says of one segment: in a file of its own, in a pack with others, or in the manifest itself."""

    name: str
    rows: int
    bytes: int
    checksum: str
    newest: int
    span: Width
    pack: str = ""
    """The file it is in, from byte `at` on, where it has none of its own."""
    at: int = 0
    data: str = ""
    """Its content, compressed, as text, where it is in no file."""
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()
    """The least and the greatest word of each column, where these are known; the draws are the last column."""

    @property
    def file(self) -> str:
        """Return the name of the file it is in, "" where it is in the manifest."""
        return "" if self.data else self.pack or self.name

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return {name: value for name, value in self.__dict__.items() if value or name not in _SELDOM}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Segment:
        """Read the entry from JSON data."""
        bounds: dict[str, Any] = {name: tuple(listed(data[name])) for name in ("low", "high") if name in data}
        made = cls(**{**data, **bounds})
        check_shape(made)
        if (
            not _NAME.fullmatch(made.name)
            or (made.pack and not _PACK.fullmatch(made.pack))
            or min(made.at, made.bytes) < 0
            or len(made.low) != len(made.high)
        ):
            raise ValueError(f"{made.name!r} is not a segment")
        return made

    def damage(self, content: pa.Buffer) -> str:
        """Tell what is wrong with the content, "" if nothing."""
        if content.size != self.bytes:
            return f"it has {content.size} bytes, the manifest says {self.bytes}"
        return "" if checksum(memoryview(content)) == self.checksum else "its checksum does not match the manifest"


def write_segment(folder: Folder, name: str, run: Run, derived: Derived | None = None) -> Segment:
    """Write a run into a file of its own and return its entry. The same run gives the same bytes."""
    run = run.compacted()
    batch = _columns(run, derived or {})
    data = folder.write_through(name, lambda sink: _write(sink, batch))
    return _entry(name, run, data)


def segment_of(name: str, run: Run, derived: Derived) -> tuple[Segment, pa.Buffer]:
    """Return the entry of a run and its content, which is still to be written somewhere."""
    run, sink = run.compacted(), pa.BufferOutputStream()
    _write(sink, _columns(run, derived))
    data = sink.getvalue()
    return _entry(name, run, data), data


def _entry(name: str, run: Run, data: pa.Buffer) -> Segment:
    low, high = _bounds(run)
    return Segment(
        name, len(run), data.size, checksum(memoryview(data)), run.newest, Width(run.span), low=low, high=high
    )


def _bounds(run: Run) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the least and the greatest word of each column, and of the draws; those of documents would say nothing."""
    if not run.rows or len(run.words) > _BOUNDED:
        return (), ()
    columns = (*run.words, run.u)
    return tuple(int(column.min()) for column in columns), tuple(int(column.max()) for column in columns)


def _write(sink: pa.NativeFile, batch: pa.RecordBatch) -> None:
    with pa.ipc.new_file(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)


def _columns(run: Run, derived: Derived) -> pa.RecordBatch:
    arrays, names = written_words(run.words, derived)
    arrays += [pa.array(run.u), pa.array(run.row)]
    names += ["_u", "_row"]
    fields = [pa.field(label, array.type, nullable=False) for label, array in zip(names, arrays, strict=True)]
    payload = run.payload.combine_chunks()
    arrays += [one_chunk(column) for column in payload.columns]
    note = {_NOTE: derived_note(derived).encode()}
    schema = pa.schema(fields + [field.with_name(f"p{i}") for i, field in enumerate(payload.schema)], note)
    return pa.record_batch(arrays, schema=schema)


def read_run(where: str, segment: Segment, data: pa.Buffer, payload: pa.Schema) -> Run:
    """Return the run of a segment, given its content, which lies in the file `where`."""
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
