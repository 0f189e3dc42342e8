"""The benchmark of two bands, on few rows, in a process of its own: Polars counts its threads when it is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from weft_lab.bench.bands import CASES


@pytest.mark.bench
def test_contestants_agree_on_every_case() -> None:
    words = ["bench", "bands", "--rows", "3000", "--repeat", "1", "--json"]
    done = subprocess.run([sys.executable, "-m", "weft_lab", *words], capture_output=True, text=True, check=True)
    found = {one["case"]: one for one in json.loads(done.stdout)}
    assert list(found) == list(CASES)
    assert all(
        one["pairs"] > 0 and {"weft_s", "duckdb_grid_s", "duckdb_s", "polars_s"} <= set(one) for one in found.values()
    )
