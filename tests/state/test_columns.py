"""Words that follow from the payload are neither shipped nor saved, and come back the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.engine import Delivery, pack_delivery, unpack
from weft.index import Run
from weft.kernels import words_of
from weft.state import open_folder
from weft.state.contents import read_segment
from weft.state.segments import write_segment
from weft.types import Block

PAYLOAD = pa.table(
    {
        "l0": pa.array([3.5, -0.0, float("nan"), -1.0]),
        "l1": pa.array(["a", None, "b", "c"]),
        "l2": pa.array([9, 7, 8, 2], pa.timestamp("us", "Europe/Berlin")),
        "l3": pa.array([1, 2, 3, 4], pa.int8()),
    }
)
DERIVED = {0: 0, 2: 2, 3: 3}


def _words() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.stack(
        [
            words_of(PAYLOAD.column("l0"), "value")[0], np.array([5, 6, 7, 8]), words_of(PAYLOAD.column("l2"), "value")[0],
            words_of(PAYLOAD.column("l3"), "value")[0],
        ]
    )  # fmt: skip


@pytest.mark.parametrize("derived", [{}, DERIVED, {2: 2}], ids=["none", "most", "one"])
def test_a_segment_gives_all_words_back(tmp_path: Path, derived: dict[int, int]) -> None:
    run = Run.of(Block(_words(), np.arange(4, dtype=np.uint32), PAYLOAD), np.array([3, 1, 0, 2]))
    folder = open_folder(str(tmp_path))
    entry = write_segment(folder, "0-0.arrow", run, derived)
    read = read_segment(folder, entry, PAYLOAD.schema)
    np.testing.assert_array_equal(read.words, run.words)
    np.testing.assert_array_equal(read.row, run.row)
    assert read.payload.equals(PAYLOAD) or str(read.payload.to_pylist()) == str(PAYLOAD.to_pylist())
    names = pa.ipc.open_file(folder.read("0-0.arrow")).schema.names
    assert [name for name in names if name.startswith("_w")] == [f"_w{n}" for n in range(4) if n not in derived]


@pytest.mark.parametrize("derived", [{}, DERIVED], ids=["none", "most"])
def test_a_delivery_arrives_with_all_words(derived: dict[int, int]) -> None:
    block = Block(_words(), np.arange(4, dtype=np.uint32), PAYLOAD)
    sink = pa.BufferOutputStream()
    pack_delivery(sink, Delivery(2, "left", block, np.full(4, 7, np.uint8)), 5, 1, derived)
    shipment = unpack(sink.getvalue())
    assert (shipment.side, shipment.partition, shipment.piece) == ("left", 5, 1)
    assert shipment.delivery is not None
    np.testing.assert_array_equal(shipment.delivery.block.words, block.words)
    assert shipment.delivery.task == 2
