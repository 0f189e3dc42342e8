"""What the threads of a parallel window join share, all of it arrays of int64.

Positions count the tuples of a window from the start of time; position p stands in slot `p & mask` of a ring. Numbers `g`
count the tuples of both streams in order of arrival: the work queue (002-17), a ring as well. Words that threads write
often stand a cache line apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.trees.css import Css, css_room
from weft.kernels.trees.forest import Forest, forest_of
from weft.types import Rows, Words

__all__ = ["LINE", "Shared", "Sizes", "shared_of", "tallies"]

LINE = 8
"""Words of a cache line."""

# Of the join, each on its own line.
FED, TAKEN, HEAD, QUEUE_LOCK, BLOCKED, ACTIVE, OUT_LOCK, OUT, DRAINED, HEAD_DONE, MERGER, LEAVING = (
    LINE * n for n in range(12)
)
CONTROLS = 12 * LINE
# Of a window: SIDE * window + field.
COUNTED, EARLY, EDGE, EDGE_LOCK, FROZEN, PLOT, IN_TI, MERGES = (LINE * n for n in range(8))
SIDE = 8 * LINE
# Fixed when the memory is made.
SIDES, WINDOW, TASK, DEPTH, LIMIT, SLACK, BLOCKING, TREES, MASK, QUEUE_MASK, RING, TIMED = range(12)
# Of a worker: WORKER * worker + field.
PHASE, AT, END, SEEN_EDGE, TREE, FOUND, WROTE, FREED, OLDEST, PEND, PEND_END, LEAF, WAITED, BACK = range(14)
WORKER = 2 * LINE
# Status of a tuple in the queue (002-17).
AVAILABLE, ACTIVE_TUPLE, COMPLETED = 0, 1, 2


class Shared(NamedTuple):
    """The memory of one join."""

    key: Words
    """Ring per window: the indexed word."""
    time: Words
    """Ring per window: the timestamp; zeros where windows count tuples."""
    indexed: Rows
    """Ring per window: position + 1 once that tuple is in the index."""
    side: Rows
    """Queue: the tuple's stream."""
    place: Rows
    """Queue: its position in its window."""
    lo: Words
    """Queue: the least word a partner may have; `hi` the greatest."""
    hi: Words
    since: Words
    """Queue: the least timestamp a partner may have."""
    first: Rows
    """Queue: t_e, where the opposite window begins for this tuple (002-18)."""
    past: Rows
    """Queue: one past t_l, where it ends."""
    status: Rows
    owner: Rows
    """Queue: which worker found the results; `start` where in its ring, `count` how many."""
    start: Rows
    count: Rows
    found: Rows
    """Ring per worker: positions of partners."""
    out_probe: Rows
    """What has left in order: number of the later tuple, position of its partner."""
    out_stored: Rows
    control: Rows
    window: Rows
    fixed: Rows
    worker: Rows
    lock: Rows
    """Per sub-index, a cache line each (002-13)."""
    forest: Forest
    """T_I: two plots of sub-indexes per window."""
    css: Css
    """T_S: two plots per window."""


class Sizes(NamedTuple):
    """How much memory a join takes, and its settings."""

    sides: int
    window: int
    """Tuples that a window can hold; for count windows also what it does hold."""
    batch: int
    """Tuples that are fed at once."""
    workers: int
    task: int
    limit: int
    """|T_I| that starts a merge: m · w."""
    depth: int
    blocking: bool
    timed: bool
    output: int
    leaf: int
    fan: int


def power(n: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << max(0, int(n - 1).bit_length())


def shared_of(s: Sizes) -> Shared:
    """Make the memory: no window has a tuple, no worker a task."""
    slack = max(64, 4 * s.workers * s.task, s.limit // 4)
    ring = power(s.window + s.batch + slack)
    queue = power(s.batch + 1)
    mutable = s.limit + 2 * slack + 2 * s.workers * s.task
    immutable = s.window + mutable
    nodes = immutable // (s.leaf * s.fan) + 2  # of the lowest level of T_S
    trees = max(1, min(s.fan**s.depth, nodes))
    results = power(2 * s.window + s.batch)
    fixed = np.zeros(16, np.int64)
    fixed[[SIDES, WINDOW, TASK, DEPTH, LIMIT, SLACK]] = s.sides, s.window, s.task, s.depth, s.limit, slack
    fixed[[BLOCKING, TREES, MASK, QUEUE_MASK, RING, TIMED]] = s.blocking, trees, ring - 1, queue - 1, results, s.timed
    rings = [np.zeros(s.sides * ring, np.int64) for _ in range(3)]
    queues = [np.zeros(queue, np.int64) for _ in range(11)]
    window = np.zeros(s.sides * SIDE, np.int64)
    window[PLOT::SIDE] = 2 * np.arange(s.sides)
    return Shared(
        *rings,
        *queues,
        np.empty(s.workers * results, np.int64),
        np.empty(power(s.output), np.int64),
        np.empty(power(s.output), np.int64),
        np.zeros(CONTROLS, np.int64),
        window,
        fixed,
        np.zeros(s.workers * WORKER, np.int64),
        np.zeros(2 * s.sides * trees * LINE, np.int64),
        forest_of(trees, mutable, s.leaf, s.fan, linked=True, plots=2 * s.sides),
        css_room(immutable, s.leaf, s.fan, plots=2 * s.sides),
    )


def tallies(shared: Shared) -> dict[str, int]:
    """Return the bytes of every component (002-16); the merge buffer is the plot of T_S that is not in use."""
    css, forest = shared.css.nbytes // 2, shared.forest.nbytes // 2
    rings = shared.key.nbytes + shared.time.nbytes + shared.indexed.nbytes
    queue = sum(array.nbytes for array in shared[3:14])
    results = shared.found.nbytes + shared.out_probe.nbytes + shared.out_stored.nbytes
    return {
        "window": rings, "queue": queue, "results": results,
        "T_S": css, "T_I": forest, "merge buffer": css + forest, "locks": shared.lock.nbytes,
    }  # fmt: skip
