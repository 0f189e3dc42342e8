"""SIGKILL in the batch in which documents are repartitioned: the Parquet sink holds exactly the oracle's pairs."""

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

from tests.crash.natural_driver import SPAN
from tests.crash.scene import EPOCH, drive, sink, wait_for
from tests.crash.test_kill import reached
from weft.observe import find_query, read_batch

pytestmark = pytest.mark.crash

BATCHES, ROWS = 5, 40


def document(n: int) -> dict[str, Any]:
    """Users and files change altogether every other batch, so that partitions are made anew."""
    phase = n // (2 * ROWS)
    return {"user": phase * 10 + n % 7, "ok": n % 4 == 0} if n % 3 else {"user": phase * 10 + n % 7, "file": n % 5}


@pytest.mark.timeout(300)  # two starts of Spark; 54 s on a busy machine
def test_killed_while_documents_are_repartitioned(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    docs = [document(n) for n in range(BATCHES * ROWS)]
    for batch in range(BATCHES):
        numbers = range(batch * ROWS, (batch + 1) * ROWS)
        texts = pa.array([json.dumps(docs[n]) for n in numbers], pa.string())
        path = tmp_path / "documents" / f"{batch:03}.parquet"
        pq.write_table(pa.table({"n": pa.array(numbers, pa.int64()), "document": texts}), path)
        os.utime(path, (EPOCH + batch, EPOCH + batch))
    script = Path(__file__).with_name("natural_driver.py")
    with drive(tmp_path, script=script) as driver:  # batch 2 is the first one that partitions route: all state moves
        wait_for(partial(reached, tmp_path, 2, "first manifest"), 140, "batch 2", alive=[driver])
        driver.kill()
    assert not (tmp_path / "done").exists()
    with drive(tmp_path, script=script) as driver:
        wait_for((tmp_path / "done").exists, 140, "the last run", alive=[driver])
    expected = [
        (i, j) for i, j in itertools.combinations(range(len(docs)), 2) if j - i <= SPAN and _joins(docs[i], docs[j])
    ]
    assert len(expected) > 300 and sink(tmp_path) == expected
    query = find_query(str(tmp_path / "state"))
    assert any(one.migration for batch in range(BATCHES) if (one := read_batch(query, batch)) is not None)


def _joins(a: dict[str, Any], b: dict[str, Any]) -> bool:
    common = a.keys() & b.keys()
    return bool(common) and all(a[key] == b[key] for key in common)
