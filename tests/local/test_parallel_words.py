"""The protocol of the parallel join: under any interleaving, and in threads, it is exact and in order of arrival."""

from __future__ import annotations

import numpy as np
import pytest

from weft.errors import SpecError
from weft.kernels.parallel import shared as at
from weft.local.parallel import FedTuples, Interleaved, Settings, Threads, WordJoin

pytestmark = pytest.mark.simulation


def arrivals(random, n, keys, sides, band, span):
    """Make tuples; partners lie at most `band` apart, and at most `span` back in time."""
    side = random.integers(0, sides, n) if sides == 2 else np.zeros(n, np.int64)
    key = random.integers(0, keys, n)
    time = np.cumsum(random.integers(0, 3, n))
    return FedTuples(side, key, key - band, key + band, time, time - span)


def oracle(a, sides, window, span):
    """Return every pair in order of arrival: (number of the later tuple, position of the earlier one)."""
    held: list[list[int]] = [[] for _ in range(sides)]
    pairs = []
    for g in range(len(a.side)):
        other = held[a.side[g] if sides == 1 else 1 - a.side[g]]
        first = max(0, len(other) - window) if span is None else 0
        pairs += [
            (g, j)
            for j in range(first, len(other))
            if a.lo[g] <= a.key[other[j]] <= a.hi[g] and (span is None or a.time[other[j]] >= a.time[g] - span)
        ]
        held[a.side[g]].append(g)
    return pairs


def concat(pieces):
    """Return pieces of results as one."""
    if not pieces:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([p for p, _ in pieces]), np.concatenate([q for _, q in pieces])


def check(join, a, cuts, wanted):
    """Feed in pieces; compare the pairs and their order of arrival."""
    pieces = []
    for start, stop in zip([0, *cuts], [*cuts, len(a.side)], strict=True):
        pieces += list(join.feed(FedTuples(*(column[start:stop] for column in a))))
    probe, stored = concat(pieces)
    assert (np.diff(probe) >= 0).all(), "results are out of order"
    assert sorted(zip(probe.tolist(), stored.tolist(), strict=True)) == wanted


def drawn(random, **other):
    return Settings(
        merge_ratio=float(random.choice([0.2, 0.5, 1.0])),
        depth=int(random.integers(0, 4)),
        task=int(random.integers(1, 5)),
        blocking=bool(random.integers(0, 2)),
        leaf=int(random.integers(2, 4)),
        fan=4,
        workers=5,
        **other,
    )


@pytest.mark.paper("002-17", "002-18", "002-19", "002-20", "002-21", "002-22", "002-23", "002-24", "002-43")
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("timed", [False, True], ids=["count", "time"])
def test_any_interleaving_is_exact_and_in_order(sides: int, timed: bool) -> None:
    """Many seeds: each draws a stream, the settings and the schedule of up to five workers."""
    merges = 0
    for seed in range(700):
        random = np.random.default_rng(seed)
        window, span = int(random.integers(1, 24)), int(random.integers(0, 20)) if timed else None
        a = arrivals(
            random,
            int(random.integers(1, 70)),
            int(random.integers(1, 30)),
            sides,
            int(random.integers(0, 4)),
            span or 0,
        )
        s = drawn(random, batch=int(random.choice([8, 64])), output=int(random.choice([4, 256])))
        join = WordJoin(sides, None if timed else window, Interleaved(int(random.integers(1, 6)), seed), s)
        cuts = sorted(random.integers(0, len(a.side), 2).tolist())
        check(join, a, cuts, oracle(a, sides, window, span))
        merges += join.merges
    assert timed or merges > 700


@pytest.mark.paper("002-24")
def test_a_merge_lets_the_others_go_on_without_index_updates() -> None:
    """While the new tree is built the edge stands still; after the swap the merging thread puts in what came meanwhile."""
    random = np.random.default_rng(1)
    a = arrivals(random, 400, 50, 1, 1, 0)
    frozen_progress = 0

    class Watched(Interleaved):
        def run(self, shared):
            nonlocal frozen_progress
            for _ in super().run(shared):
                if shared.m[at.FROZEN]:
                    frozen_progress += int(shared.m[at.COUNTED] - shared.m[at.EDGE])
                yield

    s = Settings(merge_ratio=0.5, task=2, leaf=2, fan=4, workers=3, batch=64, output=4)
    join = WordJoin(1, 32, Watched(3, 5), s)
    check(join, a, [], oracle(a, 1, 32, None))
    assert join.merges > 5
    assert frozen_progress > 0


def big(random, n, window, sides):
    key = random.integers(0, 1 << 40, n)
    half = (1 << 40) // window  # two partners a tuple on average
    return FedTuples(np.arange(n) % sides, key, key - half, key + half, np.zeros(n, np.int64), np.zeros(n, np.int64))


def pairs_by_sorting(a, sides, window):
    """Find the pairs of a large stream by blocks of NumPy."""
    place = np.empty(len(a.side), np.int64)
    lists = [np.flatnonzero(a.side == side) for side in range(sides)]
    for rows in lists:
        place[rows] = np.arange(len(rows))
    probe, stored = [], []
    for side in range(sides):
        other = lists[side if sides == 1 else 1 - side]
        order = np.argsort(a.key[other], kind="stable")
        keys = a.key[other][order]
        mine = lists[side]
        lo, hi = np.searchsorted(keys, a.lo[mine], "left"), np.searchsorted(keys, a.hi[mine], "right")
        p = np.repeat(np.arange(len(mine)), hi - lo)
        offset = np.arange(len(p)) - np.repeat(np.cumsum(hi - lo) - (hi - lo), hi - lo)
        where = order[lo[p] + offset]
        past = np.searchsorted(other, mine)[p]
        inside = (where < past) & (where >= past - window)
        probe.append(mine[p[inside]])
        stored.append(where[inside])
    p, q = np.concatenate(probe), np.concatenate(stored)
    order = np.lexsort((q, p))
    return p[order], q[order]


def stress(n: int, threads: int, sides: int, blocking: bool, resize: bool = False) -> None:
    random = np.random.default_rng(threads)
    window = 1 << 12
    a = big(random, n, window, sides)
    runner = Threads(threads, 8)
    join = WordJoin(
        sides, window, runner, Settings(workers=8, blocking=blocking, batch=1 << 14, output=1 << 12, merge_ratio=0.25)
    )
    pieces = []
    for number, piece in enumerate(join.feed(a)):
        pieces.append(piece)
        if resize:
            runner.resize(1 + number % threads)
    runner.close()
    probe, stored = concat(pieces)
    assert (np.diff(probe) >= 0).all()
    order = np.lexsort((stored, probe))
    wanted = pairs_by_sorting(a, sides, window)
    assert np.array_equal(probe, wanted[0])
    assert np.array_equal(stored[order], wanted[1])
    assert join.merges > n // window


@pytest.mark.paper("002-17", "002-39")
@pytest.mark.parametrize(("threads", "sides", "blocking"), [(2, 2, False), (3, 1, False), (4, 2, True), (8, 2, False)])
def test_threads_are_exact_and_in_order(threads: int, sides: int, blocking: bool) -> None:
    stress(100_000, threads, sides, blocking)


@pytest.mark.paper("002-17")
@pytest.mark.parametrize("threads", [4, 8])
def test_threads_join_and_leave_while_it_runs(threads: int) -> None:
    stress(100_000, threads, 2, False, resize=True)


@pytest.mark.long
def test_a_million_tuples() -> None:
    """Merges are in flight throughout, and threads leave and join all the time: one to eight of them."""
    stress(1_000_000, 8, 2, False, resize=True)


def test_a_join_needs_a_thread() -> None:
    with pytest.raises(SpecError, match="threads=0"):
        Threads(0, 4)
