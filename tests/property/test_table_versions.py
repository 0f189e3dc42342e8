"""Whatever is killed, restarted, refreshed and collected: all tasks of a batch see one version, and a replay sees it again."""

from __future__ import annotations

import tempfile

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from weft.index import Run
from weft.state import TablePin, TableShelf
from weft.types import Block

PAYLOAD = pa.schema({"r0": pa.int64()})
RETAIN = 2


class Life:
    """A query and the driver that reads its table: every version has a content of its own."""

    def __init__(self, folder: str) -> None:
        self.shelf, self.starts, self.made = TableShelf(folder), 0, 0
        self.batch, self.seen = 0, dict[int, int]()
        self.start()

    def start(self) -> None:
        """Start the query; the table is read anew."""
        self.starts += 1
        self.number = 0
        self.mine = TablePin(self._version(), f"run {self.starts}", f"join {self.starts}", "spec")
        self.newest = self.made

    def _version(self):
        self.made += 1
        words = np.full((1, 1), self.made, np.int64)
        run = Run.of(
            Block(words, np.zeros(1, np.uint32), pa.table({"r0": words[0]}, schema=PAYLOAD)), np.zeros(1, np.int32)
        )
        return self.shelf.write(f"start {self.starts}", f"{self.number}-0-{self.made:08x}.arrow", run)

    def refresh(self) -> None:
        """Read the table again beside the running query."""
        self.number += 1
        self.shelf.publish(self._version())

    def task(self, *, lead: bool, empty: bool) -> None:
        """Run one task of the batch: what it sees is what all others see, in every attempt."""
        if not empty:
            version = self.shelf.pinned("q", self.batch, self.mine).version
            value = self.shelf.read(version, PAYLOAD).payload.column(0)[0].as_py()
            assert self.seen.setdefault(self.batch, value) == value
        if lead:
            self.shelf.pin_next("q", self.batch, self.shelf.pinned("q", self.batch, self.mine), self.mine)
            self.shelf.collect("q", self.batch, RETAIN, self.mine)


@share(0.5)
@given(data=st.data())
def test_a_batch_sees_one_version(data) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(folder)
        for _ in range(data.draw(st.integers(1, 12), "steps")):
            step = data.draw(st.sampled_from(["batch", "batch", "refresh", "kill", "rewind"]), "step")
            if step == "refresh":
                life.refresh()
                continue
            tasks = data.draw(st.permutations(range(3)), "tasks")
            empty = data.draw(st.sets(st.integers(0, 2)), "empty")
            if step == "kill":  # in the middle of a batch, which then runs again
                for task in tasks[: data.draw(st.integers(0, 3), "killed after")]:
                    life.task(lead=task == 0, empty=task in empty)
                life.start()
            if step == "rewind" and life.batch:  # the last batch was not committed
                life.batch -= 1
                life.start()
            for task in tasks:
                if data.draw(st.booleans(), "meanwhile"):
                    life.refresh()
                life.task(lead=task == 0, empty=task in empty)
            life.batch += 1


def test_a_refresh_is_seen_two_batches_later_at_the_latest(tmp_path) -> None:
    life = Life(str(tmp_path))
    for number in range(6):
        for task in range(3):
            life.task(lead=task == 0, empty=False)
        life.batch += 1
        if number == 2:
            life.refresh()
    assert life.seen == {0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2}
