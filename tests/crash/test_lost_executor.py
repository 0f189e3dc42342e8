"""An executor is lost between route and join, and what was routed there is computed again, in another order."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.crash.scene import drive, oracle, sink, wait_for, write_input
from tests.crash.unordered_driver import LOST, TASKS
from weft.observe import inspect_query
from weft_lab.torture.processes import Spawned

pytestmark = pytest.mark.crash

SCRIPT = Path(__file__).with_name("unordered_driver.py")
FILES, EACH = 9, 3


def _executors(driver: Spawned) -> list[int]:
    """Return the executors, in the order in which they were started."""
    found = []
    for pid in driver.members():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and b"/java" in command.split(b"\0")[0]:
            found.append(pid)
    return sorted(found)


def _joined(folder: Path, batch: int) -> int:
    """Return how many join tasks of a batch have saved their state."""
    return len(list(folder.glob(f"state/*/[0-9]*/{batch}.json")))


def _lose_one(folder: Path, driver: Spawned, batch: int) -> None:
    """Kill an executor when some of the join tasks of a batch are done, and others have not begun."""
    wait_for(lambda: _joined(folder, batch) >= 2, 240, f"batch {batch}", alive=[driver])
    done = _joined(folder, batch)
    assert len(_executors(driver)) == 2
    os.kill(_executors(driver)[0], signal.SIGKILL)
    (folder / LOST).touch()
    assert done < TASKS, "the batch was over before the executor was killed"


@pytest.mark.timeout(400)
def test_an_executor_lost_behind_a_shuffle(tmp_path: Path) -> None:
    """Rows are routed by their content, so it does not matter in which order they arrive: the batch goes on, exactly."""
    write_input(tmp_path, FILES)
    with drive(tmp_path, script=SCRIPT) as driver:
        _lose_one(tmp_path, driver, 1)
        wait_for((tmp_path / "done").exists, 240, "the rest", alive=[driver])
    assert sink(tmp_path) == oracle(tmp_path)
    view = inspect_query(str(tmp_path / "state"))
    assert view.last_good == view.last_batch == FILES // EACH - 1
    assert not view.damage


@pytest.mark.timeout(400)
def test_an_executor_lost_behind_rows_that_do_not_repeat(tmp_path: Path) -> None:
    """Other values the second time: the batch fails before Spark commits it, and its replay goes on, exactly."""
    write_input(tmp_path, FILES)
    with drive(tmp_path, "--noise", script=SCRIPT) as driver:
        _lose_one(tmp_path, driver, 1)
        wait_for(lambda: driver.popen.poll() is not None, 240, "the end of the first driver")
    told = driver.path.read_text(errors="replace")
    assert "of batch 1 received different rows" in told and "start the query again" in told, driver.log()
    assert not (tmp_path / "checkpoint" / "commits" / "1").exists()
    with drive(tmp_path, "--noise", "--alone", script=SCRIPT, name="again") as again:
        wait_for((tmp_path / "done").exists, 240, "the last run", alive=[again])
    assert sink(tmp_path) == oracle(tmp_path)
    assert not inspect_query(str(tmp_path / "state")).damage
