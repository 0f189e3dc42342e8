"""What a task notes for FastJoin's monitors: rows kept and arrivals, in all and by key (003-03).

- kept: per side a short vector of sub-windows, each with its keys' counts and the greatest time (or row number) in it; the
  head is dropped when its rows have left the window (003-23). Over the full history there is one sub-window.
- phi: the paper's queue length. Micro-batches have no queue: it is the arrivals of the last batch or, the default, arrivals
  halved with every batch, as the authors' code does (003-34).

Counts go on from the notes before; only behind a migration is everything the task holds counted anew, in the very batch that
has pulled the state anyway. That is the hand-over of per-key statistics that Algorithm 2 forgets (003-20).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.routing.fastjoin_plan import FastJoinPlan
from weft.routing.keycounts import KeyCounts
from weft.routing.scheme import Notes, TaskView
from weft.spec import JoinSpec, Last, Tumbling, TumblingRows, Within
from weft.types import SIDES, WORD_MIN, Bools, Side, Words, other

__all__ = ["SUBWINDOWS", "kept_counts", "phi_counts", "watch_keys"]

SUBWINDOWS = 4
"""Sub-windows of a window: what is counted as kept may be out of the window by a quarter of it."""

LONGEST = 2 * SUBWINDOWS
"""Most elements of the vector; there are more than `SUBWINDOWS` where the other side lags."""

SubWindow = tuple[int, KeyCounts]


def watch_keys(spec: JoinSpec, view: TaskView, before: Notes, *, bound: int, halve: bool) -> Notes:
    """Return the notes of one task and batch; at most `bound` keys in each count."""
    plan = view.plan
    if not isinstance(plan, FastJoinPlan) or plan.tasks == 1:
        return {}
    follows = before.get("version") == plan.version and before.get("tasks") == plan.tasks
    count = _counter(plan, bound)
    newest = {side: _newest(spec, side, view, before) for side in SIDES}
    kept: dict[str, Any] = {}
    phi: dict[str, Any] = {}
    for group in range(plan.groups):
        members = plan.members(group)
        if not members.start <= view.task < members.start + members.size:
            continue
        for side in plan.keeps(group):
            gone = _gone_before(spec, side, newest)
            if follows:
                old = [(int(upto), KeyCounts.of_json(counts)) for upto, counts in before["kept"].get(side, [])]
                windows = _joined(spec, side, old + _cut(spec, side, view.stored[side], gone, count))
            else:
                windows = _joined(spec, side, _cut(spec, side, view.held(side)[0], gone, count))
            windows = [one for one in windows if one[0] >= gone]
            kept[side] = [[upto, counts.bounded(bound).to_json()] for upto, counts in windows]
            arrived = count(other(side), view.probed[other(side)], None)
            if follows and halve and side in before["phi"]:
                arrived = KeyCounts.of_json(before["phi"][side]).scaled(0.5) + arrived
            phi[side] = arrived.bounded(bound).to_json()
    return {"version": plan.version, "tasks": plan.tasks, "newest": newest, "kept": kept, "phi": phi}


def kept_counts(notes: Notes, side: Side) -> KeyCounts:
    """Return what a task keeps of a side."""
    total = KeyCounts.none()
    for _, counts in notes.get("kept", {}).get(side, []):
        total += KeyCounts.of_json(counts)
    return total


def phi_counts(notes: Notes, keeper: Side) -> KeyCounts:
    """Return what arrives to be held against what a task keeps of `keeper`."""
    found = notes.get("phi", {}).get(keeper)
    return KeyCounts.none() if found is None else KeyCounts.of_json(found)


def _counter(plan: FastJoinPlan, bound: int) -> Callable[[Side, Words, Bools | None], KeyCounts]:
    """Return a counter that sorts the same rows once: under a plain hash all rows that ask also stay."""
    done: dict[tuple[Side, int], KeyCounts] = {}

    def count(side: Side, words: Words, some: Bools | None) -> KeyCounts:
        if some is not None:
            return KeyCounts.of(plan.key(side, words)[some], bound)
        which = (side, id(words))
        if which not in done:
            done[which] = KeyCounts.of(plan.key(side, words), bound)
        return done[which]

    return count


def _newest(spec: JoinSpec, side: Side, view: TaskView, before: Notes) -> int:
    """Return the greatest time or row number of a side that this task has seen: its own idea of the clock."""
    seen = int(before.get("newest", {}).get(side, WORD_MIN))
    column = spec.expiry(side)
    if column is None:
        return seen
    stored, probed = view.stored[side], view.probed[side]
    parts = [stored] if stored is probed else [stored, probed]
    return max([seen, *(int(part[column].max()) for part in parts if part.shape[1])])


def _gone_before(spec: JoinSpec, side: Side, newest: dict[Side, int]) -> int:
    """Return the time or row number below which rows of a side are out of the window."""
    window = spec.window
    if isinstance(window, Last):
        return newest[side] + 1 - window.n
    if isinstance(window, TumblingRows):
        return newest[other(side)]
    delays = window.delays.known if isinstance(window, (Within, Tumbling)) else None
    if delays is None or min(newest.values()) == WORD_MIN:
        return WORD_MIN
    mark = min(newest[each] - delays[each] for each in SIDES)
    if isinstance(window, Tumbling):
        return mark // window.size * window.size
    assert isinstance(window, Within)
    return mark - (window.before if side == "right" else window.after)


def _width(spec: JoinSpec, side: Side) -> int:
    """Return how much time, or how many rows, a sub-window of a side spans."""
    window = spec.window
    if isinstance(window, Last):
        return -(-window.n // SUBWINDOWS)
    if isinstance(window, Tumbling):
        return int(window.size)
    if isinstance(window, Within):
        span = (window.before if side == "right" else window.after) + max(
            (window.delays.known or {}).values(), default=0
        )
        return max(1, -(-int(span) // SUBWINDOWS))
    return 1  # groups of rows are numbered one by one


def _cut(
    spec: JoinSpec, side: Side, words: Words, gone: int, count: Callable[[Side, Words, Bools | None], KeyCounts]
) -> list[SubWindow]:
    """Count rows by sub-window, those out of the window left out; a batch that lies within one is counted as it is."""
    column = spec.expiry(side)
    if not words.shape[1]:
        return []
    if column is None:
        return [(0, count(side, words, None))]
    width, time = _width(spec, side), words[column]
    oldest, newest = max(int(time.min()), gone), int(time.max())
    first, last = oldest // width, newest // width
    if first == last and oldest > gone:
        return [(newest, count(side, words, None))]
    cuts = range(max(first, last - LONGEST + 1) + 1, last + 1)  # of a long backlog the oldest pieces are one
    found, rest = [], time >= gone
    for number in (*cuts, None):
        here = rest if number is None else rest & (time < number * width)
        if here.any():
            found.append((int(time[here].max()), count(side, words, here)))
        rest = rest & ~here
    return found


def _joined(spec: JoinSpec, side: Side, windows: list[SubWindow]) -> list[SubWindow]:
    """Make one of what lies in the same sub-window, and of the oldest ones when the other side lags far behind."""
    width = _width(spec, side)
    made: list[SubWindow] = []
    for upto, counts in sorted(windows, key=lambda window: window[0]):
        if made and (made[-1][0] == upto or made[-1][0] // width == upto // width):
            made[-1] = (upto, made[-1][1] + counts)
        else:
            made.append((upto, counts))
    while len(made) > LONGEST:
        made[:2] = [(made[1][0], made[0][1] + made[1][1])]
    return made
