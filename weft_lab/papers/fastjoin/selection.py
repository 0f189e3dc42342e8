"""Figure 14: GreedyFit, SAFit and the optimum."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from weft.routing.fastjoin import Pair, greedy_fit
from weft_lab.papers.fastjoin.runs import PUBLISHED, TASKS, rides
from weft_lab.papers.figure import Figure
from weft_lab.schemes import SaFit, sa_fit
from weft_lab.workloads import zipf_keys

__all__ = ["figure_14", "figure_14_optimum"]

PAPER = ("003-10", "003-14", "003-15", "003-16", "003-30")


def figure_14(scale: float) -> Figure:
    """Latency over time with either selection."""
    greedy, safit = (rides(scheme, TASKS, scale) for scheme in (PUBLISHED, SaFit(**asdict(PUBLISHED))))
    rows = tuple(
        (number, *(run.latency_of([run.measured.batches[number]]) for run in (greedy, safit)))
        for number in range(len(greedy.measured.batches))
    )
    apart = safit.latency / greedy.latency - 1
    return Figure(
        "14", "GreedyFit and SAFit", "The two perform nearly the same.", ("batch", "GreedyFit", "SAFit"), rows,
        abs(apart) < 0.05,
        f"Latency {apart:+.1%} with SAFit, throughput {safit.throughput / greedy.throughput - 1:+.0%}; "
        f"{greedy.measured.migrations} and {safit.measured.migrations} migrations. SAFit maximises benefit per moved tuple, "
        "so it moves few keys at a time.",
        ("003-14", "003-15", "003-30"), "comparisons per lookup",
    )  # fmt: skip


def figure_14_optimum(scale: float) -> Figure:
    """Share of the gap that each selection closes, against exhaustive search over up to 14 keys."""
    rng = np.random.default_rng(3)
    rows = []
    for keys in (4, 6, 8, 10, 12, 14):
        closed = {"greedy": 0.0, "safit": 0.0, "optimum": 0.0}
        tries = max(3, round(30 * scale))
        for number in range(tries):
            pair = _problem(rng, keys)
            benefits, gap = pair.benefits(), pair.gap
            sums = ((np.arange(1 << keys)[:, None] >> np.arange(keys)) & 1) @ benefits
            closed["greedy"] += float(benefits[greedy_fit(pair)].sum()) / gap / tries
            closed["safit"] += float(benefits[sa_fit(pair, number)].sum()) / gap / tries
            closed["optimum"] += float(sums[sums < gap].max(initial=0.0)) / gap / tries
        rows.append((keys, closed["greedy"], closed["safit"], closed["optimum"]))
    last = rows[-1]
    return Figure(
        "14b", "Share of the gap closed", "GreedyFit is good enough: close to the optimum (§IV-A), at O(K log K).",
        ("keys", "GreedyFit", "SAFit", "optimum"), tuple(rows), last[1] > 0.9 * last[3] and all(r[1] <= r[3] for r in rows),
        f"With {last[0]} keys GreedyFit closes {last[1]:.0%} of the gap, the optimum {last[3]:.0%}, SAFit {last[2]:.0%}: its "
        "value is a ratio, which a small set maximises.",
        ("003-10", "003-15", "003-16", "003-30"), "share of L_i - L_j",
    )  # fmt: skip


def _problem(rng: np.random.Generator, keys: int) -> Pair:
    """Make a source with some Zipf keys and a target with half of its rows and arrivals."""
    stored, phi = (
        np.bincount(zipf_keys(rng, 40 * keys, keys, 0.8), minlength=keys).astype(np.float64) for _ in range(2)
    )
    both = np.array([[stored.sum(), stored.sum() / 2]]), np.array([[phi.sum(), phi.sum() / 2]])
    return Pair(*both, stored[None, :], phi[None, :])
