"""Not in the paper: what `scheme="auto"` makes of skew that a plain hash cannot bear."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from weft.routing import FastJoin, Hash, Scheme
from weft.spec import last
from weft_lab.papers.figure import Figure
from weft_lab.simulation import Measured, imbalance_of, measure
from weft_lab.workloads import zipf_keys

__all__ = ["figure_auto"]

TASKS, BATCHES, WARM, KEYS = 8, 14, 8, 5000
SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0)

AUTO = FastJoin(threshold=1.5, load="work", biclique=False, split_hot=True, calls=2, enough=100.0)
"""As `choose` configures it, but for smaller batches."""


@cache
def _run(scheme: Scheme, z: float, rows: int) -> Measured:
    rng = np.random.default_rng(5)
    names = rng.permutation(KEYS)
    batches = [[pa.table({"id": np.arange(rows), "key": names[zipf_keys(rng, rows, KEYS, z)]}) for _ in range(BATCHES)]
               for _ in range(2)]  # fmt: skip
    return measure(batches[0], batches[1], scheme, TASKS, window=last(2 * rows)).after(WARM)


def figure_auto(scale: float) -> Figure:
    """Compare the busiest task's work under a plain hash and under `auto`."""
    rows = max(200, round(1500 * scale))
    table = []
    for z in SKEWS:
        plain, auto = _run(Hash(), z, rows), _run(AUTO, z, rows)
        assert plain.pairs == auto.pairs
        busiest = [float(np.mean([imbalance_of(batch.work) for batch in run.batches])) for run in (plain, auto)]
        asked = sum(b.asked.sum() for b in auto.batches) / sum(b.asked.sum() for b in plain.batches)
        table.append((z, *busiest, float(asked), plain.peak_work / auto.peak_work))
    even, worst = table[0], table[-1]
    return Figure(
        "auto", "A hash that adapts", "Ours: no cost without skew, balanced work with any skew.",
        ("Zipf z", "hash, busiest / mean", "auto, busiest / mean", "lookups over hash", "peak work saved, x"),
        tuple(table), even[3] == 1.0 and all(row[2] < 1.5 for row in table) and worst[4] > 2,
        f"At z = 2 the busiest task does {worst[1]:.1f} times the mean under a hash, {worst[2]:.2f} under auto, for "
        f"{worst[3]:.1f} times the lookups; the busiest task's work (lookups and pairs) falls {worst[4]:.1f}-fold. "
        f"Without skew every row asks {even[3]:.2f} tasks. Batches this small say nothing of seconds.",
        y="busiest task over mean",
    )  # fmt: skip
