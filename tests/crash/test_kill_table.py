"""SIGKILL while rows are looked up, and another table before the next start: a batch that runs again sees the old one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.crash.scene import drive, sink, wait_for, write_input
from tests.crash.table_driver import ON

pytestmark = pytest.mark.crash

DRIVER = Path(__file__).with_name("table_driver.py")
ROWS = 250


@pytest.mark.timeout(900)
def test_a_batch_that_was_killed_sees_its_table_again(tmp_path: Path) -> None:
    files, kills = 5, (0, 3)
    write_input(tmp_path, files, ROWS)
    commits, inside = tmp_path / "checkpoint" / "commits", dict[int, int]()
    for version, batch in enumerate(kills):
        _write_table(tmp_path, version)
        pinned = lambda batch=batch: any((tmp_path / "state" / "tables").glob(f"*/{batch}.json"))
        with drive(tmp_path, script=DRIVER) as driver:
            wait_for(pinned, 240, f"batch {batch}", alive=[driver])
            driver.kill()
        if not (commits / str(batch)).exists():
            inside[batch] = version
    _write_table(tmp_path, len(kills))
    with drive(tmp_path, script=DRIVER) as driver:
        wait_for((tmp_path / "done").exists, 240, "the last run", alive=[driver])

    assert inside, "no kill hit the middle of a batch"
    found = sink(tmp_path)
    with duckdb.connect() as connection:
        table, rows = f"'{tmp_path}/table/*.parquet'", f"'{tmp_path}/left/*.parquet'"
        expected = connection.sql(f"select l.id from {rows} l left join {table} r on {ON} order by all").fetchall()
    assert [row for row, _ in found] == [row for (row,) in expected]
    versions = [{version for row, version in found if row // ROWS == batch} - {None} for batch in range(files)]
    assert all(len(each) == 1 for each in versions), "rows of one batch saw two versions"
    seen = [version for (version,) in versions]
    assert seen == sorted(seen) and seen[-1] == len(kills)
    assert {batch: seen[batch] for batch in inside} == inside


def _write_table(folder: Path, version: int) -> None:
    """Replace the table; ranges overlap, and there is nothing in some places."""
    low = [200 * number for number in range(-20, 30)]
    table = pa.table(
        {"low": low, "high": [first + 150 + first % 3 * 100 for first in low], "version": [version] * len(low)}
    )
    (folder / "table").mkdir(exist_ok=True)
    pq.write_table(table, folder / "aside")
    (folder / "aside").replace(folder / "table" / "all.parquet")
