"""Only the last run of a query writes its state."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from weft.errors import StateError
from weft.state import Holder, StateStore, open_folder


def _run() -> str:
    return str(uuid.uuid4())


def test_a_run_before_the_last_one_is_refused_for_good(tmp_path: Path) -> None:
    folder, first, second, third = open_folder(str(tmp_path)), *(Holder(_run(), "a") for _ in range(3))
    first.take(folder)
    first.take(folder)
    second.take(folder)
    second.check(folder)
    with pytest.raises(StateError, match="Another run of this query has taken over") as told:
        first.check(folder)
    assert first.run in str(told.value) and second.run in str(told.value)
    third.take(folder)
    for gone in (first, second):
        with pytest.raises(StateError, match="two drivers use one checkpoint"):
            gone.take(folder)
    third.take(folder)


def test_names_that_a_program_gives_its_jobs_may_come_again(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    for _ in range(3):
        for name in ("load", "write", _run()):
            Holder(name, "a").take(folder)
            assert Holder(name, "a").check(folder)["run"] == name


def test_two_joins_of_one_run_are_told_apart(tmp_path: Path) -> None:
    folder, run = open_folder(str(tmp_path)), _run()
    Holder(run, "a").take(folder)
    with pytest.raises(StateError, match="Two joins of one query"):
        Holder(run, "b").take(folder)


def test_a_damaged_owner_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_bytes(b"half")
    folder, holder = open_folder(str(tmp_path)), Holder(_run(), "a")
    holder.take(folder)
    assert holder.check(folder) == {"run": holder.run, "join": "a", "past": []}


@pytest.mark.parametrize("late", [0, 1])
def test_tasks_that_were_sent_different_rows_part(tmp_path: Path, late: int) -> None:
    """Whichever of the two is the later one knows, in the same attempt; what an earlier attempt left says nothing."""
    store = StateStore(str(tmp_path), "q", "f")
    run = _run()
    store.claim(Holder(run, "a", f"{run} 1"), lead=True)
    store.finish(1 - late, 5, {}, 2, "one")
    with pytest.raises(StateError, match="Tasks 0 and 1 of batch 5 received different rows"):
        store.finish(late, 5, {}, 2, "two")
    store.claim(Holder(run, "a", f"{run} 2"), lead=True)
    store.finish(1 - late, 5, {}, 2, "three")
    store.finish(late, 5, {}, 2, "three")
