"""The state on a real S3 server: drivers that sleep and die in the middle of batches, and one that wakes up too late."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.crash.driver import CONDITIONS
from tests.crash.scene import drive, oracle, sink, wait_for, write_input
from tests.s3 import Served, serving
from weft.observe import inspect_query
from weft_lab.torture.processes import Spawned

pytestmark = pytest.mark.crash

FILES = 6


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "s3").mkdir()
    with serving(tmp_path / "s3") as served:
        yield served


def _written(s3: Served, batch: int) -> bool:
    """Tell whether a task has written its manifest of a batch."""
    return any(key.endswith(f"/0-99/{batch}.json") and "/plans/" not in key for key in s3.files())


def _begun(s3: Served, folder: Path, batch: int) -> bool:
    return _written(s3, batch) or (folder / "checkpoint" / "commits" / str(batch)).exists()


@pytest.mark.timeout(600)
def test_drivers_that_sleep_and_die_in_the_middle_of_batches(tmp_path: Path, s3: Served) -> None:
    """The first one sleeps, the second one dies, the third one finishes, each with other tasks; the first must not go on."""
    write_input(tmp_path, FILES)
    options = ("--state", s3.uri(), "--scheme", "fastjoin")
    with drive(tmp_path, *options) as first:
        wait_for(partial(_begun, s3, tmp_path, 1), 240, "batch 1", alive=[first])
        _signal(first, signal.SIGSTOP)
        with drive(tmp_path, "--tasks", "2", *options, name="second") as second:
            wait_for(partial(_begun, s3, tmp_path, 3), 240, "batch 3", alive=[second])
            second.kill()
        assert not (tmp_path / "done").exists()
        with drive(tmp_path, *options, name="third") as third:
            wait_for((tmp_path / "done").exists, 240, "the last run", alive=[third])
        assert sink(tmp_path) == oracle(tmp_path, CONDITIONS["fastjoin"])
        _signal(first, signal.SIGCONT)
        wait_for(lambda: first.popen.poll() is not None, 120, "the end of the first driver")
        assert first.popen.returncode != 0
    assert sink(tmp_path) == oracle(tmp_path, CONDITIONS["fastjoin"])
    view = inspect_query(s3.uri())
    assert view.last_good == view.last_batch and not view.damage and not view.foreign


def _signal(driver: Spawned, number: signal.Signals) -> None:
    for pid in driver.members():
        with suppress(ProcessLookupError):  # a worker may end while we look
            os.kill(pid, number)
