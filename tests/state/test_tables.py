"""Which version of a table a batch sees: pinned once, the same for all tasks, kept as long as it may be run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.errors import StateError
from weft.index import Run
from weft.state import TablePin, TableShelf, TableVersion
from weft.types import Block

PAYLOAD = pa.schema({"r0": pa.int64()})


def _run(value: int, rows: int = 3) -> Run:
    words = np.full((1, rows), value, np.int64)
    block = Block(words, np.zeros(rows, np.uint32), pa.table({"r0": words[0]}, schema=PAYLOAD))
    return Run.of(block, np.arange(rows))


def _mine(shelf: TableShelf, start: str, run: str = "run 1", number: int = 0) -> TablePin:
    return TablePin(shelf.write(start, f"{number}-0-0123abcd.arrow", _run(number)), run, "join", "spec")


@pytest.fixture
def shelf(tmp_path: Path) -> TableShelf:
    return TableShelf(str(tmp_path))


def test_a_version_is_read_as_it_was_written(shelf: TableShelf) -> None:
    version = _mine(shelf, "a", number=7).version
    assert version.number == 7 and TableVersion.of_json(version.to_json()) == version
    assert shelf.read(version, PAYLOAD).payload.column(0).to_pylist() == [7, 7, 7]


def test_an_empty_table(shelf: TableShelf) -> None:
    version = shelf.write("a", "0-0.arrow", _run(1, rows=0))
    assert len(shelf.read(version, PAYLOAD)) == 0


def test_a_batch_that_runs_again_keeps_its_version_and_the_next_one_has_a_new_one(shelf: TableShelf) -> None:
    one = _mine(shelf, "a")
    assert shelf.pinned("q", 0, one) == shelf.pinned("q", 0, one) == one
    two = _mine(shelf, "b", "run 2")
    assert shelf.pinned("q", 0, two) == one
    assert shelf.pinned("q", 1, two) == two


def test_a_new_version_is_for_the_next_batch_and_for_all_after_it(shelf: TableShelf) -> None:
    one = _mine(shelf, "a")
    shelf.pin_next("q", 0, shelf.pinned("q", 0, one), one)  # nothing new
    newer = _mine(shelf, "a", number=1)
    shelf.publish(newer.version)
    assert shelf.pinned("q", 1, one) == one, "what is published is seen when it is pinned"
    shelf.pin_next("q", 1, one, one)
    assert [shelf.pinned("q", batch, one) for batch in (1, 2, 3, 5)] == [one, newer, newer, newer]  # 4 had no rows
    newest = _mine(shelf, "a", number=2)
    shelf.publish(newest.version)
    shelf.pin_next("q", 1, one, one)  # a copy of the task that is late
    assert shelf.pinned("q", 2, one) == newer


def test_a_new_start_does_not_go_on_with_the_version_of_the_last_one(shelf: TableShelf) -> None:
    one = _mine(shelf, "a")
    shelf.pinned("q", 0, one)
    two = _mine(shelf, "b", "run 2")
    assert shelf.pinned("q", 1, two) == two


def test_pins_of_another_condition_hold_for_nobody(shelf: TableShelf) -> None:
    shelf.pinned("q", 0, _mine(shelf, "a"))
    other = replace(_mine(shelf, "b", "run 2"), fingerprint="other")
    assert shelf.pinned("q", 0, other) == other


def test_two_joins_in_one_folder_are_refused(shelf: TableShelf) -> None:
    shelf.pinned("q", 0, _mine(shelf, "a"))
    with pytest.raises(StateError) as refused:
        shelf.pinned("q", 0, replace(_mine(shelf, "b"), join="another"))
    what, there_is, hint = str(refused.value).splitlines()
    assert what.startswith("Two joins of one query keep their tables in ") and there_is.startswith(
        "Each needs its own folder"
    )
    assert hint == "Hint: give them names: weft.join(..., name='limits'), weft.join(..., name='places')."


def test_what_no_batch_needs_is_deleted(shelf: TableShelf, tmp_path: Path) -> None:
    first = _mine(shelf, "a")
    for batch in range(3):
        shelf.pinned("q", batch, first)
    mine = _mine(shelf, "b", "run 2")
    for batch in range(3, 12):
        now = shelf.pinned("q", batch, mine)
        shelf.publish(_mine(shelf, "b", "run 2", batch).version)
        shelf.pin_next("q", batch, now, mine)
        shelf.collect("q", batch, 2, mine)
        for kept in range(max(0, batch - 2), batch + 1):
            shelf.read(shelf.pinned("q", kept, mine).version, PAYLOAD)
    assert not (tmp_path / "tables" / "a").exists()
    assert sorted(int(path.stem) for path in (tmp_path / "tables" / "q").iterdir()) == [9, 10, 11, 12]
    assert len(list((tmp_path / "tables" / "b").glob("*.arrow"))) == 4


def test_a_pin_that_says_something_else_is_refused(shelf: TableShelf, tmp_path: Path) -> None:
    from weft.state import open_folder, write_sealed

    write_sealed(open_folder(str(tmp_path / "tables" / "q")), "0.json", {"version": 3})
    with pytest.raises(StateError, match="is damaged: it does not name the version of a table"):
        shelf.pinned("q", 0, _mine(shelf, "a"))
