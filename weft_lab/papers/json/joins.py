"""Fig. 11: how long the local joins take (004-41, 004-43)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from weft.documents import DocumentReader
from weft.kernels.documents.attributes import ranked, taken
from weft.kernels.documents.fptree import build_tree, count_partners, find_partners
from weft.types import Words
from weft_lab.kernels.document_joins import hash_join, nested_loop
from weft_lab.papers.figure import Figure
from weft_lab.workloads import nobench, server_log

__all__ = ["competitors", "tree_join"]

PAPER = ("004-41", "004-43")

_SHARE = 20
"""Nested loop and hash join run the first 1/20 of the outer documents when there are many; the rest is computed."""
_MANY, _PIECE = 20_000, 1 << 22


@lru_cache(maxsize=32)
def _measured(data: str, n: int) -> dict[str, float]:
    """Return seconds of each join on `n` documents, from coded pairs to the number of result pairs, and to their list.

    To count, FPTreeJoin adds the sizes of ranges; to list, every pair is written, as the other two do. It builds its tree, and
    the hash-based join its index, within the time.
    """
    made = DocumentReader(arrays="sets").read(server_log(n) if data == "rwData" else nobench(n)).coded
    best, pairs, rows, order = (1e9, 1e9, 1e9), -1, *ranked(made.offsets, made.attrs, made.pairs)
    for _ in range(2):  # the first call of a kernel may compile
        started = time.perf_counter()
        rows, order = ranked(made.offsets, made.attrs, made.pairs)
        tree = build_tree(rows, len(order.attrs))
        built = time.perf_counter()
        probes, after = taken(rows, tree.docs.astype(np.int64)), np.arange(n)
        counts = count_partners(tree, probes, after)
        pairs = int(counts.sum())
        counted = time.perf_counter()
        listed = sum(
            len(find_partners(tree, probes, low, high, total, after)[0]) for low, high, total in _pieces(counts)
        )
        done = time.perf_counter()
        assert listed == pairs, f"{listed} pairs listed, {pairs} counted"
        best = min(best, (built - started, counted - built, done - counted), key=sum)
    times = {
        "build": best[0],
        "join": best[1],
        "FPJ": best[0] + best[1],
        "FPJ listed": sum(best),
        "pairs": float(pairs),
    }
    limit = n if n <= _MANY else n // _SHARE
    whole = n * (n - 1) / 2 / (limit * (n - 1) - limit * (limit - 1) / 2)
    found = -1

    def nested(room: int, limit: int) -> int:
        return nested_loop(rows, room, limit)[0]

    def hashed(room: int, limit: int) -> int:
        return hash_join(rows, len(order.pairs), room, limit)[0]

    for name, join in (("NLJ", nested), ("HBJ", hashed)):
        join(1, 1)
        for kind in ("", " listed"):
            room = found if kind else 0
            started = time.perf_counter()
            checked = join(room, limit)
            times[name + kind] = (time.perf_counter() - started) * whole
            if found not in (-1, checked) or (limit == n and checked != pairs):
                raise AssertionError(f"the joins disagree: {found}, {checked}, {pairs}")
            found = checked
    return times


def _pieces(counts: Words) -> Iterator[tuple[int, int, int]]:
    """Cut probes into ranges of about `_PIECE` pairs."""
    total = np.concatenate([[0], np.cumsum(counts)])
    low = 0
    while low < len(counts):
        high = max(low + 1, int(np.searchsorted(total, total[low] + _PIECE, side="right")) - 1)
        yield low, high, int(total[high] - total[low])
        low = high


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
        kinds = ("FPJ", "HBJ", "NLJ", "FPJ listed", "HBJ listed", "NLJ listed")
        rows.append((n, *(round(times[kind], 4) for kind in kinds)))
    last = rows[-1]
    nested, hashed, nested_listed, hashed_listed = (
        last[3] / last[1],
        last[2] / last[1],
        last[6] / last[4],
        last[5] / last[4],
    )
    order = "NLJ beats HBJ" if last[3] < last[2] else "HBJ beats NLJ"
    wanted = "NLJ beats HBJ on rwData" if data == "rwData" else "HBJ beats NLJ on NoBench"
    return Figure(
        name, f"Competitors, {data}", "FPJ is faster by orders of magnitude than NLJ and HBJ.",
        ("documents", *(f"{name}{kind} [s]" for kind in ("", " listed") for name in ("FPJ", "HBJ", "NLJ"))), tuple(rows),
        nested >= 50 and hashed >= 5,
        f"At {last[0]:,} documents {nested:.0f} x the nested loop and {hashed:.0f} x the hash-based join with pairs counted, "
        f"{nested_listed:.0f} x and {hashed_listed:.0f} x with pairs listed; here {order} "
        f"(in the paper {wanted}). "
        f"Above {_MANY:,} documents these two run 1/{_SHARE} of the outer documents and are scaled by comparisons.",
        ("004-32", "004-41", "004-43"), y="seconds", log_y=True,
    )  # fmt: skip
