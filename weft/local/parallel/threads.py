"""Who runs the workers of a parallel join: threads, or one thread that interleaves their steps as a schedule says."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from weft.kernels.parallel import FULL, Shared, play, work
from weft.kernels.parallel import shared as at
from weft.spec.options import check_count

__all__ = ["Interleaved", "Threads", "check_threads"]


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
