"""Figs. 6 to 11 of "Scaling Out Schema-free Stream Joins" as measured here.

Figs. 6 to 10 count where documents go, so they depend on the data and the partitions alone, not on the machine. A window of w
minutes has `w / 3 * 1000 * scale` documents; the paper's have 430,000 per three minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from weft_lab.papers.figure import Figure
from weft_lab.papers.json.joins import competitors, tree_join
from weft_lab.papers.json.simulate import SHORT, run

__all__ = ["FIGURES"]

_M, _W, _DEFAULT_M, _DEFAULT_W, _THETA = (5, 8, 10, 20), (3, 6, 9), 8, 6, 0.2

_MEASURES: dict[int, tuple[str, str, str]] = {
    6: (
        "replication",
        "Replication",
        "DS replicates least, AG follows closely and scales with m, SC is near the worst case.",
    ),
    7: ("gini", "Load balance (Gini)", "AG and SC are balanced, DS is worst."),
    8: ("max_load", "Maximal processing load", "SC sends nearly everything to one machine; AG's load falls with m."),
}


def _rows(data: str, over: str, measure: str, scale: float) -> tuple[tuple[float, ...], ...]:
    rows = []
    for x in _M if over == "m" else _W:
        m, w = (x, _DEFAULT_W) if over == "m" else (_DEFAULT_M, x)
        found = [getattr(run(data, approach, m, w, _THETA, scale), measure) for approach in SHORT]
        worst = {"replication": float(m), "gini": 0.0, "max_load": 1.0}[measure]
        rows.append((x, *(round(value, 3) for value in found), worst))
    return tuple(rows)


def _judged(number: int, rows: tuple[tuple[float, ...], ...], over: str) -> tuple[bool, str]:
    """Hold the measured rows against the shape of the claim."""
    ag, sc, ds = ([row[k] for row in rows] for k in (1, 2, 3))
    worst = [row[4] for row in rows]
    if number == 6:
        parts = {
            "AG below SC": all(a < s for a, s in zip(ag, sc, strict=True)),
            "DS at most AG": all(d <= a * 1.05 for d, a in zip(ds, ag, strict=True)),
            "SC over 0.8 of the worst case": all(s > 0.8 * w for s, w in zip(sc, worst, strict=True)),
            "AG below the worst case": all(a < 0.95 * w for a, w in zip(ag, worst, strict=True)),
        }
    elif number == 7:
        parts = {
            "DS worst": all(d >= max(a, s) for a, s, d in zip(ag, sc, ds, strict=True)),
            "SC balanced": max(sc) < 0.2,
        }
    else:
        parts = {"SC over 0.8": min(sc) > 0.8, "AG below SC": all(a < s for a, s in zip(ag, sc, strict=True))}
        if over == "m":
            parts["AG falls with m"] = ag[-1] < ag[0]
    failed = [name for name, good in parts.items() if not good]
    return not failed, "All parts hold: " + ", ".join(parts) + "." if not failed else "Does not hold: " + ", ".join(
        failed
    ) + "."


def _figure(name: str, number: int, data: str, over: str, scale: float) -> Figure:
    measure, title, claim = _MEASURES[number]
    rows = _rows(data, over, measure, scale)
    holds, verdict = _judged(number, rows, over)
    x = "machines m" if over == "m" else "window w [min]"
    return Figure(
        name, f"{title}, {data}, over {over}", claim, (x, "AG", "SC", "DS", "worst case"), rows, holds, verdict,
        ("004-34", "004-35", "004-41", "004-42"), y=title.lower(),
    )  # fmt: skip


def _repartitions(name: str, data: str, scale: float) -> Figure:
    rows = tuple(
        (theta, *(round(run(data, a, _DEFAULT_M, _DEFAULT_W, theta, scale).repartitions, 3) for a in SHORT))
        for theta in (0.2, 0.6)
    )
    fewer, never = rows[1][1] <= rows[0][1], rows[0][2] == rows[1][2] == 0
    claim = (
        "SC never repartitions; AG repartitions in half of the windows on NoBench, less with a larger theta on rwData."
    )
    half = data != "nbData" or all(0.3 <= row[1] <= 0.5 for row in rows)
    words = [
        w
        for w, good in (
            ("AG does not fall with theta", fewer),
            ("SC repartitions", never),
            ("AG on NoBench is not near half", half),
        )
        if not good
    ]
    return Figure(
        name, f"Repartitions, {data}", claim, ("theta", "AG", "SC", "DS"), rows, fewer and never and half,
        "As claimed." if not words else "; ".join(words) + ".", ("004-26", "004-41", "004-42"), y="share of windows",
    )  # fmt: skip


def _ideal(name: str, number: int, scale: float) -> Figure:
    figure = _figure(name, number, "ideal", "m", scale)
    if number != 6:
        return figure
    stable = all(
        row[1] <= rows[1] for row, rows in zip(figure.rows, _rows("rwData", "m", "replication", scale), strict=True)
    )
    verdict = figure.verdict + (
        " AG replicates less than on the changing log." if stable else " AG does not replicate less."
    )
    return Figure(
        name, figure.title, "With few unseen pairs AG replicates less than in Fig. 6.", figure.columns, figure.rows, stable,
        verdict, ("004-40", "004-41"), y=figure.y,
    )  # fmt: skip


FIGURES: dict[str, Callable[[float], Figure]] = {
    **{
        f"{number}{letter}": partial(_figure, f"{number}{letter}", number, data, over)
        for number in _MEASURES
        for letter, data, over in (
            ("a", "rwData", "m"),
            ("b", "rwData", "w"),
            ("c", "nbData", "m"),
            ("d", "nbData", "w"),
        )
    },
    "9a": partial(_repartitions, "9a", "rwData"),
    "9b": partial(_repartitions, "9b", "nbData"),
    **{f"10{letter}": partial(_ideal, f"10{letter}", number) for letter, number in zip("abc", _MEASURES, strict=True)},
    "11a": partial(tree_join, "11a", "rwData"),
    "11b": partial(tree_join, "11b", "nbData"),
    "11c": partial(competitors, "11c", "rwData"),
    "11d": partial(competitors, "11d", "nbData"),
}
