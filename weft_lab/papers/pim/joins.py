"""The joins that the figures compare, each measured alike: fill the windows, then time a stretch of steady state.

Throughput is in million tuples per second, both streams together. Times are of the wall clock, the best of three runs counts:
what else a machine does only ever takes time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

import numpy as np

from weft.kernels import trees
from weft.kernels.parallel.shared import FED, HEAD, TAKEN
from weft.local.parallel import FedTuples, Settings, Threads, WordJoin
from weft.types import Words
from weft_lab.kernels import threaded_joins, tree_joins

__all__ = ["bplus", "chain", "locked", "loop", "merged", "parallel", "round_robin", "round_robin_loop"]

LEAF = FAN = 32
REPEAT = 3
Part = Callable[[int, int], int]
P = ParamSpec("P")


def best(measure: Callable[P, float]) -> Callable[P, float]:
    """Measure so often, and return the highest rate."""

    @wraps(measure)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> float:
        return max(measure(*args, **kwargs) for _ in range(REPEAT))

    return repeated


def _rate(join: Part, n: int, warm: int) -> float:
    """Run the first `warm` tuples, then time the rest."""
    join(0, warm)
    start = time.perf_counter()
    join(warm, n)
    return (n - warm) / (time.perf_counter() - start) / 1e6


def _warm(window: int, sides: int, n: int) -> int:
    return min(n // 2, sides * window)


def loop(keys: Words, window: int, band: int, sides: int = 2) -> float:
    """Nested loop; fewer tuples are timed, for each meets all of the other window."""
    warm = _warm(window, sides, len(keys))
    n = min(len(keys), warm + max(64, (1 << 26) // window))
    tree_joins.join_loop(keys, warm, warm + 1, sides, window, band)  # compiled, or read from its cache
    start = time.perf_counter()
    tree_joins.join_loop(keys, warm, n, sides, window, band)
    return (n - warm) / (time.perf_counter() - start) / 1e6


@best
def bplus(keys: Words, window: int, band: int, sides: int = 2) -> float:
    """One B+-tree per window."""
    f = trees.forest_of(sides, sides * (window + 1) * 2, LEAF, FAN)
    return _rate(
        lambda a, b: tree_joins.join_bplus(f, keys, a, b, sides, window, band, 1),
        len(keys),
        _warm(window, sides, len(keys)),
    )


@best
def chain(keys: Words, window: int, band: int, length: int, immutable: bool, sides: int = 2) -> float:
    """Chained index."""
    room = -(-window // (length - 1))
    f = trees.forest_of(1, room, LEAF, FAN, plots=sides * (length + 1))
    c = trees.css_room(room, LEAF, FAN, plots=sides * (length + 1))
    return _rate(
        lambda a, b: tree_joins.join_chain(f, c, keys, a, b, sides, window, band, length, immutable),
        len(keys),
        _warm(window, sides, len(keys)),
    )


@best
def merged(keys: Words, window: int, band: int, depth: int, ratio: float, sides: int = 2) -> float:
    """IM-Tree (depth 0) and PIM-Tree; a warm-up of a whole merge cycle more, and a whole number of merges timed."""
    limit = max(1, round(ratio * window))
    room = trees.css_room(window + limit + 8, LEAF, FAN, plots=2 * sides)
    most = max(1, min(FAN**depth, (window + limit) // (LEAF * FAN) + 2))
    f = trees.forest_of(most, limit + 8, LEAF, FAN, linked=True, plots=2 * sides)
    for plot in range(2 * sides):
        trees.clear(f, plot, plot * most, 1, True)
    state = np.array([0, 2, 0, 0])
    return _rate(
        lambda a, b: tree_joins.join_merged(f, room, keys, a, b, sides, window, band, most, depth, limit, state),
        len(keys),
        _warm(window, sides, len(keys)),
    )


def _together(works: list[Callable[[], object]]) -> float:
    """Run all at once, a thread each; return the seconds until the last has ended."""
    threads = [threading.Thread(target=work) for work in works]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


@best
def round_robin(keys: Words, window: int, band: int, threads: int, sides: int = 2) -> float:
    """B+-trees over round-robin partitions, a thread each; every thread searches for every tuple."""
    warm, n = _warm(window, sides, len(keys)), len(keys)
    forests = [trees.forest_of(sides, 2 * sides * (window // threads + 2), LEAF, FAN) for _ in range(threads)]

    def share(part: int, a: int, b: int) -> Callable[[], object]:
        return lambda: threaded_joins.join_share(forests[part], keys, a, b, sides, window, band, part, threads)

    _together([share(part, 0, warm) for part in range(threads)])
    return (n - warm) / _together([share(part, warm, n) for part in range(threads)]) / 1e6


def round_robin_loop(keys: Words, window: int, band: int, threads: int, sides: int = 2) -> float:
    """Nested loops over round-robin partitions."""
    warm = _warm(window, sides, len(keys))
    n = min(len(keys), warm + max(64, (1 << 26) // window))

    def share(part: int) -> Callable[[], object]:
        return lambda: threaded_joins.loop_share(keys, warm, n, sides, window, band, part, threads)

    threaded_joins.loop_share(keys, warm, warm + 1, sides, window, band, 0, threads)
    return (n - warm) / _together([share(part) for part in range(threads)]) / 1e6


@best
def locked(keys: Words, window: int, band: int, threads: int, sides: int = 2, task: int = 8) -> float:
    """The B+-tree under one lock: what stands in for the Bw-tree."""
    warm, n = _warm(window, sides, len(keys)), len(keys)
    f = trees.forest_of(sides, sides * (window + 1) * 2, LEAF, FAN)
    m = np.zeros(16, np.int64)
    threaded_joins.join_locked(m, f, keys, warm, sides, window, band, task)
    works: list[Callable[[], object]] = [
        lambda: threaded_joins.join_locked(m, f, keys, n, sides, window, band, task)
    ] * threads
    return (n - warm) / _together(works) / 1e6


def parallel(
    keys: Words, window: int, band: int, threads: int, sides: int = 2, settings: Settings | None = None
) -> tuple[float, float]:
    """The parallel PIM-Tree join; return its throughput and, in microseconds, how long a tuple takes from taking to leaving.

    The latency is Little's law: how many tuples were under way, looked at every millisecond, over the throughput. It takes the
    median of these looks and the least of the runs: a thread that the machine puts aside holds up all that come after it.
    """
    runs = [_parallel(keys, window, band, threads, sides, settings or Settings()) for _ in range(REPEAT)]
    return max(rate for rate, _ in runs), min(latency for _, latency in runs)


def _parallel(
    keys: Words, window: int, band: int, threads: int, sides: int, settings: Settings
) -> tuple[float, float]:  # fmt: skip
    warm, n = _warm(window, sides, len(keys)), len(keys)
    runner = Threads(threads, settings.workers)
    zeros = np.zeros(n, np.int64)
    arrivals = FedTuples(np.arange(n) % sides, keys, keys - band, keys + band, zeros, zeros)
    join = WordJoin(sides, window, runner, replace(settings, batch=1 << 18, output=1 << 20), threads)
    for _ in join.feed(FedTuples._make(column[:warm] for column in arrivals)):
        pass
    seen: list[int] = []
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(join, seen, ended))
    watch.start()
    start = time.perf_counter()
    for _ in join.feed(FedTuples._make(column[warm:] for column in arrivals)):
        pass
    rate = (n - warm) / (time.perf_counter() - start) / 1e6
    ended.set()
    watch.join()
    runner.close()
    return rate, float(np.median(seen or [threads * settings.task])) / rate


def _watch(join: WordJoin, seen: list[int], ended: threading.Event) -> None:
    """Note how many tuples have been taken and have not left, while there are any."""
    while not ended.wait(0.001):
        head, taken = int(join.shared.m[HEAD]), int(join.shared.m[TAKEN])
        if head < int(join.shared.m[FED]):
            seen.append(max(0, taken - head))
