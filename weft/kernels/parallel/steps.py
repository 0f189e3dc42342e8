"""The parallel window join as a state machine: a worker is a few numbers, a step is what it does between two looks at the others.

Threads run the steps of their worker (`work`); a test runs the steps of several workers in any order it likes
(`play`). Both run this code (002-43). What two workers could do at once is guarded as in the paper: acquisition by a lock, a
sub-index by its lock, edge tuple and output by locks that are tried and not waited for. A step that would wait does nothing.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.llvm import fetch_add, load, pause, store, swap
from weft.kernels.parallel.index_steps import (
    aim,
    insert_entry,
    merge_step,
    move_edge,
    opposite,
    probe_immutable,
    probe_sub_index,
    scan_window,
)
from weft.kernels.parallel.shared import (
    ACTIVE,
    ACTIVE_TUPLE,
    AT,
    BACK,
    BLOCKED,
    COMPLETED,
    COUNTED,
    DONE,
    DRAINED,
    EARLY,
    EDGE,
    EDGE_LOCK,
    EDGE_MOVE,
    EDGE_TRY,
    END,
    FED,
    FOUND,
    FREED,
    FROZEN,
    FULL,
    HEAD,
    HEAD_DONE,
    IDLE,
    IN_TI,
    INSERT,
    LEAVING,
    LEFT,
    LIMIT,
    LINE,
    LOCK,
    LOCK_I,
    LOCK_T,
    MASK,
    MERGE_WAIT,
    MERGER,
    MOVED,
    NEXT,
    OUT,
    OUT_LOCK,
    OUT_MOVE,
    OUT_PROBE,
    OUT_STORED,
    OUT_TRY,
    OUTPUT,
    PEND,
    PEND_END,
    PHASE,
    PROBE_S,
    PROBE_T,
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
    RING_TIME,
    SCAN,
    SEEN_EDGE,
    SIDE,
    SIDES,
    SLACK,
    START,
    TAKEN,
    TASK,
    TIMED,
    TREE,
    WAITS,
    WINDOW,
    WORKER,
    WROTE,
)
from weft.kernels.trees.css import Css
from weft.kernels.trees.forest import Forest
from weft.types import Rows

__all__ = ["play", "work"]


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
def next_tuple(m: Rows, me: int) -> None:
    """Go on to the next tuple of the task, or end the task and look after the output."""
    at = me * WORKER
    m[at + AT] += 1
    m[at + PHASE] = START
    if m[at + AT] == m[at + END]:
        fetch_add(m, ACTIVE, -1)
        m[at + PHASE], m[at + BACK] = OUT_TRY, IDLE


@kernel
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


@kernel
def run(m: Rows, f: Forest, css: Css, me: int, schedule: Rows, from_step: int) -> int:
    """Run worker `me` until it has something to say; or, with a schedule, the workers that it names, a step each.

    One loop for both, with the trees as its arguments: to hand them to a function for each step would cost more than the
    step, in references counted.
    """
    scripted, i, waited = len(schedule) > 0, from_step, 0
    while True:
        if scripted:
            if i == len(schedule):
                return i
            me = schedule[i]
            i += 1
        at = me * WORKER
        phase, said = m[at + PHASE], MOVED
        if phase == IDLE:
            said = acquire(m, me)
        elif phase == START:
            said = start_tuple(m, me)
        elif phase == PROBE_S:
            probe_immutable(m, css, me)
            m[at + PHASE] = LOCK_T
        elif phase in (LOCK_T, LOCK_I):
            if swap(m, m[LOCK] + m[at + TREE] * LINE, 1):
                said = WAITS
            else:
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
            next_tuple(m, me)
        elif phase == OUT_TRY:
            m[at + PHASE] = m[at + BACK] if swap(m, OUT_LOCK, 1) else OUT_MOVE
            said = WAITS  # it has nothing to show yet
        elif phase == OUT_MOVE:
            said = propagate(m, me)
        else:
            said = merge_step(m, f, css, me)
        if scripted:
            if said == FULL or (m[HEAD] == m[FED] and m[ACTIVE] == 0 and m[MERGER] == 0):
                return i
        elif said == MOVED:
            waited = 0
        elif said == WAITS:
            waited += 1
            if waited > 16:
                pause()
        else:
            return said


_NO_SCHEDULE = np.empty(0, np.int64)


def work(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Run a worker until all that was fed has left, the output is full, or the worker is to leave."""
    return run(m, f, css, me, _NO_SCHEDULE, 0)


def play(m: Rows, f: Forest, css: Css, schedule: Rows, from_step: int) -> int:
    """Run steps of workers in the given order until nobody has a task or the output is full; return how many were run."""
    return run(m, f, css, 0, schedule, from_step)
