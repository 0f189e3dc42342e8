"""Files of another history never pass for one's own: another query's, a rolled-back one's, those of another plan."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.state.batches import expected, feed, joined, rows, store
from weft.engine import Shipment, Worker, pinned_for
from weft.errors import StateError
from weft.local import Join
from weft.observe import inspect_query
from weft.routing import MatrixPlan
from weft.state import Pinned
from weft_lab.torture.forced import force_plan

BATCHES = 4


def test_the_state_of_another_query_is_refused(tmp_path: Path) -> None:
    """The same join over other data: nothing but the query tells the two apart."""
    feed(joined(store(tmp_path, query="one")), BATCHES)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with pytest.raises(StateError, match=r"two/0/3\.json does not belong here: it belongs to query one"):
        feed(joined(store(tmp_path, query="two"), BATCHES), 1)


def _other(join: Join, batches: int) -> None:
    """Feed the same join with rows of other batches."""
    for _ in range(batches):
        number = join.run.batch + 50
        list(join.feed(rows("left", number), rows("right", number)))


@pytest.mark.parametrize("task", [0, 1])
def test_one_task_of_another_run_of_the_query_is_refused(tmp_path: Path, task: int) -> None:
    """As if a folder had been restored from a backup of a query with the same id: only its input was another one."""
    feed(joined(store(tmp_path / "here")), BATCHES)
    _other(joined(store(tmp_path / "there")), BATCHES)
    shutil.rmtree(tmp_path / "here" / "query" / str(task))
    shutil.copytree(tmp_path / "there" / "query" / str(task), tmp_path / "here" / "query" / str(task))
    with pytest.raises(StateError, match="its history differs"):
        feed(joined(store(tmp_path / "here"), BATCHES), 1)


def test_plans_of_another_history_are_refused(tmp_path: Path) -> None:
    feed(joined(store(tmp_path / "here")), BATCHES)
    _other(joined(store(tmp_path / "there")), BATCHES)
    shutil.copy(tmp_path / "there" / "query" / "plans" / "4.json", tmp_path / "here" / "query" / "plans" / "4.json")
    with pytest.raises(
        StateError, match=r"plans/4\.json does not belong here: its history differs from that of task 0"
    ):
        feed(joined(store(tmp_path / "here"), BATCHES), 1)


def test_a_batch_joined_again_by_some_tasks_only_is_not_gone_on_from(tmp_path: Path) -> None:
    """A checkpoint was rolled back, the input changed, and of batch 3 only task 0 was read: task 1 has its old manifest."""
    feed(joined(store(tmp_path)), BATCHES)
    again = joined(store(tmp_path), BATCHES - 1)
    shipments = again.run._route({"left": [rows("left", 60)], "right": [rows("right", 60)]})
    list(Worker(again.run.joiner, again.store, 0, BATCHES - 1).run(shipments[0]))
    with pytest.raises(
        StateError, match=r"1/3\.json does not belong here: its history differs from that of the manifest"
    ):
        feed(joined(store(tmp_path), BATCHES), 1)


def test_a_replay_of_the_last_batch_comes_to_the_same_history(tmp_path: Path) -> None:
    feed(joined(store(tmp_path)), BATCHES)
    before = {file: file.read_bytes() for file in (tmp_path / "query").rglob("*.json") if "metrics" not in file.name}
    feed(joined(store(tmp_path), BATCHES - 1), 1)
    after = {file: file.read_bytes() for file in (tmp_path / "query").rglob("*.json") if "metrics" not in file.name}
    assert after == before
    assert feed(joined(store(tmp_path), BATCHES), 2) == expected(BATCHES + 2, first=BATCHES)


def test_what_was_routed_by_another_plan_is_refused(tmp_path: Path) -> None:
    join = joined(store(tmp_path), scheme="matrix", tasks=4)
    feed(join, 1)
    routed = pinned_for(join.job, join.store, 1)
    force_plan(join.store, 1, MatrixPlan(4, 4, 1))
    shipment = Shipment("left", 0, -1, pinned=routed.mark)
    with pytest.raises(StateError, match="Batch 1 was routed by a different plan than task 2 reads"):
        list(Worker(join.run.joiner, join.store, 2, 1).run([shipment]))


def test_of_one_history_the_first_plan_stays(tmp_path: Path) -> None:
    state = store(tmp_path)
    first, second = MatrixPlan(4, 2, 2), MatrixPlan(4, 4, 1)
    assert state.pin(3, Pinned(first, history="a"), "") == Pinned(first, history="a")
    assert state.pin(3, Pinned(second, history="a"), "").plan == first
    assert state.pin(3, Pinned(second, history="b"), "").plan == second


def test_state_of_format_1_goes_on(tmp_path: Path) -> None:
    """Written by 0.1.0: four batches of two tasks; its last batch may also be joined again."""
    for first in (BATCHES, BATCHES - 1):
        folder = tmp_path / str(first)
        shutil.copytree(Path(__file__).parent / "format-1", folder / "query")
        assert feed(joined(store(folder), first), 6 - first) == expected(6, first=first)
        view = inspect_query(str(folder / "query"))
        assert view.last_good == 5
        assert not view.damage
