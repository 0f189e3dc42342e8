"""The figures of the PIM-Tree paper run, at a scale that shows nothing but that they run."""

from __future__ import annotations

import numpy as np
import pytest

from weft_lab.papers.pim import FIGURES
from weft_lab.papers.pim.streams import DISTRIBUTIONS, band_for, drifting, keys_of

TINY = 2.0**-9
EVERY = (
    "8a 8b 8c 9a 9b 9c 9d 10a 10b 10c 11a 11b 11c 12a 12b 12c 13a 13b 13c batches cost speed".split()  # noqa: SIM905  as listed
)


def test_every_figure_is_there() -> None:
    assert list(FIGURES) == EVERY


def run(name: str) -> None:
    figure = FIGURES[name](TINY)
    assert figure.id == name
    assert figure.papers and figure.verdict
    assert len(figure.rows) > 1
    assert all(len(row) == len(figure.columns) for row in figure.rows)
    assert all(value >= 0 for row in figure.rows for value in row[1:])


@pytest.mark.parametrize("name", ["8b", "10a", "10b", "11c", "13b"])
def test_a_figure_runs(name: str) -> None:
    run(name)


@pytest.mark.bench
@pytest.mark.parametrize("name", EVERY)
def test_every_figure_runs(name: str) -> None:
    run(name)


@pytest.mark.paper("002-26", "002-32", "002-33")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_band_gives_the_match_rate(name: str) -> None:
    keys = keys_of(name, 1 << 14, 3)
    for window, rate in ((1 << 12, 2.0), (1 << 13, 8.0)):
        band = band_for(keys, window, rate)
        held, probes = keys[:window], keys[window : window + 2000]
        met = (np.abs(probes[:, None] - held) <= band).sum(axis=1).mean()
        assert met == pytest.approx(rate, rel=0.25)


@pytest.mark.paper("002-33")
def test_a_drift_ends_where_it_should() -> None:
    keys = drifting(1000, 3000, 0.8, 1) / (1 << 36)
    assert keys[:1000].mean() == pytest.approx(0.5, abs=0.03)
    assert keys[-1000:].mean() == pytest.approx(1.3, abs=0.03)
