"""Figures 16 and 17: limited tasks, and what a whole load costs."""

from __future__ import annotations

from collections.abc import Callable

from weft_lab.papers.adsp.runs import Run, fed, query_named, run, start, stream
from weft_lab.papers.figure import Figure

__all__ = ["limited", "whole_load"]

SYSTEMS = ("A-DSP", "Dynamic", "Bi6", "Bi")
LIMITS = (8, 16, 32, 64)


def _rows(scale: float) -> int:
    return max(200, round(1_500 * scale))


def limited(name: str, query: str, scale: float) -> Figure:
    """Fig. 16: throughput when there are only so many tasks."""
    rows = []
    for limit in LIMITS:
        made = query_named(query)
        data = stream(made, [(_rows(scale), _rows(scale))] * 20, 1.0)
        # So little memory that every system takes all the tasks it can use.
        memory = 6 * _rows(scale) / limit
        runs: list[Run] = [fed(start(s, made, memory, 2, limit), data, skip=10) for s in SYSTEMS]
        rows.append((limit, *(one.measures.throughput for one in runs)))
    best = all(row[1] >= max(row[2:]) for row in rows)
    ratio = {row[0]: row[2] / row[1] for row in rows}
    flat = max(row[4] for row in rows) / min(row[4] for row in rows)
    return Figure(
        name, f"Throughput under limited tasks ({query})",
        "A-DSP is always the fastest; Dynamic does a third of it at 32 tasks.",
        ("tasks", *SYSTEMS), tuple(rows), best and ratio[32] <= 0.6,
        f"Dynamic does {ratio[32]:.2f} of A-DSP at 32 tasks (it can use 16 of them); Bi gains a factor of "
        f"{flat:.1f} from 8 to 64 tasks (little, the paper says), A-DSP {rows[-1][1] / rows[0][1]:.1f}.",
        papers=("001-48", "001-50", "001-46"), y="tuples/s (model)", log_x=True,
    )  # fmt: skip


def whole_load(name: str, what: str, scale: float) -> Figure:
    """Fig. 17: tasks, time, bandwidth and resource cost of loading the social feed, ds = 3."""
    systems = ("A-DSP", "Square", "Dynamic", "Bi6", "Bi")
    runs = {s: run(s, "Social 3", 1.0, _rows(scale), 24, 6.0, None) for s in systems}
    values: dict[str, Callable[[Run], float]] = {
        "tasks": lambda one: float(one.final_tasks), "seconds": lambda one: one.measures.seconds,
        "bandwidth": lambda one: one.measures.bandwidth, "cost": lambda one: one.measures.cost(),
    }  # fmt: skip
    found = {s: values[what](runs[s]) for s in systems}
    mine, bicliques = found["A-DSP"], (found["Bi"], found["Bi6"])
    claims = {
        "tasks": ("Bi and Bi6 use the fewest tasks, Dynamic the most.", max(bicliques) <= mine <= found["Dynamic"]),
        "seconds": ("A-DSP is done before the bicliques, which lack computing resources.", mine <= min(bicliques)),
        "bandwidth": (
            "Bi needs more bandwidth than A-DSP, Dynamic the most.",
            mine <= found["Bi"] and found["Dynamic"] == max(found.values()),
        ),
        "cost": ("A-DSP costs the least.", mine == min(found.values())),
    }
    claim, holds = claims[what]
    why = {
        "tasks": " A narrow band needs A-DSP no copies, while Bi6 keeps a task for each of its twelve groups.",
        "seconds": " With hashed groups Bi6 compares a request only with the groups its band reaches.",
    }
    return Figure(
        name, f"Loading the social feed: {what}", claim, ("system", what), tuple(found.items()), holds,
        ", ".join(f"{s} {n:,.4g}" for s, n in found.items()) + "." + ("" if holds else why.get(what, "")),
        papers=("001-48", "001-44", "001-50"), y=what,
    )  # fmt: skip
