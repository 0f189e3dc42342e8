"""An inequality join with more pairs in one batch than fit into its Python worker: they leave in chunks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import resource, sys
from pathlib import Path
import weft

folder, rows, text = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
spark = weft.session("memory", master="local[1]", state=(folder / "state").as_uri(), conf={
    "spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.executor.pyspark.memory": "1g",
    "spark.python.worker.reuse": "false",
})
for side in ("left", "right"):
    spark.range(rows).selectExpr("id", "id AS v", f"{text} AS s").coalesce(1).write.parquet(str(folder / side))
left, right = (spark.readStream.schema("id long, v long, s string").parquet(str(folder / side)) for side in ("left", "right"))

def peak(batches):
    import pyarrow as pa
    rows = 0
    for batch in batches:
        rows += batch.num_rows
    yield pa.record_batch([pa.array([rows], pa.int64()), pa.array([limit()[0]], pa.int64())], names=["rows", "limit"])

def limit():
    import resource
    return resource.getrlimit(resource.RLIMIT_AS)

joined = weft.join(left, right, on="l.v > r.v", window=weft.unbounded(), tasks=1)
counted = joined.mapInArrow(peak, "rows long, `limit` long")
query = (counted.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
         .trigger(availableNow=True).start(str(folder / "out")))
query.awaitTermination()
row = spark.read.parquet(str(folder / "out")).selectExpr("sum(rows)", "max(`limit`)").first()
print("RESULT", row[0], row[1])
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("rows", "text"),
    [
        pytest.param(1_600, "lpad(id, 450, '.')", id="a million pairs of 930 bytes"),
        pytest.param(10_000, "cast(id AS string)", id="fifty million pairs of 60 bytes", marks=pytest.mark.long),
    ],
)
def test_a_worker_of_one_gib(tmp_path, rows: int, text: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "data"), str(rows), text], env=environment, cwd=tmp_path,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert found, done.stderr[-3000:]
    pairs, limit = map(int, found[0][1:])
    assert pairs == rows * (rows - 1) // 2
    assert limit == 1 << 30
