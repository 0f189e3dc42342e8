"""Two drivers at work on one checkpoint, or on copies of one: the sink holds the oracle's pairs, or there is an error."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.crash.scene import drive, oracle, sink, wait_for, write_input
from tests.crash.test_kill import reached
from weft.observe import inspect_query
from weft_lab.torture.processes import Spawned

pytestmark = pytest.mark.crash

FILES = 6
RETAINED = 2  # batches, besides the last (`quick_session`)
TOLD = (
    "Another run of this query has taken over",  # Weft
    "CONCURRENT_STREAM_LOG_UPDATE", "Concurrent update to the", "Multiple streaming", "Race while writing batch",  # Spark
)  # fmt: skip


def _signal(driver: Spawned, number: signal.Signals) -> None:
    for pid in driver.members():
        with suppress(ProcessLookupError):  # a worker may end while we look
            os.kill(pid, number)


def _ended(driver: Spawned) -> bool:
    return driver.popen.poll() is not None


def _why(driver: Spawned) -> str:
    """Return which of the known errors a driver ended with; fail if it is another one."""
    text = driver.path.read_text(errors="replace")
    told = next((words for words in TOLD if words in text), None)
    assert told is not None, driver.log()
    return told


@pytest.mark.timeout(400)
def test_a_driver_that_slept_wakes_up_after_another_took_over(tmp_path: Path) -> None:
    """SIGSTOP in the middle of a batch; another, with other tasks, finishes it and more; SIGCONT; a third one goes on."""
    write_input(tmp_path, FILES)
    with drive(tmp_path) as first:
        wait_for(partial(reached, tmp_path, 2, "first manifest"), 240, "batch 2", alive=[first])
        _signal(first, signal.SIGSTOP)
        assert not (tmp_path / "checkpoint" / "commits" / str(FILES - 1)).exists()
        with drive(tmp_path, "--tasks", "2", name="second") as second:
            wait_for((tmp_path / "done").exists, 240, "the second driver", alive=[second])
        assert sink(tmp_path) == oracle(tmp_path)
        _signal(first, signal.SIGCONT)
        wait_for(partial(_ended, first), 120, "the end of the first driver")
        assert first.popen.returncode != 0
        assert _why(first)
    assert inspect_query(str(tmp_path / "state")).last_good == FILES - 1

    (tmp_path / "done").unlink()
    write_input(tmp_path, 2, first=FILES)
    with drive(tmp_path, "--tasks", "2", name="third") as third:
        wait_for((tmp_path / "done").exists, 240, "the third driver", alive=[third])
    assert sink(tmp_path) == oracle(tmp_path)
    view = inspect_query(str(tmp_path / "state"))
    assert view.last_good == view.last_batch == FILES + 1
    assert not view.damage


@pytest.mark.timeout(400)
def test_two_drivers_run_at_once(tmp_path: Path) -> None:
    """Whoever loses says why; what is left is finished by one more run."""
    write_input(tmp_path, FILES)
    with drive(tmp_path) as first:
        wait_for(partial(reached, tmp_path, 0, "planned"), 240, "batch 0", alive=[first])
        with drive(tmp_path, "--tasks", "2", name="second") as second:
            wait_for(lambda: _ended(first) and _ended(second), 240, "the end of both")
            for driver in (first, second):
                assert driver.popen.returncode == 0 or _why(driver)
    (tmp_path / "done").unlink(missing_ok=True)
    with drive(tmp_path, name="last") as last:
        wait_for((tmp_path / "done").exists, 240, "the last run", alive=[last])
    assert sink(tmp_path) == oracle(tmp_path)
    view = inspect_query(str(tmp_path / "state"))
    assert view.last_batch is not None
    # A slow loser may write a batch that nobody can ask for any more; it lies there until the next sweep.
    oldest = view.last_batch - RETAINED
    assert not [one for one in view.damage if one.batch is None or one.batch >= oldest]
