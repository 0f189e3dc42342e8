"""SIGKILL in the batch in which state moves between tasks: the Parquet sinks hold exactly the oracle's pairs."""

from __future__ import annotations

import itertools
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.crash.driver import CONDITIONS
from tests.crash.migrating_driver import JOINS, SPAN
from tests.crash.scene import EPOCH, drive, oracle, sink, wait_for, write_input
from tests.crash.test_kill import reached
from weft.observe import find_query, read_batch

pytestmark = pytest.mark.crash

SCRIPT = Path(__file__).with_name("migrating_driver.py")
BATCHES, ROWS = 5, 40
MOVING = 2
"""The first batch that is routed by what was measured: an adaptive scheme moves state in it."""


@pytest.mark.timeout(900)
def test_killed_while_state_migrates(tmp_path: Path) -> None:
    """The driver dies in that batch of each join, when some of its manifests are there; the next driver goes on with it."""
    docs = _write_documents(tmp_path / "documents")
    for name in ("adsp", "fastjoin"):
        write_input(tmp_path / name, BATCHES)
    for name in JOINS:
        with drive(tmp_path, script=SCRIPT) as driver:
            come = partial(reached, tmp_path / name, MOVING, "first manifest")
            wait_for(come, 240, f"batch {MOVING} of {name}", alive=[driver])
            driver.kill()
        assert not (tmp_path / "done").exists()
    with drive(tmp_path, script=SCRIPT) as driver:
        wait_for((tmp_path / "done").exists, 240, "the last run", alive=[driver])

    for name in ("adsp", "fastjoin"):
        assert sink(tmp_path / name) == oracle(tmp_path / name, CONDITIONS[name]), name
    pairs = itertools.combinations(range(len(docs)), 2)
    expected = [(i, j) for i, j in pairs if j - i <= SPAN and _joins(docs[i], docs[j])]
    assert len(expected) > 300 and sink(tmp_path / "documents") == expected
    for name in JOINS:
        moved = read_batch(find_query(str(tmp_path / name / "state")), MOVING)
        assert moved is not None and moved.migration, f"{name}: no plan changed in the batch that was killed"


def _write_documents(folder: Path) -> list[dict[str, Any]]:
    """Write a file of documents per batch."""
    (folder / "documents").mkdir(parents=True)
    docs = [_document(n) for n in range(BATCHES * ROWS)]
    for batch in range(BATCHES):
        numbers = range(batch * ROWS, (batch + 1) * ROWS)
        texts = pa.array([json.dumps(docs[n]) for n in numbers], pa.string())
        path = folder / "documents" / f"{batch:03}.parquet"
        pq.write_table(pa.table({"n": pa.array(numbers, pa.int64()), "document": texts}), path)
        os.utime(path, (EPOCH + batch, EPOCH + batch))
    return docs


def _document(n: int) -> dict[str, Any]:
    """Users and files change altogether every other batch, so that partitions are made anew."""
    phase = n // (2 * ROWS)
    return {"user": phase * 10 + n % 7, "ok": n % 4 == 0} if n % 3 else {"user": phase * 10 + n % 7, "file": n % 5}


def _joins(a: dict[str, Any], b: dict[str, Any]) -> bool:
    common = a.keys() & b.keys()
    return bool(common) and all(a[key] == b[key] for key in common)
