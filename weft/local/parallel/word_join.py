"""The parallel window join over words: memory, feeding and draining; and who runs its workers.

Between two feeds nothing is under way: every tuple is indexed or will never be asked for, no merge is open, the queue is
empty. That is when memory is made larger, and when threads of an earlier feed can be told from those of the next.

Workers are run by threads, or by one thread that interleaves their steps as a schedule says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from weft.errors import SpecError
from weft.index.trees import Workload, best_ratio, predict_pim_tree
from weft.kernels.parallel import FULL, Shared, Sizes, advance_edges, play, shared_of, tallies, work
from weft.kernels.parallel import shared as at
from weft.kernels.trees import build, clear, nodes_at
from weft.kernels.trees.css import KEYS
from weft.local.parallel.request import Settings
from weft.spec.options import check_count
from weft.types import Rows, Words

__all__ = ["FedTuples", "Interleaved", "Runner", "Threads", "WordJoin", "check_threads"]

START = 1 << 18
"""Tuples per window that there is memory for at the beginning; of a window that holds less, just those."""


class FedTuples(NamedTuple):
    """Tuples of both streams in order of arrival.

    `side` is 0 for left, 1 for right (0 throughout in a self join); a partner's `key` lies in `[lo, hi]` and, over time, its
    `time` is at least `since`.
    """

    side: Rows
    key: Words
    lo: Words
    hi: Words
    time: Words
    since: Words


class Runner(Protocol):
    """Runs the workers of a join."""

    def run(self, shared: Shared) -> Iterator[None]:
        """Run until all that was fed has left; yield whenever the output wants to be drained."""
        ...


class WordJoin:
    """A window join of one or two streams of words.

    Parameters
    ----------
    sides
        1 for a self join, 2 otherwise.
    window
        Tuples of a count window; None for windows over time.
    runner
        Who runs the workers.
    settings
        How.
    threads
        How many the cost model is to reckon with.
    """

    def __init__(
        self, sides: int, window: int | None, runner: Runner, settings: Settings, threads: int = 1
    ) -> None:  # fmt: skip
        self.sides, self.window, self.runner, self.settings = sides, window, runner, settings
        self.threads = threads
        self.shared = self._memory(min(window, START) if window is not None else 4096)

    def _memory(self, window: int) -> Shared:
        s = self.settings
        limit = max(1, round(self.ratio_for(window) * window))
        timed = self.window is None
        sizes = Sizes(
            self.sides, window, s.batch, s.workers, s.task, limit, s.depth, s.blocking, timed, s.output, s.leaf, s.fan
        )  # fmt: skip
        try:
            return shared_of(sizes)
        except (MemoryError, OverflowError, ValueError) as error:  # NumPy has one for each order of magnitude
            raise SpecError.of(
                "There is not enough memory for a parallel join of this size.",
                f"A window holds {window:,} tuples, batch={s.batch:,}, output={s.output:,}, task={s.task:,}, for up to "
                f"{s.workers} threads ({error}).",
                "give a smaller window, or settings with fewer workers, or use weft.local.Join.",
            ) from error

    def ratio_for(self, window: int) -> float:
        """Return the merge ratio: what the settings say, or what the cost model finds cheapest."""
        s = self.settings
        if s.merge_ratio is not None:
            return s.merge_ratio
        load = Workload(window, sides=self.sides)
        return best_ratio(lambda ratio: predict_pim_tree(load, ratio, s.depth), self.threads)

    @property
    def merges(self) -> int:
        """Return how many merges there have been."""
        return sum(int(self.shared.m[side * at.SIDE + at.MERGES]) for side in range(self.sides))

    def memory(self) -> dict[str, int]:
        """Return the bytes of every component (002-16)."""
        return tallies(self.shared)

    def oldest(self, side: int) -> int:
        """Return the first position of a window that can still find a partner."""
        m, w = self.shared.m, side * at.SIDE
        return int(m[w + at.EARLY]) if self.window is None else max(0, int(m[w + at.COUNTED]) - self.window)

    def feed(self, tuples: FedTuples) -> Iterator[tuple[Rows, Rows]]:
        """Yield pieces of (number of the tuple since the first feed, position of its partner), in order of arrival."""
        for start in range(0, len(tuples.side), self.settings.batch):
            part = FedTuples._make(column[start : start + self.settings.batch] for column in tuples)
            self._put(part)
            for _ in self.runner.run(self.shared):
                yield from self._drain()
            yield from self._drain()

    def _put(self, part: FedTuples) -> None:
        """Write tuples into windows and queue, then say that they are there."""
        advance_edges(self.shared.m)
        if self.window is None:
            self._make_room(part)
        elif int(self.shared.m[at.WINDOW]) < self.window:
            self._make_room_for_first(part, self.window)
        s, n = self.shared, len(part.side)
        mask, queue = int(s.m[at.MASK]), int(s.m[at.QUEUE_MASK])
        for side in range(self.sides):
            mine = part.side == side
            count = int(mine.sum())
            slots = side * (mask + 1) + ((int(s.m[side * at.SIDE + at.COUNTED]) + np.arange(count)) & mask)
            s.array(at.RING_KEY)[slots], s.array(at.RING_TIME)[slots] = part.key[mine], part.time[mine]
        fed = int(s.m[at.FED])
        q = (fed + np.arange(n)) & queue
        queues = (at.QUEUE_SIDE, at.QUEUE_LO, at.QUEUE_HI, at.QUEUE_SINCE)
        for which, column in zip(queues, (part.side, part.lo, part.hi, part.since), strict=True):
            s.array(which)[q] = column
        s.m[at.FED] = fed + n  # no worker is at work: starting them is what publishes it

    def _drain(self) -> Iterator[tuple[Rows, Rows]]:
        s = self.shared
        drained, out, room = int(s.m[at.DRAINED]), int(s.m[at.OUT]), int(s.m[at.OUTPUT])
        if out > drained:
            slots = np.arange(drained, out) & (room - 1)
            piece = s.array(at.OUT_PROBE)[slots], s.array(at.OUT_STORED)[slots]
            s.m[at.DRAINED] = out
            yield piece

    def _make_room(self, part: FedTuples) -> None:
        """Let go of what no tuple can reach any more; take twice the memory if the rest and the new tuples need it."""
        s = self.shared
        mask, need = int(s.m[at.MASK]), 0
        for side in range(self.sides):
            w = side * at.SIDE
            early, counted = int(s.m[w + at.EARLY]), int(s.m[w + at.COUNTED])
            others = part.since[part.side != side] if self.sides == 2 else part.since
            if len(others):
                times = s.array(at.RING_TIME)[side * (mask + 1) + (np.arange(early, counted) & mask)]
                early += int(np.searchsorted(times, others[0]))
                s.m[w + at.EARLY] = early
            need = max(need, counted - early + int((part.side == side).sum()))
        if need > int(s.m[at.WINDOW]):
            self._grow(max(need, 2 * int(s.m[at.WINDOW])))

    def _make_room_for_first(self, part: FedTuples, most: int) -> None:
        """Take memory for a count window as its first tuples come: as long as all fit, none has left it."""
        m = self.shared.m
        fed = (int(m[side * at.SIDE + at.COUNTED]) + int((part.side == side).sum()) for side in range(self.sides))
        need = min(most, max(fed))
        if need > int(m[at.WINDOW]):
            self._grow(min(most, max(need, 2 * int(m[at.WINDOW]))))

    def _grow(self, window: int) -> None:
        old, new = self.shared, self._memory(window)
        new.m[at.FED : at.PHASE] = old.m[at.FED : at.PHASE]
        # A worker that was left right before it gives a lock back begins anew: nobody else would.
        new.m[[at.OUT, at.DRAINED, at.OUT_LOCK, at.QUEUE_LOCK, at.EDGE_LOCK, at.SIDE + at.EDGE_LOCK]] = 0
        trees = int(new.m[at.TREES])
        for side in range(self.sides):
            w, plot = side * at.SIDE, 2 * side
            where = np.arange(int(old.m[w + at.EARLY]), int(old.m[w + at.COUNTED]))
            before, after = (side * (int(s.m[at.MASK]) + 1) + (where & int(s.m[at.MASK])) for s in (old, new))
            for which in (at.RING_KEY, at.RING_TIME):
                new.array(which)[after] = old.array(which)[before]
            new.array(at.RING_INDEXED)[after] = where + 1
            keys = new.array(at.RING_KEY)[after]
            order = np.argsort(keys, kind="stable")
            first = int(new.css.shape[plot * 8 + KEYS])
            new.css.key[first : first + len(where)] = keys[order]
            new.css.row[first : first + len(where)] = where[order]
            build(new.css, plot, len(where))
            clear(new.forest, plot, plot * trees, nodes_at(new.css, plot, self.settings.depth), True)
            new.m[w + at.PLOT], new.m[w + at.IN_TI] = plot, 0
            new.m[w + at.EDGE] = new.m[w + at.COUNTED]
        self.shared = new


class Interleaved:
    """Runs the steps of `workers` in a random order drawn from `seed`: a run can be had again, step by step (002-43)."""

    def __init__(self, workers: int, seed: int) -> None:
        self.workers = workers
        self._random = np.random.default_rng(seed)

    def run(self, shared: Shared) -> Iterator[None]:
        """Run until nobody has a task; yield when the output is full."""
        c = shared.m
        while c[at.HEAD] < c[at.FED] or c[at.ACTIVE] or c[at.MERGER]:
            # Bursts: a schedule that changes at each step would never let one worker get far ahead.
            turns = self._random.integers(0, self.workers, 256)
            schedule = np.repeat(turns, self._random.choice([1, 1, 2, 5, 40], 256))
            at_step = 0
            while at_step < len(schedule) and (c[at.HEAD] < c[at.FED] or c[at.ACTIVE] or c[at.MERGER]):
                at_step = play(*shared, schedule, at_step)
                yield


def check_threads(threads: object, most: int) -> None:
    """Refuse what is no number of threads."""
    check_count("threads", threads, "threads that join", "use the number of cores.", most=most)


class Threads:
    """Runs each worker in a thread of its own, outside the GIL; threads may join and leave at any time (002-17)."""

    def __init__(self, threads: int, most: int) -> None:
        check_threads(threads, most)
        self._most = most
        self._changed = threading.Condition()
        self._shared: Shared | None = None
        self._running: set[int] = set()
        self._leaving: set[int] = set()
        self._threads: dict[int, threading.Thread] = {}
        self._full = self._closed = False
        self._failure: BaseException | None = None
        self.resize(threads)

    @property
    def count(self) -> int:
        """Return how many threads there are, without those that are about to leave."""
        return len(self._threads) - len(self._leaving)

    def resize(self, threads: int) -> None:
        """Let threads join or leave until there are so many; one that has a task finishes it first."""
        check_threads(threads, self._most)
        with self._changed:
            while self.count > threads:
                me = max(self._threads.keys() - self._leaving)
                self._leaving.add(me)
                if self._shared is not None:
                    self._shared.m[at.LEAVING] |= 1 << me
            while self.count < threads:
                free = set(range(self._most)) - self._threads.keys()
                if not free:
                    break  # those that leave still hold their places
                self._start(min(free))
            self._changed.notify_all()

    def _start(self, me: int) -> None:
        thread = threading.Thread(target=self._live, args=(me,), name=f"weft-join-{me}", daemon=True)
        self._threads[me] = thread
        if self._running:
            self._running.add(me)  # it takes part in what is under way
        thread.start()

    def run(self, shared: Shared) -> Iterator[None]:
        """Run until every worker says that all is done; yield when the output is full."""
        with self._changed:
            self._shared = shared
            shared.m[at.LEAVING] = sum(1 << me for me in self._leaving)
            self._running = set(self._threads)
            self._changed.notify_all()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._full or not self._running)
                if self._failure is not None:
                    raise self._failure
                if not self._full:
                    self._shared = None
                    return
            yield
            with self._changed:
                self._full = False
                self._changed.notify_all()

    def _live(self, me: int) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or me in self._leaving or me in self._running)
                if self._closed or me not in self._running:
                    self._forget(me)
                    return
                shared = self._shared
            try:
                self._work(shared, me)
            except BaseException as error:  # noqa: BLE001 - it is raised again where the join is fed
                self._failure = error
            with self._changed:
                self._running.discard(me)
                self._changed.notify_all()

    def _forget(self, me: int) -> None:
        self._threads.pop(me, None)
        self._leaving.discard(me)
        self._running.discard(me)  # closed before it began: nobody is to wait for it
        self._changed.notify_all()

    def _work(self, shared: Shared | None, me: int) -> None:
        assert shared is not None
        while work(*shared, me) == FULL:
            with self._changed:
                self._full = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._full or self._closed)
                if self._closed:
                    return

    def close(self) -> None:
        """Let all threads end."""
        with self._changed:
            self._closed = True
            threads = list(self._threads.values())
            self._changed.notify_all()
        for thread in threads:
            thread.join(10)
