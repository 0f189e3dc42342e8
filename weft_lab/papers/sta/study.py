"""Figs. 5 and 6: what a window's index suffers from popular keys, and what an index of their own saves (000-46)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.index import HotCold, Layout
from weft.sketch import ASketch
from weft.types import Block, Words
from weft_lab.papers.figure import Figure
from weft_lab.papers.sta.metrics import index_updates, redundancy
from weft_lab.workloads import scattered_keys

__all__ = ["figure_5", "figure_6"]

TOP = 32
KEYS = 100_000
LINKS = 10
PAPER = ("000-46", "000-53", "000-54")


def _stream(z: float, scale: float) -> tuple[Words, Words]:
    """Return a stream and its most frequent keys."""
    keys = scattered_keys(np.random.default_rng(5), max(2_000, round(200_000 * scale)), KEYS, z)
    found, counts = np.unique(keys, return_counts=True)
    return keys, np.sort(found[np.argsort(-counts, kind="stable")[:TOP]])


def figure_5(scale: float) -> Figure:
    """Index updates of the most frequent keys, in one index and in one of their own."""
    rows = []
    for z in (0.1, 0.5, 1.0, 1.5, 2.0):
        keys, top = _stream(z, scale)
        low, mid, high = np.quantile(index_updates(keys, top), (0.25, 0.5, 0.75))
        own = float(np.median(index_updates(keys[np.isin(keys, top)], top)))
        rows.append((z, float(low), float(mid), float(high), own))
    saved = [row[2] / max(row[4], 1.0) for row in rows]
    falls = rows[-1][2] < rows[0][2]
    return Figure(
        "5", "Index updates of the 32 most frequent keys",
        "Without an index of their own about 10^6 updates at Z = 0.1, falling to 10^3..10^4 at Z = 2; with one, about 1.",
        ("Z", "lower quartile", "median", "upper quartile", "own index, median"), tuple(rows),
        holds=falls and min(saved) >= 10,
        verdict=f"The median falls from {rows[0][2]:,.0f} to {rows[-1][2]:,.0f}; an index of their own saves "
        f"{min(saved):,.0f} to {max(saved):,.0f} times as many. Its own median is {max(row[4] for row in rows):g} at most: among "
        f"32 keys no more than 31 can come later. The stream has {len(_stream(0.1, scale)[0]):,} tuples instead of 32 M.",
        papers=("000-46", "000-53"), y="updates of rank", log_y=True,
    )  # fmt: skip


def _in_index(keys: Words, top: Words) -> Words:
    """Return in how many sub-indexes of a hot/cold index each key is after a stream, its hot runs being one."""
    index = HotCold(Layout(key=0), None, replace(HotCold.default_merging, small=max(64, len(keys) // 100)))
    for part in np.array_split(keys, 50):
        index.insert(Block(part[None, :], np.zeros(len(part), np.uint32), pa.table({"k": part})))
    hot, _ = index.sub_indexes()
    found = [np.isin(top, run.words[0][run.row]) for run in index.snapshot()]
    warm = np.any(found[:hot], axis=0) if hot else np.zeros(len(top), np.bool_)
    return warm.astype(np.int64) + np.sum(found[hot:], axis=0)


def figure_6(scale: float) -> Figure:
    """Sub-indexes in which a frequent key occurs, in a chain and behind the sketch."""
    rows = []
    for z in (0.1, 0.5, 1.0, 1.5, 2.0, 2.5):
        keys, top = _stream(z, scale)
        link = np.arange(len(keys)) * LINKS // len(keys)
        hot = ASketch().update(keys)
        behind = redundancy(keys[~hot], link[~hot], top) + (redundancy(keys[hot], link[hot], top) > 0)
        index = float(_in_index(keys, top).mean())
        rows.append((z, float(redundancy(keys, link, top).mean()), float(behind.mean()), index))
    rises = rows[-1][1] >= rows[0][1]
    return Figure(
        "6", "Redundancy of the 32 most frequent keys",
        "In a chain a frequent key is in 5 (Z = 0.1) to 10 (Z = 2.5) sub-indexes; behind the top-k filter in 1.",
        ("Z", "chained", "top-k filter", "hotcold index"), tuple(rows),
        holds=rises and all(max(row[2:]) <= row[1] / 2 for row in rows if row[0] >= 1),
        verdict=f"Chained {rows[0][1]:.1f} to {rows[-1][1]:.1f} of {LINKS} sub-indexes; behind the sketch "
        f"{rows[0][2]:.1f} at Z = 0.1, {rows[3][2]:.1f} at Z = 1.5. Exactly 1 cannot be: a key is in the chain "
        "until the sketch knows it, and at small Z the 32 most frequent keys of a stream are hardly more frequent than others.",
        papers=("000-46", "000-54"), y="sub-indexes with the key",
    )  # fmt: skip
