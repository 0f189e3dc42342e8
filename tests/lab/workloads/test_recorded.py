"""Recorded trips and readings take the place of generated ones where WEFT_DATA names them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weft_lab.papers.sta import FIGURES, sweeps
from weft_lab.workloads import recorded, recorded_readings, recorded_trips

pytestmark = pytest.mark.data


@pytest.fixture
def recordings(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_DATA", str(data_dir))
    for cached in (recorded._columns, sweeps._run):
        cached.cache_clear()
    yield
    for cached in (recorded._columns, sweeps._run):
        cached.cache_clear()


@pytest.mark.paper("000-49")
def test_trips_are_those_of_the_file_and_begin_anew_behind_its_end(recordings):
    trips = recorded_trips(205_060, every=1000)
    assert trips is not None and trips.column_names == ["id", "t", "fare", "distance"]
    assert trips["fare"][0] == trips["fare"][205_059] and np.diff(trips["t"].to_numpy()).tolist() == [1000] * 205_059
    few = np.sort(np.unique(trips["fare"].to_numpy(), return_counts=True)[1])[::-1]
    assert few[:32].sum() > 0.4 * few.sum(), "few fares make up most trips"


@pytest.mark.paper("000-50")
def test_readings_are_those_of_two_cells(recordings):
    both = recorded_readings(3000, every=10)
    assert both is not None
    assert all(one.column_names == ["id", "t", "v", "i"] and one.num_rows == 3000 for one in both)
    assert both[0]["v"] != both[1]["v"]


def test_nothing_is_recorded_without_the_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WEFT_DATA", raising=False)
    recorded._columns.cache_clear()
    assert recorded_trips(10, every=1) is None and recorded_readings(10, every=1) is None


def test_a_figure_runs_on_what_is_recorded(recordings):
    assert FIGURES["13"](0.34).rows
