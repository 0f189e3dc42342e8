"""Query 3, two inequalities: the emit loop, the intersection of two indexes, and blocks; measured and estimated (000-50)."""

from __future__ import annotations

from time import process_time

import numpy as np
import pyarrow as pa

from weft.index import Probe, make_index
from weft.kernels import float_words
from weft.planner import two_predicates
from weft.spec import Compare, Condition, JoinSpec, Key, Op, build_spec, unbounded
from weft.types import Block
from weft_lab.papers.figure import Figure
from weft_lab.workloads import readings

__all__ = ["figure_predicates"]

PAPER = ("000-50", "Y10")


def _spec() -> JoinSpec:
    compares = (Compare(Key("v"), Op.GT, Key("v")), Compare(Key("i"), Op.LT, Key("i")))
    return build_spec(Condition("r.v1 > s.v2 AND r.i1 < s.i2", compares), unbounded())


def _block(table: pa.Table, shift: float = 0.0) -> Block:
    words = np.stack([float_words(table.column(name).to_numpy() + shift * (name == "i")) for name in ("v", "i")])
    return Block(words, np.zeros(len(table), np.uint32), table.select(["id"]))


def _seconds(index: str, stored: Block, probes: Block, spec: JoinSpec) -> tuple[float, int]:
    best, count = float("inf"), 0
    made = make_index(index, spec.access, None)
    made.insert(stored)
    for _ in range(5):
        start = process_time()
        count = sum(len(found) for found in made.probe(Probe(probes, spec.access, spec.terms), 1 << 16))
        best = min(best, process_time() - start)
    return best, count


def figure_predicates(scale: float) -> Figure:
    """Probes against a window, for a second predicate that keeps less and less."""
    spec, rng = _spec(), np.random.default_rng(13)
    window, asked = max(1_000, round(50_000 * scale)), max(100, round(1_000 * scale))
    stored = _block(readings(rng, window, every=1))
    rows, hits = [], 0
    for shift in (0.0, 2.0, 10.0):
        probes = _block(readings(rng, asked, every=1), shift)
        crossed, pairs = _seconds("crossed", stored, probes, spec)
        runs, same = _seconds("runs", stored, probes, spec)
        scan, also = _seconds("scan", stored, probes, spec)
        assert pairs == same == also, "the ways find different pairs"
        second = float(np.mean([(stored.words[1] > word).mean() for word in probes.words[1][:200]]))
        ways = two_predicates(spec, window, asked, 0.5, second)
        assert ways is not None
        faster = "crossed" if crossed < runs else "runs"
        hits += faster == ways.index or abs(crossed - runs) < 0.3 * min(crossed, runs)
        rows.append((f"second keeps {second:.2%}", runs * 1000, crossed * 1000, scan * 1000, ways.best))
    return Figure(
        "predicates", "Two inequalities: ways through them",
        "The paper intersects the answers of one index per predicate.",
        ("case", "runs: emit loop or blocks, ms", "intersection, ms", "nested loop, ms", "estimate says"), tuple(rows),
        holds=hits == len(rows),
        verdict=f"The estimate picks the faster way, or one within 30 % of it, in {hits} of {len(rows)} cases; "
        f"{window:,} rows, {asked:,} probes.",
        papers=PAPER, y="ms",
    )  # fmt: skip
