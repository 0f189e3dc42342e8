"""The benchmark of as-of joins, on few rows, in a process of its own: Polars counts its threads when it is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.bench
def test_it_measures_all_three_and_they_agree() -> None:
    words = ["bench", "asof", "--rows", "20000", "--symbols", "50", "--repeat", "1", "--json"]
    done = subprocess.run([sys.executable, "-m", "weft_lab", *words], capture_output=True, text=True, check=True)
    backward, nearest = json.loads(done.stdout)
    assert backward["matched"] > 19_000 and {"weft_s", "polars_s", "duckdb_s", "over_polars"} <= set(backward)
    assert 0 < nearest["matched"] < 20_000 and "duckdb_s" not in nearest
