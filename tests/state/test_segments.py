"""A segment is a run on disk: whatever the payload's type, slices and chunks, what is read is what was written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import StateError
from weft.index import Run
from weft.state import Folder, open_folder
from weft.state.contents import read_segment
from weft.state.segments import Segment, write_segment
from weft.types import Block

UTC = dt.timezone.utc
PAYLOADS: dict[str, tuple[pa.DataType, list[object]]] = {
    "null": (pa.null(), [None, None, None]),
    "boolean": (pa.bool_(), [True, None, False]),
    "tinyint": (pa.int8(), [-128, None, 127]),
    "smallint": (pa.int16(), [-(2**15), None, 2**15 - 1]),
    "int": (pa.int32(), [-(2**31), None, 2**31 - 1]),
    "bigint": (pa.int64(), [-(2**63), None, 2**63 - 1]),
    "float": (pa.float32(), [float("-inf"), None, -0.0]),
    "double": (pa.float64(), [float("inf"), None, 5e-324]),
    "decimal": (pa.decimal128(38, 10), [Decimal("-1.5"), None, Decimal("9" * 28 + ".0000000001")]),
    "date": (pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "UTC"), [dt.datetime(1969, 1, 1, tzinfo=UTC), None, dt.datetime(2038, 2, 1, tzinfo=UTC)]),
    "timestamp_ntz": (pa.timestamp("us"), [dt.datetime(1, 1, 1), None, dt.datetime(9999, 1, 1)]),  # noqa: DTZ001
    "interval": (pa.duration("us"), [dt.timedelta(-1), None, dt.timedelta(microseconds=1)]),
    "string": (pa.string(), ["", None, "ß🚕\0"]),
    "large string": (pa.large_string(), ["", None, "x" * 1000]),
    "binary": (pa.binary(), [b"", None, b"\0\xff"]),
    "array": (pa.list_(pa.int32()), [[], None, [1, None, 3]]),
    "map": (pa.map_(pa.string(), pa.float64()), [[], None, [("a", 1.0), ("b", None)]]),
    "struct": (pa.struct({"x": pa.int8(), "y": pa.string()}), [{"x": 1, "y": None}, None, {"x": None, "y": "z"}]),
    "nested": (
        pa.list_(pa.struct({"m": pa.map_(pa.string(), pa.list_(pa.decimal128(5, 2))), "b": pa.bool_()})),
        [[{"m": [("k", [Decimal("1.25"), None])], "b": True}, None], None, [{"m": None, "b": None}]],
    ),
}  # fmt: skip


def _run(payload: pa.Table, rows: list[int] | None = None, words: int = 2, newest: int = -5, span: int = 0) -> Run:
    """Make a run whose i-th row in index order is the row `rows[i]`; rows that are not named have expired."""
    count = payload.num_rows
    order = np.array(range(count) if rows is None else rows, np.int64)
    columns = np.arange(words * count, dtype=np.int64).reshape(words, count) * 3 - 7
    u = np.arange(count, dtype=np.uint32) + np.uint32(2**32 - 2000)
    return Run.of(Block(columns, u, payload), order, newest, span)


def _names(table: pa.Table) -> pa.Schema:
    return pa.schema([field.with_name(f"l{number}") for number, field in enumerate(table.schema)])


def _same(run: Run, read: Run) -> None:
    """Compare in index order: words, draws, and the payload each refers to."""
    np.testing.assert_array_equal(run.words[:, run.row], read.words[:, read.row])
    np.testing.assert_array_equal(run.u[run.row], read.u[read.row])
    assert len(read) == len(run)
    assert [str(array.dtype) for array in (read.words, read.u, read.row)] == ["int64", "uint32", "int32"]
    wanted = run.payload.take(pa.array(run.row)).combine_chunks()
    found = read.payload.take(pa.array(read.row)).combine_chunks()
    assert found.schema == _names(run.payload)
    assert found.rename_columns(wanted.column_names).equals(wanted)
    assert (read.newest, read.span) == (run.newest, run.span)


def _round_trip(folder: Folder, run: Run) -> Run:
    entry = write_segment(folder, "4-0.arrow", run)
    assert entry.rows == len(run)
    read = read_segment(folder, entry, _names(run.payload))
    assert read.segment == "4-0.arrow"
    return read


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return open_folder(str(tmp_path))


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_types(name: str, folder: Folder) -> None:
    kind, values = PAYLOADS[name]
    payload = pa.table({"v": pa.array(values, kind), "n": pa.array([1, 2, 3])})
    run = _run(payload, [2, 0, 1], newest=7, span=3)
    _same(run, _round_trip(folder, run))


def test_all_types_at_once_in_pieces(folder: Folder) -> None:
    payload = pa.table({name: pa.array(values, kind) for name, (kind, values) in PAYLOADS.items()})
    pieces = pa.concat_tables([payload.slice(1), payload, payload.slice(0, 1), payload.slice(3)])
    run = _run(pieces, [5, 0, 3, 1, 2, 4])
    _same(run, _round_trip(folder, run))


@pytest.mark.parametrize("start", [0, 1, 3, 8, 17])
def test_slices_keep_only_their_rows(start: int, folder: Folder) -> None:
    rows = 40
    payload = pa.table({
        "b": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(rows)]),
        "s": pa.array([None if i % 7 == 0 else f"text {i}" for i in range(rows)]),
        "l": pa.array([None if i % 3 == 0 else list(range(i % 4)) for i in range(rows)], pa.list_(pa.int16())),
        "t": pa.array([{"x": i, "y": [str(i)]} for i in range(rows)]),
    }).slice(start, 9)  # fmt: skip
    run = _run(payload)
    _same(run, _round_trip(folder, run))


def test_nan_payload(folder: Folder) -> None:
    payload = pa.table({"x": pa.array([float("nan"), -0.0, None])})
    read = _round_trip(folder, _run(payload)).payload.column(0).to_pylist()
    assert str(read) == "[nan, -0.0, None]"


def test_empty_run(folder: Folder) -> None:
    payload = pa.table({name: pa.array([], kind) for name, (kind, _) in PAYLOADS.items()})
    run = _run(payload)
    _same(run, _round_trip(folder, run))


def test_no_chunks_at_all(folder: Folder) -> None:
    run = _run(pa.schema({"x": pa.int64(), "s": pa.string()}).empty_table())
    _same(run, _round_trip(folder, run))


def test_no_words(folder: Folder) -> None:
    run = _run(pa.table({"x": [1, 2]}), words=0)
    read = _round_trip(folder, run)
    _same(run, read)
    assert read.words.shape == (0, 2)


def test_no_payload_columns(folder: Folder) -> None:
    """Where the result needs no column of a side, its rows are words only."""
    bare = pa.table({"x": [1, 2, 3]}).select([])
    run = Run.of(Block(np.arange(6, dtype=np.int64).reshape(2, 3), np.arange(3, dtype=np.uint32), bare), np.arange(3))
    read = _round_trip(folder, run)
    np.testing.assert_array_equal(read.words, run.words)
    assert len(read) == 3


def test_rows_that_a_merge_dropped_are_left_behind(folder: Folder) -> None:
    payload = pa.table({"x": list(range(1000)), "s": ["y" * 100] * 1000})
    whole, part = _run(payload), _run(payload, [900, 17, 3])
    _same(part, _round_trip(folder, part))
    sizes = [write_segment(folder, f"0-{n}.arrow", run).bytes for n, run in enumerate((whole, part))]
    assert sizes[1] < sizes[0] / 50


def test_the_same_run_gives_the_same_bytes(folder: Folder, tmp_path: Path) -> None:
    kind, values = PAYLOADS["nested"]
    payload = pa.table({"v": pa.array(values, kind)})
    in_pieces = pa.concat_tables([payload.slice(0, 1), payload.slice(1)])
    entries = [write_segment(folder, f"0-{n}.arrow", _run(table)) for n, table in enumerate((payload, in_pieces))]
    assert (tmp_path / "0-0.arrow").read_bytes() == (tmp_path / "0-1.arrow").read_bytes()
    assert entries[0].checksum == entries[1].checksum


_ROWS = st.lists(st.tuples(st.none() | st.text(), st.none() | st.lists(st.none() | st.integers(-5, 5))), max_size=30)


@given(rows=_ROWS, data=st.data())
def test_any_rows(
    rows: list[tuple[object, object]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = pa.schema({"s": pa.string(), "l": pa.list_(pa.int8())})
    payload = pa.table({"s": [text for text, _ in rows], "l": [numbers for _, numbers in rows]}, schema=schema)
    payload = payload.slice(data.draw(st.integers(0, len(rows))))
    order = data.draw(st.permutations(range(payload.num_rows)))
    run = _run(payload, list(order)[: data.draw(st.integers(0, payload.num_rows))])
    _same(run, _round_trip(open_folder(str(tmp_path_factory.mktemp("any"))), run))


@pytest.fixture
def written(folder: Folder) -> Segment:
    return write_segment(folder, "4-0.arrow", _run(pa.table({"x": list(range(50))}), newest=9))


SCHEMA = pa.schema({"l0": pa.int64()})


def test_any_flipped_byte_is_found(folder: Folder, written: Segment, tmp_path: Path) -> None:
    file = tmp_path / written.name
    whole = file.read_bytes()
    for number, place in enumerate(range(0, len(whole), 7)):
        torn = tmp_path / f"{number}-9.arrow"  # another name: what was verified once is not verified again
        torn.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        entry = Segment(torn.name, written.rows, written.bytes, written.checksum, written.newest, written.span)
        with pytest.raises(StateError, match=rf"{torn.name} is damaged"):
            read_segment(folder, entry, SCHEMA)


def test_damage_after_the_first_reading_is_found(folder: Folder, written: Segment, tmp_path: Path) -> None:
    read_segment(folder, written, SCHEMA)
    file = tmp_path / written.name
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    aside = tmp_path / "aside"
    aside.write_bytes(whole)
    aside.rename(file)
    with pytest.raises(StateError, match=r"4-0\.arrow is damaged: its checksum"):
        read_segment(folder, written, SCHEMA)


@pytest.mark.parametrize("length", [0, 1, 8, 100, -8, -1])
def test_truncated(length: int, folder: Folder, written: Segment, tmp_path: Path) -> None:
    file = tmp_path / written.name
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(StateError, match=r"4-0\.arrow is damaged"):
        read_segment(folder, written, SCHEMA)


def test_missing(folder: Folder, written: Segment, tmp_path: Path) -> None:
    (tmp_path / written.name).unlink()
    with pytest.raises(StateError, match=r"4-0\.arrow is missing"):
        read_segment(folder, written, SCHEMA)


def test_another_payload_schema(folder: Folder, written: Segment) -> None:
    with pytest.raises(StateError, match=r"4-0\.arrow is damaged: its columns or rows differ"):
        read_segment(folder, written, pa.schema({"l0": pa.int64(), "l1": pa.int64()}))
