"""The parallel window join as a state machine: a worker is a few numbers, a step is what it does between two looks at the others.

Threads run the steps of their worker in a loop (`work`); a test runs the steps of several workers in any order it likes
(`play`). Both run this code (002-43). What two workers could do at once is guarded as in the paper: acquisition by a lock, a
sub-index by its lock, edge tuple and output by locks that are tried and not waited for. A step that would wait does nothing.
"""

from __future__ import annotations

from weft.kernels.atomic import fetch_add, load, pause, store, swap
from weft.kernels.jit import kernel
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
    MASK,
    MERGER,
    MERGES,
    OLDEST,
    OUT,
    OUT_LOCK,
    PEND,
    PEND_END,
    PHASE,
    PLOT,
    QUEUE_LOCK,
    QUEUE_MASK,
    RING,
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
    Shared,
)
from weft.kernels.trees.css import route
from weft.kernels.trees.forest import insert
from weft.types import Rows

__all__ = ["DONE", "FULL", "LEFT", "MOVED", "WAITS", "advance_edges", "play", "step", "work"]

MOVED, WAITS, FULL, DONE, LEFT = range(5)
"""What a step says: it did something; it would have to wait; the output is full; all is done; the worker has left."""

(
    IDLE, START, PROBE_S, LOCK_T, PROBE_T, SCAN, LOCK_I, INSERT, EDGE_TRY, EDGE_MOVE, NEXT, OUT_TRY, OUT_MOVE,
    MERGE_WAIT, MERGE_BUILD, MERGE_BLOCK, MERGE_SWAP, MERGE_LOCK, MERGE_INSERT,
) = range(19)  # fmt: skip


@kernel
def acquire(s: Shared, me: int) -> int:
    """Take the next tuples of the queue, record the window of each (002-17, 002-18); or become the merging thread."""
    at, c = me * WORKER, s.control
    if load(c, LEAVING) >> me & 1:
        return LEFT
    if load(c, BLOCKED) or swap(c, QUEUE_LOCK, 1):
        return WAITS
    if load(c, BLOCKED):  # it was set before we had the lock
        store(c, QUEUE_LOCK, 0)
        return WAITS
    held_back = False
    for side in range(s.fixed[SIDES]):
        w = side * SIDE
        if load(c, MERGER) == 0 and load(s.window, w + IN_TI) >= s.fixed[LIMIT]:
            # 002-24: assignment is blocked from here on; active tasks go on to their end.
            store(c, MERGER, side + 1)
            store(c, BLOCKED, 1)
            s.worker[at + PHASE] = MERGE_WAIT
            store(c, QUEUE_LOCK, 0)
            return MOVED
        behind = s.window[w + COUNTED] - load(s.window, w + EDGE)
        held_back |= load(c, MERGER) != 0 and (
            behind >= s.fixed[SLACK] or load(s.window, w + IN_TI) >= s.fixed[LIMIT] + s.fixed[SLACK]
        )
    taken, fed = c[TAKEN], load(c, FED)
    if held_back or taken == fed:
        store(c, QUEUE_LOCK, 0)
        if load(c, HEAD) < fed:
            s.worker[at + PHASE], s.worker[at + BACK] = OUT_TRY, IDLE
            return WAITS
        return WAITS if load(c, MERGER) else DONE
    end = min(fed, taken + s.fixed[TASK])
    for g in range(taken, end):
        record(s, g)
    c[TAKEN] = end
    fetch_add(c, ACTIVE, 1)
    store(c, QUEUE_LOCK, 0)
    s.worker[at + PHASE], s.worker[at + AT], s.worker[at + END] = START, taken, end
    return MOVED


@kernel
def record(s: Shared, g: int) -> None:
    """Give a tuple its position, and t_e and t_l of the window it will probe."""
    q, mask = g & s.fixed[QUEUE_MASK], s.fixed[MASK]
    side = s.side[q]
    other = opposite(s, side) * SIDE
    past = s.window[other + COUNTED]
    if s.fixed[TIMED]:
        first, base = s.window[other + EARLY], opposite(s, side) * (mask + 1)
        while first < past and s.time[base + (first & mask)] < s.since[q]:
            first += 1
        s.window[other + EARLY] = first
    else:
        first = max(0, past - s.fixed[WINDOW])
    s.first[q], s.past[q], s.place[q] = first, past, s.window[side * SIDE + COUNTED]
    s.window[side * SIDE + COUNTED] += 1
    store(s.status, q, ACTIVE_TUPLE)


@kernel
def start_tuple(s: Shared, me: int) -> int:
    """Copy the edge tuple (002-19), if the ring has room for all the partners there can be."""
    at = me * WORKER
    q = s.worker[at + AT] & s.fixed[QUEUE_MASK]
    used = s.worker[at + WROTE] - load(s.worker, at + FREED)
    if used + s.past[q] - s.first[q] > s.fixed[RING]:
        s.worker[at + PHASE], s.worker[at + BACK] = OUT_TRY, START
        return WAITS
    s.worker[at + FOUND] = 0
    s.worker[at + SEEN_EDGE] = load(s.window, opposite(s, s.side[q]) * SIDE + EDGE)
    s.worker[at + PHASE] = PROBE_S
    return MOVED


@kernel
def finish_tuple(s: Shared, me: int) -> None:
    """Publish the results; the tuple is completed (002-20), its index update follows."""
    at = me * WORKER
    q = s.worker[at + AT] & s.fixed[QUEUE_MASK]
    s.owner[q], s.start[q], s.count[q] = me, s.worker[at + WROTE], s.worker[at + FOUND]
    s.worker[at + WROTE] += s.worker[at + FOUND]
    side = s.side[q]
    s.worker[at + PEND] = s.place[q]  # the queue's slot may be fed anew once the tuple is completed
    s.worker[at + PEND_END] = side
    if load(s.window, side * SIDE + FROZEN):  # 002-24: a merge is under way, the index is not updated
        s.worker[at + PHASE] = NEXT
    else:
        aim(s, me, side, s.place[q])
        s.worker[at + PHASE] = LOCK_I
    store(s.status, q, COMPLETED)


@kernel
def aim(s: Shared, me: int, side: int, place: int) -> None:
    """Find the sub-index that a tuple belongs to."""
    mask, plot = s.fixed[MASK], s.window[side * SIDE + PLOT]
    key = s.key[side * (mask + 1) + (place & mask)]
    s.worker[me * WORKER + TREE] = plot * s.fixed[TREES] + route(s.css, plot, key, s.fixed[DEPTH])


@kernel
def insert_entry(s: Shared, me: int, side: int, place: int) -> None:
    """Insert into the sub-index whose lock is held, release it, mark the tuple as indexed (002-22)."""
    mask, tree = s.fixed[MASK], s.worker[me * WORKER + TREE]
    slot = side * (mask + 1) + (place & mask)
    insert(s.forest, tree, s.key[slot], place)
    fetch_add(s.window, side * SIDE + IN_TI, 1)
    store(s.lock, tree * LINE, 0)
    store(s.indexed, slot, place + 1)


@kernel
def move_edge(s: Shared, side: int) -> None:
    """Advance the edge tuple over all that is indexed."""
    mask, w = s.fixed[MASK], side * SIDE
    edge, end = s.window[w + EDGE], load(s.window, w + COUNTED)
    while edge < end and load(s.indexed, side * (mask + 1) + (edge & mask)) == edge + 1:
        edge += 1
    store(s.window, w + EDGE, edge)


@kernel
def advance_edges(s: Shared) -> None:
    """Advance both edges as far as they go; nobody else may be at work."""
    for side in range(s.fixed[SIDES]):
        move_edge(s, side)


@kernel
def propagate(s: Shared, me: int) -> int:
    """Let the results of the queue's head go, if it is completed (002-23); part of them if the output has less room."""
    at, c = me * WORKER, s.control
    head = c[HEAD]
    q = head & s.fixed[QUEUE_MASK]
    if head == load(c, TAKEN) or load(s.status, q) != COMPLETED:
        store(c, OUT_LOCK, 0)
        s.worker[at + PHASE] = s.worker[at + BACK]
        return WAITS
    ring, owner = s.fixed[RING], s.owner[q]
    out, done = c[OUT], c[HEAD_DONE]
    mask = len(s.out_probe) - 1
    count = min(mask + 1 - (out - load(c, DRAINED)), s.count[q] - done)
    for k in range(count):
        s.out_probe[out & mask] = head
        s.out_stored[out & mask] = s.found[owner * ring + ((s.start[q] + done + k) & (ring - 1))]
        out += 1
    done += count
    store(c, OUT, out)
    c[HEAD_DONE] = done
    if done < s.count[q]:
        store(c, OUT_LOCK, 0)
        s.worker[at + PHASE] = s.worker[at + BACK]
        return FULL
    c[HEAD_DONE] = 0
    store(s.worker, owner * WORKER + FREED, s.start[q] + done)
    store(s.status, q, 0)
    store(c, HEAD, head + 1)
    return MOVED


@kernel
def join_step(s: Shared, me: int) -> int:
    """Do the next step of a worker that joins."""
    at, c = me * WORKER, s.control
    phase = s.worker[at + PHASE]
    if phase == IDLE:
        return acquire(s, me)
    if phase == START:
        return start_tuple(s, me)
    if phase == PROBE_S:
        probe_immutable(s, me)
        s.worker[at + PHASE] = LOCK_T
    elif phase in (LOCK_T, LOCK_I):
        if swap(s.lock, s.worker[at + TREE] * LINE, 1):
            return WAITS
        s.worker[at + PHASE] = PROBE_T if phase == LOCK_T else INSERT
    elif phase == PROBE_T:
        held = s.worker[at + TREE]
        goes_on = probe_sub_index(s, me)
        store(s.lock, held * LINE, 0)
        s.worker[at + PHASE] = LOCK_T if goes_on else SCAN
    elif phase == SCAN:
        scan_window(s, me)
        finish_tuple(s, me)
    elif phase == INSERT:
        insert_entry(s, me, s.worker[at + PEND_END], s.worker[at + PEND])
        s.worker[at + PHASE] = EDGE_TRY
    elif phase == EDGE_TRY:
        busy = swap(s.window, s.worker[at + PEND_END] * SIDE + EDGE_LOCK, 1)
        s.worker[at + PHASE] = NEXT if busy else EDGE_MOVE
    elif phase == EDGE_MOVE:
        move_edge(s, s.worker[at + PEND_END])
        store(s.window, s.worker[at + PEND_END] * SIDE + EDGE_LOCK, 0)
        s.worker[at + PHASE] = NEXT
    elif phase == NEXT:
        s.worker[at + AT] += 1
        s.worker[at + PHASE] = START
        if s.worker[at + AT] == s.worker[at + END]:
            fetch_add(c, ACTIVE, -1)
            s.worker[at + PHASE], s.worker[at + BACK] = OUT_TRY, IDLE
    elif phase == OUT_TRY:
        s.worker[at + PHASE] = s.worker[at + BACK] if swap(c, OUT_LOCK, 1) else OUT_MOVE
        return WAITS  # it has nothing to show yet
    elif phase == OUT_MOVE:
        return propagate(s, me)
    return MOVED


@kernel
def merge_step(s: Shared, me: int) -> int:
    """Do the next step of the merging thread (002-24)."""
    at, c = me * WORKER, s.control
    phase = s.worker[at + PHASE]
    side = c[MERGER] - 1
    w = side * SIDE
    if phase == MERGE_WAIT:
        if load(c, ACTIVE):
            return WAITS
        # Phase 1: every tuple taken so far is indexed. The new T_S is built beside the old one.
        move_edge(s, side)
        s.worker[at + OLDEST] = (
            s.window[w + EARLY] if s.fixed[TIMED] else max(0, s.window[w + COUNTED] - s.fixed[WINDOW])
        )
        if not s.fixed[BLOCKING]:
            store(s.window, w + FROZEN, 1)
            store(c, BLOCKED, 0)
        s.worker[at + PHASE] = MERGE_BUILD
    elif phase == MERGE_BUILD:
        build_plot(s, side, s.worker[at + OLDEST])
        s.worker[at + PHASE] = MERGE_SWAP if s.fixed[BLOCKING] else MERGE_BLOCK
    elif phase == MERGE_BLOCK:
        if swap(c, QUEUE_LOCK, 1):
            return WAITS
        store(c, BLOCKED, 1)
        store(c, QUEUE_LOCK, 0)
        s.worker[at + PHASE] = MERGE_SWAP
    elif phase == MERGE_SWAP:
        if load(c, ACTIVE):
            return WAITS
        # Phase 2: the new index takes the old one's place; what came meanwhile is still to be put in.
        take_over(s, side)
        s.worker[at + PEND], s.worker[at + PEND_END] = s.window[w + EDGE], s.window[w + COUNTED]
        store(s.window, w + IN_TI, 0)
        store(s.window, w + FROZEN, 0)
        s.window[w + MERGES] += 1
        store(c, BLOCKED, 0)
        s.worker[at + PHASE] = MERGE_LOCK
    elif phase == MERGE_LOCK:
        if s.worker[at + PEND] == s.worker[at + PEND_END]:
            store(c, MERGER, 0)
            s.worker[at + PHASE], s.worker[at + BACK] = OUT_TRY, IDLE
            return MOVED
        aim(s, me, side, s.worker[at + PEND])
        if swap(s.lock, s.worker[at + TREE] * LINE, 1):
            return WAITS
        s.worker[at + PHASE] = MERGE_INSERT
    elif phase == MERGE_INSERT:
        insert_entry(s, me, side, s.worker[at + PEND])
        s.worker[at + PEND] += 1
        if not swap(s.window, w + EDGE_LOCK, 1):
            move_edge(s, side)
            store(s.window, w + EDGE_LOCK, 0)
        s.worker[at + PHASE] = MERGE_LOCK
    return MOVED


@kernel
def step(s: Shared, me: int) -> int:
    """Do one step of a worker."""
    if s.worker[me * WORKER + PHASE] < MERGE_WAIT:
        return join_step(s, me)
    return merge_step(s, me)


@kernel
def work(s: Shared, me: int) -> int:
    """Run a worker until all that was fed has left, the output is full, or the worker is to leave."""
    idle = 0
    while True:
        said = step(s, me)
        if said == MOVED:
            idle = 0
        elif said == WAITS:
            idle += 1
            if idle > 16:
                pause()
        else:
            return said


@kernel
def play(s: Shared, schedule: Rows, from_step: int) -> int:
    """Run steps of workers in the given order until all is done or the output is full; return how many were run."""
    for i in range(from_step, len(schedule)):
        said = step(s, schedule[i])
        if said == FULL or (
            said == DONE and load(s.control, HEAD) == load(s.control, FED) and load(s.control, MERGER) == 0
        ):
            return i + 1
    return len(schedule)
