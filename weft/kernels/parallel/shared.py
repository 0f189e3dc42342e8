"""What the threads of a parallel window join share, all of it arrays of int64.

Positions count the tuples of a window from the start of time; position p stands in slot `p & mask` of a ring. Numbers `g`
count the tuples of both streams in order of arrival: the work queue (002-17), a ring as well. Words that threads write
often stand a cache line apart. What a worker is about to do is one of these numbers too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.trees.css import Css, css_room
from weft.kernels.trees.forest import Forest, forest_of
from weft.types import Rows

__all__ = ["LINE", "Shared", "Sizes", "shared_of", "tallies"]

LINE = 8
"""Words of a cache line."""

# Fixed when the memory is made.
SIDES, WINDOW, TASK, DEPTH, LIMIT, SLACK, BLOCKING, TREES, MASK, QUEUE_MASK, RING, TIMED, OUTPUT = range(13)
# Where the arrays start. Rings of a window: the indexed word, the timestamp (zero where windows count tuples), and position + 1
# once the tuple is in the index. Rings of the queue: stream, position, least and greatest word and least timestamp of a
# partner; t_e and one past t_l (002-18); status (002-17); which worker found the results, where in its ring, how many.
# Then the workers' rings of results, the output (number of the later tuple, position of its partner), the locks.
RING_KEY, RING_TIME, RING_INDEXED, QUEUE_SIDE, QUEUE_PLACE, QUEUE_LO, QUEUE_HI, QUEUE_SINCE, QUEUE_FIRST = range(16, 25)
QUEUE_PAST, QUEUE_STATUS, QUEUE_OWNER, QUEUE_START, QUEUE_COUNT, RESULTS, OUT_PROBE, OUT_STORED, LOCK = range(25, 34)
ARRAYS = range(RING_KEY, LOCK + 1)
# Of the join, each on its own line.
FED, TAKEN, HEAD, QUEUE_LOCK, BLOCKED, ACTIVE, OUT_LOCK, OUT, DRAINED, HEAD_DONE, MERGER, LEAVING = range(40, 136, LINE)
# Of a window: SIDE * window + field.
COUNTED, EARLY, EDGE, EDGE_LOCK, FROZEN, PLOT, IN_TI, MERGES = range(136, 200, LINE)
SIDE = 8 * LINE
# Of a worker: WORKER * worker + field.
PHASE, AT, END, SEEN_EDGE, TREE, FOUND, WROTE, FREED, OLDEST, PEND, PEND_END, LEAF, BACK = range(264, 277)
WORKER = 2 * LINE
# Status of a tuple in the queue (002-17); 0 is available.
ACTIVE_TUPLE, COMPLETED = 1, 2

MOVED, WAITS, FULL, DONE, LEFT = range(5)
"""What a step says: it did something; it would have to wait; the output is full; all is done; the worker has left."""

(
    IDLE, START, PROBE_S, LOCK_T, PROBE_T, SCAN, LOCK_I, INSERT, EDGE_TRY, EDGE_MOVE, NEXT, OUT_TRY, OUT_MOVE,
    MERGE_WAIT, MERGE_BUILD, MERGE_BLOCK, MERGE_SWAP, MERGE_LOCK, MERGE_INSERT,
) = range(19)  # fmt: skip
"""What a worker is about to do."""


class Shared(NamedTuple):
    """The memory of one join: one array for the protocol, so that a kernel's call moves few arguments; and the trees."""

    m: Rows
    forest: Forest
    """T_I: two plots of sub-indexes per window."""
    css: Css
    """T_S: two plots per window."""

    def array(self, which: int) -> Rows:
        """Return one of the arrays."""
        return self.m[int(self.m[which]) : int(self.m[which + 1]) if which < LOCK else len(self.m)]


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
    output = power(s.output)
    sizes = [*3 * [s.sides * ring], *11 * [queue], s.workers * results, output, output, 2 * s.sides * trees * LINE]
    ends = PHASE + s.workers * WORKER + np.cumsum(sizes)
    m = np.empty(int(ends[-1]), np.int64)
    m[: int(ends[RESULTS - RING_KEY - 1])] = (
        0  # results are written before they are read: their memory is not touched yet
    )
    m[-sizes[-1] :] = 0
    fixed = (
        s.sides,
        s.window,
        s.task,
        s.depth,
        s.limit,
        slack,
        s.blocking,
        trees,
        ring - 1,
        queue - 1,
        results,
        s.timed,
        output,
    )
    m[: len(fixed)] = fixed
    m[RING_KEY : LOCK + 1] = ends - sizes
    m[PLOT + SIDE * np.arange(s.sides)] = 2 * np.arange(s.sides)
    return Shared(
        m,
        forest_of(trees, mutable, s.leaf, s.fan, linked=True, plots=2 * s.sides),
        css_room(immutable, s.leaf, s.fan, plots=2 * s.sides),
    )


def tallies(shared: Shared) -> dict[str, int]:
    """Return the bytes of every component (002-16); the merge buffer is the plots that are not in use."""
    css, forest = shared.css.nbytes // 2, shared.forest.nbytes // 2
    bytes_of = [shared.array(which).nbytes for which in ARRAYS]
    return {
        "window": sum(bytes_of[:3]), "queue": sum(bytes_of[3:14]), "results": sum(bytes_of[14:17]), "locks": bytes_of[17],
        "T_S": css, "T_I": forest, "merge buffer": css + forest,
    }  # fmt: skip
