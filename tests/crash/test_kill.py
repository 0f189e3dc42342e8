"""SIGKILL at random moments: the Parquet sink holds exactly the oracle's pairs."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.crash.scene import drive, oracle, sink, wait_for, write_input
from weft.observe import inspect_query
from weft_lab.torture.processes import Spawned, committed_files

pytestmark = pytest.mark.crash

MOMENTS = ("planned", "first manifest", "planned", "output")


@pytest.mark.timeout(1200)  # under a minute on an idle machine, the long one under three
@pytest.mark.parametrize(("files", "kills"), [(12, 4), pytest.param(25, 10, marks=pytest.mark.long)])
def test_driver_killed_at_random_moments(tmp_path: Path, files: int, kills: int) -> None:
    """JVM, driver and Python workers die together, in the middle of batches, also of those in which state migrates."""
    write_input(tmp_path, files)
    draw = random.Random(20261115)
    # Batch 0 writes the first state, batch 2 is routed by the first ranges: a migration of all state. The rest is chance.
    batches = [0, 2, *sorted(draw.sample(range(3, files - 5), kills - 2))]
    inside: Counter[bool] = Counter()
    commits = tmp_path / "checkpoint" / "commits"
    for batch, moment in zip(batches, itertools.cycle(MOMENTS), strict=False):
        with drive(tmp_path) as driver:
            come = partial(reached, tmp_path, batch, moment)
            wait_for(come, 240, f"batch {batch} {moment}", alive=[driver])
            time.sleep(draw.uniform(0, 0.4))
            driver.kill()
        inside[not (commits / str(batch)).exists()] += 1
        assert not (tmp_path / "done").exists()
    with drive(tmp_path) as driver:
        wait_for((tmp_path / "done").exists, 240, "the last run", alive=[driver])

    expected = oracle(tmp_path)
    assert len(expected) > 400 * files
    assert sink(tmp_path) == expected
    assert inside[True] >= kills // 2, "too few kills hit the middle of a batch to prove anything"
    view = inspect_query(str(tmp_path / "state"))
    # A kill between Spark's log of files and its log of offsets makes one batch of two files.
    assert view.last_good == view.last_batch == max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
    assert view.last_batch >= files - 1 - kills // 2
    assert view.plan["scheme"] == "range"  # it began as a matrix
    assert not view.damage


def reached(folder: Path, batch: int, moment: str) -> bool:
    """Tell whether a batch has come so far, or further."""
    if (folder / "checkpoint" / "commits" / str(batch)).exists():
        return True
    if moment == "planned":
        return (folder / "checkpoint" / "offsets" / str(batch)).exists()
    if moment == "first manifest":
        return any(folder.glob(f"state/*/*/{batch}.json"))
    return any((folder / "out" / "_spark_metadata").glob(f"{batch}*"))


@pytest.mark.timeout(400)
def test_worker_killed_on_a_real_cluster(tmp_path: Path) -> None:
    """A standalone cluster: one of two workers dies with its executor, another one is started, the query goes on."""
    batches = 8
    write_input(tmp_path, batches)
    with _Cluster(tmp_path) as cluster:
        first = cluster.worker()
        cluster.worker()
        options = ["--master", cluster.url, "--tasks", "3"]
        for conf in ("spark.executor.memory=512m", "spark.executor.cores=1", "spark.task.maxFailures=8"):
            options += ["--conf", conf]
        with drive(tmp_path, *options) as driver:
            commits = tmp_path / "checkpoint" / "commits"
            wait_for((commits / "2").exists, 150, "three batches", alive=[driver, *cluster.alive])
            wait_for((commits.parent / "offsets" / "4").exists, 60, "the fifth batch", alive=[driver, *cluster.alive])
            time.sleep(0.15)
            executors = len(first.members())
            cluster.kill(first)
            assert executors > 1  # the worker had an executor, and it died too
            assert not (commits / str(batches - 1)).exists()
            cluster.worker()
            wait_for((tmp_path / "done").exists, 200, "the rest", alive=[driver, *cluster.alive])
    assert sink(tmp_path) == oracle(tmp_path)
    assert len(committed_files(tmp_path / "out")) >= batches
    view = inspect_query(str(tmp_path / "state"))
    assert view.last_good == view.last_batch == batches - 1
    assert not view.damage


class _Cluster:
    """A master and its workers, all gone at the end whatever happens."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        self.alive: list[Spawned] = []
        self.url = ""

    def __enter__(self) -> _Cluster:
        try:
            master = self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            wait_for(lambda: bool(self._announced(master)), 60, "a master", alive=[master])
            self.url = self._announced(master)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.alive):
            process.kill()

    def worker(self) -> Spawned:
        """Start a worker with one core and wait until the master knows it."""
        number = len(list(self.folder.glob("worker-*.log")))
        place = ["--host", "127.0.0.1", "--webui-port", "0", "-d", str(self.folder / f"work-{number}")]
        options = ["-c", "1", "-m", "1g", *place]
        process = self._start(f"worker-{number}", "worker.Worker", *options, self.url)
        wait_for(
            lambda: "Successfully registered with master" in process.path.read_text(), 60, "a worker", alive=[process]
        )
        return process

    def kill(self, process: Spawned) -> None:
        self.alive.remove(process)
        process.kill()

    def _start(self, name: str, role: str, *options: str) -> Spawned:
        command = [self.spark_class, f"org.apache.spark.deploy.{role}", *options]
        process = Spawned(name, command, self.folder, SPARK_DAEMON_MEMORY="256m", SPARK_NO_DAEMONIZE="1")
        self.alive.append(process)
        return process

    def _announced(self, master: Spawned) -> str:
        """Return the master's address, once it has printed it."""
        for line in master.path.read_text().splitlines():
            if "Starting Spark master at spark://" in line:
                return "spark://" + line.rpartition("spark://")[2].strip()
        return ""
