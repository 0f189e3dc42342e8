"""Figures 1, 3, 4 and 11: skew, imbalance, throughput and latency while a stream runs."""

from __future__ import annotations

import numpy as np

from weft_lab.papers.fastjoin.runs import BATCHES, PLACES, SYSTEMS, TASKS, WARM, rides
from weft_lab.papers.figure import Figure
from weft_lab.workloads import ride_orders, ride_tracks

__all__ = ["figure_1a", "figure_1c", "figure_3", "figure_4", "figure_11"]

PAPER = ("003-26", "003-28", "003-30", "003-31", "003-33")


def figure_1a(scale: float) -> Figure:
    """Show how much of the orders and tracks the busiest places have."""
    rows = max(20_000, round(200_000 * scale))
    shares = []
    for made in (ride_orders(11, rows, PLACES), ride_tracks(11, rows, PLACES)):
        counts = np.sort(np.bincount(made.column("place").to_numpy(), minlength=PLACES))[::-1]
        shares.append(np.cumsum(counts) / counts.sum())
    points = [0.05, 0.1, 0.2, 0.24, 0.4, 0.6, 0.8, 1.0]
    table = tuple((p, *(float(share[int(p * PLACES) - 1]) for share in shares)) for p in points)
    orders, tracks = table[2][1], table[3][2]
    return Figure(
        "1a,b", "Key distribution", "20 % of the places have 80 % of the orders, 24 % have 80 % of the tracks.",
        ("share of places", "orders", "tracks"), table, abs(orders - 0.8) < 0.02 and abs(tracks - 0.8) < 0.02,
        f"The generator gives {orders:.1%} of the orders to 20 % and {tracks:.1%} of the tracks to 24 % of the places.",
        ("003-28", "003-30"), "share of rows",
    )  # fmt: skip


def figure_1c(scale: float) -> Figure:
    """Show the loads of tasks under BiStream, and what imbalance costs."""
    run = rides(SYSTEMS["BiStream"], TASKS, scale)
    rows = []
    for number, batch in enumerate(run.measured.batches):
        loads = batch.loads / max(float(batch.loads.mean()), 1.0)
        ideal = float(batch.loads.mean()) / max(float(batch.loads.max()), 1.0)
        rows.append((number, float(loads.min()), float(np.median(loads)), float(loads.max()), ideal))
    late = rows[WARM:]
    lost = 1 - float(np.mean([row[4] for row in late]))
    return Figure(
        "1c,d", "Imbalance under hash partitioning", "Loads of hash-partitioned tasks drift apart, and throughput falls.",
        ("batch", "lightest / mean", "median / mean", "heaviest / mean", "throughput / balanced"), tuple(rows),
        float(np.mean([row[3] for row in late])) > 1.3,
        f"The heaviest task sets the pace: {lost:.0%} of the throughput of balanced tasks is lost. Imbalance is there from "
        "the first batches, where the paper's tasks begin about equal.",
        ("003-30",), "load over mean load",
    )  # fmt: skip


def _over_time(scale: float, of: str) -> tuple[tuple[float, ...], ...]:
    runs = {name: rides(scheme, TASKS, scale) for name, scheme in SYSTEMS.items()}
    rows = []
    for number in range(BATCHES):
        if of == "LI":
            rows.append((number, *(run.imbalance(number) for run in runs.values())))
        else:
            found = (getattr(run, of + "_of")([run.measured.batches[number]]) for run in runs.values())
            rows.append((number, *found))
    return tuple(rows)


def figure_3(scale: float) -> Figure:
    """Compare throughput over time."""
    rows = _over_time(scale, "throughput")
    fast, cont, bi = (rides(scheme, TASKS, scale).throughput for scheme in SYSTEMS.values())
    return Figure(
        "3", "Throughput over time", "FastJoin: +16 % over ContRand, +31.7 % over BiStream; ContRand beats BiStream mostly.",
        ("batch", *SYSTEMS), rows, fast > bi and fast > cont,
        f"FastJoin {fast / cont - 1:+.0%} over ContRand, {fast / bi - 1:+.0%} over BiStream behind the warm-up. ContRand is "
        f"{'above' if cont > bi else 'below'} BiStream: in the load model asking both members of a pair doubles the lookups, "
        "which outweighs the better balance unless one key is hot by itself.",
        ("003-30", "003-31", "003-26"), "pairs per million comparisons of the heaviest task",
    )  # fmt: skip


def figure_4(scale: float) -> Figure:
    """Compare latency over time."""
    rows = _over_time(scale, "latency")
    fast, cont, bi = (rides(scheme, TASKS, scale).latency for scheme in SYSTEMS.values())
    return Figure(
        "4", "Latency over time", "FastJoin: -15.3 % against ContRand, -17.5 % against BiStream.",
        ("batch", *SYSTEMS), rows, fast < bi and fast < cont,
        f"FastJoin {fast / cont - 1:+.1%} against ContRand, {fast / bi - 1:+.1%} against BiStream, in comparisons per lookup. "
        "There is no queue in a micro-batch, so the part of the paper's latency that is waiting does not show.",
        ("003-30", "003-31", "003-26"), "comparisons per lookup",
    )  # fmt: skip


def figure_11(scale: float) -> Figure:
    """Show LI over time."""
    rows = _over_time(scale, "LI")
    run = rides(SYSTEMS["FastJoin"], TASKS, scale)
    first = next((number for number, batch in enumerate(run.measured.batches) if batch.migrated), None)
    settled = float(np.median([row[1] for row in rows[WARM:]]))
    others = float(np.median([row[3] for row in rows[WARM:]]))
    return Figure(
        "11", "Degree of load imbalance over time",
        "LI starts at about 2.5, falls to 1.9 with the first migration and stays below 2.2; the others do not change.",
        ("batch", *SYSTEMS), rows, first is not None and settled < min(2.2, others),
        f"First migration in batch {first}, {run.measured.migrations} in all; median LI afterwards {settled:.2f}, BiStream "
        f"{others:.2f}. LI here takes the arrivals of three batches, which vary by themselves; statistics of a batch become a "
        "plan two batches later.",
        ("003-30", "003-33"), "heaviest / lightest",
    )  # fmt: skip
