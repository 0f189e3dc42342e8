"""Figures 10 and 11: all data loaded, and windows, under growing skew."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

from weft_lab.papers.adsp.runs import Run, run
from weft_lab.papers.figure import Figure

__all__ = ["execution_time", "requests", "tasks_while_loading", "window_throughput"]

Rows: TypeAlias = tuple[tuple[Any, ...], ...]

SYSTEMS = ("A-DSP", "Square", "Dynamic", "Bi6", "Bi")
SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0)


def _rows(scale: float) -> int:
    return max(200, round(1_500 * scale))


def _history(system: str, query: str, z: float, scale: float) -> Run:
    return run(system, query, z, _rows(scale), 24, 6.0, None)


def tasks_while_loading(scale: float) -> Figure:
    """Fig. 10a: the number of tasks while data is loaded."""
    runs = {system: _history(system, "B_MR", 1.0, scale) for system in SYSTEMS}
    rows: Rows = tuple(
        (round((at + 1) / 24, 3), *(runs[s].seen[at].active for s in SYSTEMS)) for at in range(5, 24, 3)
    )  # fmt: skip
    last = dict(zip(SYSTEMS, rows[-1][1:], strict=True))
    jump = max(b[3] / max(a[3], 1) for a, b in pairwise(rows))
    holds = last["Bi"] <= last["A-DSP"] <= last["Square"] <= last["Dynamic"] and jump >= 2
    return Figure(
        "10a", "Tasks while loading (B_MR)",
        "A-DSP is stable while Dynamic quadruples; Square uses more than A-DSP; Bi uses the fewest.",
        ("share loaded", *SYSTEMS), rows, holds,
        "At the end: " + ", ".join(f"{system} {count}" for system, count in last.items())
        + f"; Dynamic's largest step is x{jump:.0f}. A-DSP and "
        "Square grow at different moments; for one load Algorithm 1 never needs more tasks than Eq. 9.",
        papers=("001-48", "001-43", "001-45"), y="tasks",
    )  # fmt: skip


def execution_time(name: str, query: str, scale: float) -> Figure:
    """Fig. 10b to d: execution time by skew."""
    rows: Rows = tuple((z, *(_history(s, query, z, scale).measures.seconds for s in SYSTEMS)) for z in SKEWS)
    mine, bi = [row[1] for row in rows], [row[5] for row in rows]
    steady = max(mine) / min(mine)
    slower = sum(bi) / sum(mine)
    return Figure(
        name, f"Execution time of full history ({query})",
        "A-DSP and the matrices do not mind skew; Bi takes almost three times as long as the others.",
        ("z", *SYSTEMS), rows, steady <= 1.6 and slower >= 2,
        f"A-DSP varies by a factor of {steady:.2f} over z; Bi takes {slower:.1f} times as long as A-DSP. Every "
        "system starts with one task and grows with the memory it needs, so few tasks do much of the work in all of them.",
        papers=("001-48", "001-50", "001-44"), y="modelled seconds",
    )  # fmt: skip


def _window(system: str, query: str, z: float, scale: float) -> Run:
    return run(system, query, z, _rows(scale), 24, 3.6, 2)


def window_throughput(name: str, query: str, scale: float) -> Figure:
    """Fig. 11a, c, e: throughput of window joins."""
    rows: Rows = tuple((z, *(_window(s, query, z, scale).measures.throughput for s in SYSTEMS)) for z in SKEWS)
    tasks = {s: round(_window(s, query, 1.0, scale).measures.tasks) for s in SYSTEMS}
    if query == "B_MR":
        claim = "The matrices do better than the bicliques, whose requests go to every group."
        better = all(min(row[1:4]) > max(row[4:]) for row in rows)
    else:
        claim = "Bi broadcasts and stays behind A-DSP; Bi6 does well on little skew and falls behind with it."
        better = all(row[1] > row[5] for row in rows) and rows[-1][4] < min(rows[0][4], rows[-1][1])
    fewest = tasks["A-DSP"] <= tasks["Square"] <= tasks["Dynamic"]
    return Figure(
        name, f"Window throughput ({query})",
        f"{claim} A-DSP, Square, Dynamic, Bi6 and Bi use 13, 16, 64, 12 and 6 tasks.",
        ("z", *SYSTEMS), rows, better and fewest,
        "Tasks at z = 1: " + ", ".join(f"{s} {n}" for s, n in tasks.items()) + ".",
        papers=("001-48", "001-49", "001-44"), y="tuples/s (model)",
    )  # fmt: skip


def requests(name: str, query: str, scale: float) -> Figure:
    """Fig. 11b, d, f: average join requests per task."""
    rows: Rows = tuple((z, *(_window(s, query, z, scale).measures.requests for s in SYSTEMS)) for z in SKEWS)
    most = all(row[5] == max(row[1:]) for row in rows) and (query != "B_MR" or all(row[4] == row[5] for row in rows))
    return Figure(
        name, f"Join requests per task ({query})",
        "Bi broadcasts the same amount whatever the query, the most of all; wide bands take away Bi6's selectivity.",
        ("z", *SYSTEMS), rows, most, f"Bi receives {rows[2][5] / rows[2][1]:.1f} times A-DSP's requests per task at z = 1.",
        papers=("001-48", "001-44"), y="tuples per task and batch",
    )  # fmt: skip
