"""The parallel window join as a state machine: a worker is a few numbers, a step is what it does between two looks at the others.

Threads run the steps of their worker in a loop (`work`); a test runs the steps of several workers in any order it likes
(`play`). Both run this code (002-43). What two workers could do at once is guarded as in the paper: acquisition by a lock, a
sub-index by its lock, edge tuple and output by locks that are tried and not waited for. A step that would wait does nothing.
"""

from __future__ import annotations

from weft.kernels.atomic import fetch_add, load, pause, store, swap
from weft.kernels.jit import inlined, kernel
from weft.kernels.parallel.merge import build_plot, take_over
from weft.kernels.parallel.probe import opposite, probe_immutable, probe_sub_index, scan_window
from weft.kernels.parallel.shared import (
    ACTIVE,
    ACTIVE_TUPLE,
    AT,
    BACK,
    BLOCKED,
    BLOCKING,
    COMPLETED,
    COUNTED,
    DEPTH,
    DRAINED,
    EARLY,
    EDGE,
    EDGE_LOCK,
    END,
    FED,
    FOUND,
    FREED,
    FROZEN,
    HEAD,
    HEAD_DONE,
    IN_TI,
    LEAVING,
    LIMIT,
    LINE,
    LOCK,
    MASK,
    MERGER,
    MERGES,
    OLDEST,
    OUT,
    OUT_LOCK,
    OUT_PROBE,
    OUT_STORED,
    OUTPUT,
    PEND,
    PEND_END,
    PHASE,
    PLOT,
    QUEUE_COUNT,
    QUEUE_FIRST,
    QUEUE_LOCK,
    QUEUE_MASK,
    QUEUE_OWNER,
    QUEUE_PAST,
    QUEUE_PLACE,
    QUEUE_SIDE,
    QUEUE_SINCE,
    QUEUE_START,
    QUEUE_STATUS,
    RESULTS,
    RING,
    RING_INDEXED,
    RING_KEY,
    RING_TIME,
    SEEN_EDGE,
    SIDE,
    SIDES,
    SLACK,
    TAKEN,
    TASK,
    TIMED,
    TREE,
    TREES,
    WINDOW,
    WORKER,
    WROTE,
)
from weft.kernels.trees.css import Css, route
from weft.kernels.trees.forest import Forest, insert
from weft.types import Rows

__all__ = ["DONE", "FULL", "LEFT", "MOVED", "WAITS", "advance_edges", "play", "step", "work"]

MOVED, WAITS, FULL, DONE, LEFT = range(5)
"""What a step says: it did something; it would have to wait; the output is full; all is done; the worker has left."""

(
    IDLE, START, PROBE_S, LOCK_T, PROBE_T, SCAN, LOCK_I, INSERT, EDGE_TRY, EDGE_MOVE, NEXT, OUT_TRY, OUT_MOVE,
    MERGE_WAIT, MERGE_BUILD, MERGE_BLOCK, MERGE_SWAP, MERGE_LOCK, MERGE_INSERT,
) = range(19)  # fmt: skip


@inlined
def acquire(m: Rows, me: int) -> int:
    """Take the next tuples of the queue, record the window of each (002-17, 002-18); or become the merging thread."""
    at = me * WORKER
    if load(m, LEAVING) >> me & 1:
        return LEFT
    if load(m, BLOCKED) or swap(m, QUEUE_LOCK, 1):
        return WAITS
    if load(m, BLOCKED):  # it was set before we had the lock
        store(m, QUEUE_LOCK, 0)
        return WAITS
    held_back = False
    for side in range(m[SIDES]):
        w = side * SIDE
        if load(m, MERGER) == 0 and load(m, w + IN_TI) >= m[LIMIT]:
            # 002-24: assignment is blocked from here on; active tasks go on to their end.
            store(m, MERGER, side + 1)
            store(m, BLOCKED, 1)
            m[at + PHASE] = MERGE_WAIT
            store(m, QUEUE_LOCK, 0)
            return MOVED
        behind = m[w + COUNTED] - load(m, w + EDGE)
        held_back |= load(m, MERGER) != 0 and (behind >= m[SLACK] or load(m, w + IN_TI) >= m[LIMIT] + m[SLACK])
    taken, fed = m[TAKEN], load(m, FED)
    if held_back or taken == fed:
        store(m, QUEUE_LOCK, 0)
        if load(m, HEAD) < fed:
            m[at + PHASE], m[at + BACK] = OUT_TRY, IDLE
            return WAITS
        return WAITS if load(m, MERGER) else DONE
    end = min(fed, taken + m[TASK])
    for g in range(taken, end):
        record(m, g)
    m[TAKEN] = end
    fetch_add(m, ACTIVE, 1)
    store(m, QUEUE_LOCK, 0)
    m[at + PHASE], m[at + AT], m[at + END] = START, taken, end
    return MOVED


@inlined
def record(m: Rows, g: int) -> None:
    """Give a tuple its position, and t_e and t_l of the window it will probe."""
    q, mask = g & m[QUEUE_MASK], m[MASK]
    side = m[m[QUEUE_SIDE] + q]
    other = opposite(m, side) * SIDE
    past = m[other + COUNTED]
    if m[TIMED]:
        first, base = m[other + EARLY], opposite(m, side) * (mask + 1)
        while first < past and m[m[RING_TIME] + (base + (first & mask))] < m[m[QUEUE_SINCE] + q]:
            first += 1
        m[other + EARLY] = first
    else:
        first = max(0, past - m[WINDOW])
    m[m[QUEUE_FIRST] + q], m[m[QUEUE_PAST] + q], m[m[QUEUE_PLACE] + q] = first, past, m[side * SIDE + COUNTED]
    m[side * SIDE + COUNTED] += 1
    store(m, m[QUEUE_STATUS] + q, ACTIVE_TUPLE)


@inlined
def start_tuple(m: Rows, me: int) -> int:
    """Copy the edge tuple (002-19), if the ring has room for all the partners there can be."""
    at = me * WORKER
    q = m[at + AT] & m[QUEUE_MASK]
    used = m[at + WROTE] - load(m, at + FREED)
    if used + m[m[QUEUE_PAST] + q] - m[m[QUEUE_FIRST] + q] > m[RING]:
        m[at + PHASE], m[at + BACK] = OUT_TRY, START
        return WAITS
    m[at + FOUND] = 0
    m[at + SEEN_EDGE] = load(m, opposite(m, m[m[QUEUE_SIDE] + q]) * SIDE + EDGE)
    m[at + PHASE] = PROBE_S
    return MOVED


@inlined
def finish_tuple(m: Rows, css: Css, me: int) -> None:
    """Publish the results; the tuple is completed (002-20), its index update follows."""
    at = me * WORKER
    q = m[at + AT] & m[QUEUE_MASK]
    m[m[QUEUE_OWNER] + q], m[m[QUEUE_START] + q], m[m[QUEUE_COUNT] + q] = me, m[at + WROTE], m[at + FOUND]
    m[at + WROTE] += m[at + FOUND]
    side = m[m[QUEUE_SIDE] + q]
    m[at + PEND] = m[m[QUEUE_PLACE] + q]  # the queue's slot may be fed anew once the tuple is completed
    m[at + PEND_END] = side
    if load(m, side * SIDE + FROZEN):  # 002-24: a merge is under way, the index is not updated
        m[at + PHASE] = NEXT
    else:
        aim(m, css, me, side, m[m[QUEUE_PLACE] + q])
        m[at + PHASE] = LOCK_I
    store(m, m[QUEUE_STATUS] + q, COMPLETED)


@inlined
def aim(m: Rows, css: Css, me: int, side: int, place: int) -> None:
    """Find the sub-index that a tuple belongs to."""
    mask, plot = m[MASK], m[side * SIDE + PLOT]
    key = m[m[RING_KEY] + (side * (mask + 1) + (place & mask))]
    m[me * WORKER + TREE] = plot * m[TREES] + route(css, plot, key, m[DEPTH])


@inlined
def insert_entry(m: Rows, f: Forest, me: int, side: int, place: int) -> None:
    """Insert into the sub-index whose lock is held, release it, mark the tuple as indexed (002-22)."""
    mask, tree = m[MASK], m[me * WORKER + TREE]
    slot = side * (mask + 1) + (place & mask)
    insert(f, tree, m[m[RING_KEY] + slot], place)
    fetch_add(m, side * SIDE + IN_TI, 1)
    store(m, m[LOCK] + tree * LINE, 0)
    store(m, m[RING_INDEXED] + slot, place + 1)


@inlined
def move_edge(m: Rows, side: int) -> None:
    """Advance the edge tuple over all that is indexed."""
    mask, w = m[MASK], side * SIDE
    edge, end = m[w + EDGE], load(m, w + COUNTED)
    while edge < end and load(m, m[RING_INDEXED] + side * (mask + 1) + (edge & mask)) == edge + 1:
        edge += 1
    store(m, w + EDGE, edge)


@kernel
def advance_edges(m: Rows) -> None:
    """Advance both edges as far as they go; nobody else may be at work."""
    for side in range(m[SIDES]):
        move_edge(m, side)


@inlined
def propagate(m: Rows, me: int) -> int:
    """Let the results of the queue's head go, if it is completed (002-23); part of them if the output has less room."""
    at = me * WORKER
    head = m[HEAD]
    q = head & m[QUEUE_MASK]
    if head == load(m, TAKEN) or load(m, m[QUEUE_STATUS] + q) != COMPLETED:
        store(m, OUT_LOCK, 0)
        m[at + PHASE] = m[at + BACK]
        return WAITS
    ring, owner = m[RING], m[m[QUEUE_OWNER] + q]
    out, done = m[OUT], m[HEAD_DONE]
    mask = m[OUTPUT] - 1
    count = min(mask + 1 - (out - load(m, DRAINED)), m[m[QUEUE_COUNT] + q] - done)
    for k in range(count):
        m[m[OUT_PROBE] + (out & mask)] = head
        m[m[OUT_STORED] + (out & mask)] = m[
            m[RESULTS] + (owner * ring + ((m[m[QUEUE_START] + q] + done + k) & (ring - 1)))
        ]
        out += 1
    done += count
    store(m, OUT, out)
    m[HEAD_DONE] = done
    if done < m[m[QUEUE_COUNT] + q]:
        store(m, OUT_LOCK, 0)
        m[at + PHASE] = m[at + BACK]
        return FULL
    m[HEAD_DONE] = 0
    store(m, owner * WORKER + FREED, m[m[QUEUE_START] + q] + done)
    store(m, m[QUEUE_STATUS] + q, 0)
    store(m, HEAD, head + 1)
    return MOVED


@inlined
def join_step(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Do the next step of a worker that joins."""
    at = me * WORKER
    phase = m[at + PHASE]
    if phase == IDLE:
        return acquire(m, me)
    if phase == START:
        return start_tuple(m, me)
    if phase == PROBE_S:
        probe_immutable(m, css, me)
        m[at + PHASE] = LOCK_T
    elif phase in (LOCK_T, LOCK_I):
        if swap(m, m[LOCK] + m[at + TREE] * LINE, 1):
            return WAITS
        m[at + PHASE] = PROBE_T if phase == LOCK_T else INSERT
    elif phase == PROBE_T:
        held = m[at + TREE]
        goes_on = probe_sub_index(m, f, me)
        store(m, m[LOCK] + held * LINE, 0)
        m[at + PHASE] = LOCK_T if goes_on else SCAN
    elif phase == SCAN:
        scan_window(m, me)
        finish_tuple(m, css, me)
    elif phase == INSERT:
        insert_entry(m, f, me, m[at + PEND_END], m[at + PEND])
        m[at + PHASE] = EDGE_TRY
    elif phase == EDGE_TRY:
        busy = swap(m, m[at + PEND_END] * SIDE + EDGE_LOCK, 1)
        m[at + PHASE] = NEXT if busy else EDGE_MOVE
    elif phase == EDGE_MOVE:
        move_edge(m, m[at + PEND_END])
        store(m, m[at + PEND_END] * SIDE + EDGE_LOCK, 0)
        m[at + PHASE] = NEXT
    elif phase == NEXT:
        m[at + AT] += 1
        m[at + PHASE] = START
        if m[at + AT] == m[at + END]:
            fetch_add(m, ACTIVE, -1)
            m[at + PHASE], m[at + BACK] = OUT_TRY, IDLE
    elif phase == OUT_TRY:
        m[at + PHASE] = m[at + BACK] if swap(m, OUT_LOCK, 1) else OUT_MOVE
        return WAITS  # it has nothing to show yet
    elif phase == OUT_MOVE:
        return propagate(m, me)
    return MOVED


@kernel
def merge_step(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Do the next step of the merging thread (002-24)."""
    at = me * WORKER
    phase = m[at + PHASE]
    side = m[MERGER] - 1
    w = side * SIDE
    if phase == MERGE_WAIT:
        if load(m, ACTIVE):
            return WAITS
        # Phase 1: every tuple taken so far is indexed. The new T_S is built beside the old one.
        move_edge(m, side)
        m[at + OLDEST] = m[w + EARLY] if m[TIMED] else max(0, m[w + COUNTED] - m[WINDOW])
        if not m[BLOCKING]:
            store(m, w + FROZEN, 1)
            store(m, BLOCKED, 0)
        m[at + PHASE] = MERGE_BUILD
    elif phase == MERGE_BUILD:
        build_plot(m, f, css, side, m[at + OLDEST])
        m[at + PHASE] = MERGE_SWAP if m[BLOCKING] else MERGE_BLOCK
    elif phase == MERGE_BLOCK:
        if swap(m, QUEUE_LOCK, 1):
            return WAITS
        store(m, BLOCKED, 1)
        store(m, QUEUE_LOCK, 0)
        m[at + PHASE] = MERGE_SWAP
    elif phase == MERGE_SWAP:
        if load(m, ACTIVE):
            return WAITS
        # Phase 2: the new index takes the old one's place; what came meanwhile is still to be put in.
        take_over(m, side)
        m[at + PEND], m[at + PEND_END] = m[w + EDGE], m[w + COUNTED]
        store(m, w + IN_TI, 0)
        store(m, w + FROZEN, 0)
        m[w + MERGES] += 1
        store(m, BLOCKED, 0)
        m[at + PHASE] = MERGE_LOCK
    elif phase == MERGE_LOCK:
        if m[at + PEND] == m[at + PEND_END]:
            store(m, MERGER, 0)
            m[at + PHASE], m[at + BACK] = OUT_TRY, IDLE
            return MOVED
        aim(m, css, me, side, m[at + PEND])
        if swap(m, m[LOCK] + m[at + TREE] * LINE, 1):
            return WAITS
        m[at + PHASE] = MERGE_INSERT
    elif phase == MERGE_INSERT:
        insert_entry(m, f, me, side, m[at + PEND])
        m[at + PEND] += 1
        if not swap(m, w + EDGE_LOCK, 1):
            move_edge(m, side)
            store(m, w + EDGE_LOCK, 0)
        m[at + PHASE] = MERGE_LOCK
    return MOVED


@inlined
def step(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Do one step of a worker."""
    if m[me * WORKER + PHASE] < MERGE_WAIT:
        return join_step(m, f, css, me)
    return merge_step(m, f, css, me)


@kernel
def work(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Run a worker until all that was fed has left, the output is full, or the worker is to leave."""
    idle = 0
    while True:
        said = step(m, f, css, me)
        if said == MOVED:
            idle = 0
        elif said == WAITS:
            idle += 1
            if idle > 16:
                pause()
        else:
            return said


@kernel
def play(m: Rows, f: Forest, css: Css, schedule: Rows, from_step: int) -> int:
    """Run steps of workers in the given order until nobody has a task or the output is full; return how many were run."""
    for i in range(from_step, len(schedule)):
        said = step(m, f, css, schedule[i])
        if said == FULL or (m[HEAD] == m[FED] and m[ACTIVE] == 0 and m[MERGER] == 0):
            return i + 1
    return len(schedule)
