"""Figures 12 to 15: selectivity, volume ratios, and key frequencies that fluctuate."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from weft_lab.papers.adsp.runs import LIMIT, Run, fed, query_named, run, start, stream
from weft_lab.papers.figure import Figure
from weft_lab.simulation import Arrival, arrivals
from weft_lab.workloads import fluctuating, ratios, zipf_counts

__all__ = ["adjustments", "fluctuation", "migration_under_ratios", "selectivity_tasks", "selectivity_throughput"]

Rows: TypeAlias = tuple[tuple[Any, ...], ...]

SYSTEMS = ("A-DSP", "Square", "Dynamic", "Bi6", "Bi")
WIDTHS = ("Social 0", "Social 3", "Social any")


def _rows(scale: float) -> int:
    return max(200, round(1_500 * scale))


def _social(system: str, width: str, scale: float) -> Run:
    return run(system, width, 1.0, _rows(scale), 24, 3.6, 2)


def selectivity_tasks(scale: float) -> Figure:
    """Fig. 12a: tasks by selectivity."""
    systems = ("A-DSP", "Square", "Dynamic", "Bi", "Readj")
    rows: Rows = tuple(
        (f"ds = {w.split()[1]}", *(round(_social(s, w, scale).measures.tasks) for s in systems)) for w in WIDTHS
    )
    grows = rows[0][1] <= rows[1][1] <= rows[2][1]
    flat = all(len({row[at] for row in rows}) == 1 for at in (2, 3))
    fewest = all(max(row[4:]) <= row[1] <= row[2] <= row[3] for row in rows)
    return Figure(
        "12a", "Tasks by selectivity (Social)",
        "Square and Dynamic always use the most tasks, Bi and Readj the fewest; A-DSP uses what the join needs.",
        ("band", *systems), rows, grows and flat and fewest,
        f"A-DSP uses {rows[0][1]}, {rows[1][1]} and {rows[2][1]} tasks for ds = 0, 3 and any; Square always {rows[0][2]}.",
        papers=("001-48", "001-46"), y="tasks",
    )  # fmt: skip


def selectivity_throughput(scale: float) -> Figure:
    """Fig. 12b: throughput by selectivity."""
    systems = ("A-DSP", "Square", "Dynamic", "Bi", "Readj")
    rows: Rows = tuple(
        (f"ds = {w.split()[1]}", *(_social(s, w, scale).measures.throughput for s in systems)) for w in WIDTHS
    )
    mine = [row[1] for row in rows]
    holds = all(row[1] > max(row[4:]) for row in rows[1:]) and max(mine) / min(mine) < 3
    return Figure(
        "12b", "Throughput by selectivity (Social)",
        "A-DSP keeps a stable high throughput with few tasks; broadcasting holds Bi and (but for ds = 0) Readj back.",
        ("band", *systems), rows, holds,
        f"A-DSP varies by a factor of {max(mine) / min(mine):.1f}; under ds = any it does {rows[2][1] / rows[2][4]:.1f} times "
        f"what Bi does and {rows[2][1] / rows[2][5]:.1f} times what Readj does.",
        papers=("001-48", "001-43"), y="tuples/s (model)",
    )  # fmt: skip


RATIOS = (1.0, 2.0, 4.0, 1.0, 0.5, 0.25, 1.0)
"""ϱ = |R| / |S| of Fig. 13a, each for some batches."""


def migration_under_ratios(scale: float) -> Figure:
    """Fig. 13b: migration volume while ϱ changes."""
    query, rows, stay = query_named("B_MR"), 2 * _rows(scale), 6
    sizes = [size for size in ratios(rows, RATIOS) for _ in range(stay)]
    memory = rows * 3 / 3.6 / 0.6
    runs = {s: fed(start(s, query, memory, 2), stream(query, sizes, 1.0)) for s in SYSTEMS}
    table: list[tuple[Any, ...]] = []
    for at, ratio in enumerate(RATIOS[1:], start=1):  # the first ratio warms up
        part = slice(at * stay, (at + 1) * stay)
        table.append((f"{at}: ϱ = {ratio:g}", *(sum(one.moved for one in runs[s].seen[part]) for s in SYSTEMS)))
    total = {s: sum(row[1 + at] for row in table) for at, s in enumerate(SYSTEMS)}
    return Figure(
        "13b", "Migration volume while the volume ratio changes (B_MR)",
        "Bi and Bi6 migrate little, for they keep no copies; Dynamic migrates much; A-DSP relatively little.",
        ("change", *SYSTEMS), tuple(table), max(total["Bi"], total["A-DSP"]) <= total["Dynamic"],
        "Tuples moved in all: " + ", ".join(f"{s} {n:,}" for s, n in total.items()) + ". A nearly square matrix carries "
        "|R| / α + |S| / β, which a new ratio of the same total hardly changes, so it stays between 50 % and 80 % of V.",
        papers=("001-48", "001-45"), y="tuples",
    )  # fmt: skip


CHANGES = (0.0, 0.25, 0.5, 1.0)
"""f of Figs. 14 and 15."""


@lru_cache(maxsize=64)
def _fluctuated(system: str, name: str, f: float, rows: int, changing_ratio: bool = False) -> Run:
    """Feed intervals of five batches; between intervals keys swap their frequencies until a task's load changed by f."""
    query, intervals, each = query_named(name), 6, 5
    domain = 50 if name == "B_MR" else 2_000
    owner = np.random.default_rng(5).integers(0, 16, domain)
    counts = zipf_counts(rows, domain, 1.0)
    key_at = np.random.default_rng(6).permutation(domain) + 1
    draw = np.random.default_rng(9)
    per = ratios(2 * rows, [RATIOS[at % len(RATIOS)] if changing_ratio else 1.0 for at in range(intervals)])
    columns = max(query.spec.left.columns, query.spec.right.columns)
    data: list[tuple[Arrival, Arrival]] = []
    for at, shares in enumerate(islice(fluctuating(counts, owner, 16, f, seed=4), intervals)):
        for _ in range(each):
            keys = [key_at[draw.choice(domain, size, p=shares / shares.sum())] for size in per[at]]
            left, right = arrivals(keys, columns, 100 + len(data))
            data.append((left, right))
    memory = 2 * rows * 3 / 3.6 / 0.6
    return fed(start(system, query, memory, 2, 32 if system == "Dynamic" else LIMIT), data, skip=each)


def fluctuation(name: str, query: str, what: str, scale: float) -> Figure:
    """Fig. 14: throughput and latency by f; Dynamic has 32 tasks at most, as "the limit number of task" wants."""
    systems = ("Ideal", "A-DSP", "Dynamic", "Bi6", "Bi")
    rows: Rows = tuple(
        (f, *(getattr(_fluctuated(s, query, f, _rows(scale)).measures, what) for s in systems)) for f in CHANGES
    )  # fmt: skip
    near = [row[2] / row[1] if what == "throughput" else row[1] / row[2] for row in rows]
    six = [row[4] if what == "throughput" else 1 / row[4] for row in rows]
    falls = six[-1] < 0.9 * six[0]
    bi = [row[2] / row[5] if what == "throughput" else row[5] / row[2] for row in rows]
    return Figure(
        name, f"{what.capitalize()} while keys fluctuate ({query})",
        "A-DSP comes close to Ideal for every f; Bi stays low, Bi6 only does well on small f.",
        ("f", *systems), rows, min(near) >= 0.6 and min(bi) > 1 and falls,
        f"A-DSP reaches {min(near):.0%} to {max(near):.0%} of Ideal, and {min(bi):.1f} to {max(bi):.1f} times Bi. "
        "An interval is five batches; a new layout stands two to four batches after the change that calls for it.",
        papers=("001-48", "001-47", "001-50"), y="tuples/s (model)" if what == "throughput" else "modelled seconds a batch",
    )  # fmt: skip


def adjustments(name: str, what: str, scale: float) -> Figure:
    """Fig. 15: how often plans change, and how long a migration takes, with ϱ changing as well."""
    rows: Rows = tuple(
        (f, *(getattr(_fluctuated(s, "B_MR", f, _rows(scale), changing_ratio=True).measures, what) for s in SYSTEMS))
        for f in CHANGES
    )
    mine, dynamic, bi = (np.array([row[at] for row in rows], float) for at in (1, 3, 5))
    if what == "adjustments":
        holds = bool(mine.mean() >= dynamic.mean())
        said = (
            f"A-DSP changes {mine.mean():.1f} times on average, Dynamic {dynamic.mean():.1f} times. The condition makes one area "
            "of the whole matrix, whose load follows neither the keys nor the ratio, so A-DSP has no reason to."
        )
        claim = "A-DSP adjusts more often than Dynamic, which only reacts to volumes."
    else:
        holds = bool(dynamic.max() >= mine.max() >= 0 and bi.mean() <= dynamic.max())
        said = f"A change: A-DSP {mine.mean():.3f} s, Dynamic {dynamic.mean():.3f} s, Bi {bi.mean():.3f} s (modelled means)."
        claim = (
            "Dynamic's migrations take longest, for it keeps many copies; A-DSP's stay acceptable; Bi's are smallest."
        )
    return Figure(
        name, f"{'Adjustments' if what == 'adjustments' else 'Migration latency'} while keys and volumes fluctuate (B_MR)",
        claim, ("f", *SYSTEMS), rows, holds, said, papers=("001-48", "001-47"), y=what.replace("_", " "),
    )  # fmt: skip
