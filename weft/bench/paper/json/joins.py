"""Fig. 11: how long the local joins take (004-41, 004-43)."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

from weft.bench.paper.figure import Figure
from weft.bench.workloads import nobench, server_log
from weft.documents import Reader
from weft.kernels.doc_join import hash_join, nested_loop
from weft.kernels.doc_rank import ranked, taken
from weft.kernels.fptree import build_tree, count_partners

__all__ = ["competitors", "tree_join"]

_SHARE = (
    20  # nested loop and hash join run the first 1/20 of the outer documents when there are many; the rest is computed
)
_MANY = 20_000


@lru_cache(maxsize=32)
def _measured(data: str, n: int) -> dict[str, float]:
    """Return seconds of each join on `n` documents, from coded pairs to the number of result pairs."""
    made = Reader(arrays="sets").read(server_log(n) if data == "rwData" else nobench(n)).coded
    times: dict[str, float] = {}
    best, pairs = (1e9, 1e9), -1
    for _ in range(2):  # the first call of a kernel may compile
        started = time.perf_counter()
        rows, order = ranked(made.offsets, made.attrs, made.pairs)
        tree = build_tree(rows, len(order.attrs))
        built = time.perf_counter()
        probes = taken(rows, tree.docs.astype(np.int64))
        pairs = int(count_partners(tree, probes, np.arange(n)).sum())
        done = time.perf_counter()
        best = min(best, (built - started, done - built), key=sum)
    times |= {"build": best[0], "join": best[1], "FPJ": sum(best), "pairs": float(pairs)}
    limit = n if n <= _MANY else n // _SHARE
    whole = n * (n - 1) / 2 / (limit * (n - 1) - limit * (limit - 1) / 2)
    nested_loop(rows, 0, 1)
    started = time.perf_counter()
    found = nested_loop(rows, 0, limit)[0]
    times["NLJ"] = (time.perf_counter() - started) * whole
    hash_join(rows, len(order.pairs), 0, 1)
    started = time.perf_counter()
    checked = hash_join(rows, len(order.pairs), 0, limit)[0]
    times["HBJ"] = (time.perf_counter() - started) * whole
    if found != checked or (limit == n and found != pairs):
        raise AssertionError(f"the joins disagree: {found}, {checked}, {pairs}")
    return times


def _sizes(scale: float) -> list[int]:
    return [max(200, int(n * scale)) for n in (5_000, 10_000, 20_000, 50_000)]


def tree_join(name: str, data: str, scale: float) -> Figure:
    """Fig. 11a and b: FPTreeJoin alone, time to build and to join."""
    rows = []
    for n in _sizes(scale):
        times = _measured(data, n)
        rows.append((n, round(times["build"], 4), round(times["join"], 4), int(times["pairs"])))
    limit = 2.0 if data == "rwData" else 5.0
    last = rows[-1]
    holds = last[1] + last[2] < limit * max(1.0, scale)
    return Figure(
        name, f"FPTreeJoin, {data}", "The join of tens of thousands of documents takes seconds, most of it for the tree.",
        ("documents", "build [s]", "join [s]", "pairs"), tuple(rows), holds,
        f"{last[0]:,} documents in {last[1] + last[2]:.2f} s, {last[3]:,} pairs.", ("004-15", "004-18", "004-43"), y="seconds",
    )  # fmt: skip


def competitors(name: str, data: str, scale: float) -> Figure:
    """Fig. 11c and d: nested loop and hash-based join beside it."""
    rows = []
    for n in _sizes(scale):
        times = _measured(data, n)
        rows.append((n, round(times["FPJ"], 4), round(times["HBJ"], 3), round(times["NLJ"], 3)))
    last = rows[-1]
    nested, hashed = last[3] / last[1], last[2] / last[1]
    order = "NLJ beats HBJ" if last[3] < last[2] else "HBJ beats NLJ"
    wanted = "NLJ beats HBJ on rwData" if data == "rwData" else "HBJ beats NLJ on NoBench"
    return Figure(
        name, f"Competitors, {data}", "FPJ is faster by orders of magnitude than NLJ and HBJ.",
        ("documents", "FPJ [s]", "HBJ [s]", "NLJ [s]"), tuple(rows), nested >= 50 and hashed >= 5,
        f"At {last[0]:,} documents {nested:.0f} x the nested loop and {hashed:.0f} x the hash-based join; here {order} "
        f"(in the paper {wanted}). "
        f"Above {_MANY:,} documents these two run 1/{_SHARE} of the outer documents and are scaled by comparisons.",
        ("004-32", "004-41", "004-43"), y="seconds", log_y=True,
    )  # fmt: skip
