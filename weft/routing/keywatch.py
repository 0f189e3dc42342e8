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

import numpy as np

from weft.routing.fastjoin_plan import FastJoinPlan
from weft.routing.keycounts import KeyCounts
from weft.routing.scheme import Notes, TaskView
from weft.spec import JoinSpec, Last, Tumbling, TumblingRows, Within
from weft.types import SIDES, WORD_MIN, Side, Words, other

__all__ = ["SUBWINDOWS", "kept_counts", "phi_counts", "watch_keys"]

SUBWINDOWS = 4
"""Length of the vector of sub-windows: what is counted as kept may be out of the window by a quarter of it."""

SubWindow = tuple[int, KeyCounts]


def watch_keys(spec: JoinSpec, view: TaskView, before: Notes, *, bound: int, halve: bool) -> Notes:
    """Return the notes of one task and batch; at most `bound` keys in each count."""
    plan = view.plan
    if not isinstance(plan, FastJoinPlan) or plan.tasks == 1:
        return {}
    follows = before.get("version") == plan.version and before.get("tasks") == plan.tasks
    count = _counter(plan)
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
                fresh = [(_upto(spec, side, view.stored[side]), count(side, view.stored[side]))]
                windows = _joined([one for one in old if one[0] >= gone] + [one for one in fresh if one[1].total])
            else:
                windows = _recounted(spec, side, plan, view.held(side)[0], gone)
            kept[side] = [[upto, counts.bounded(bound).to_json()] for upto, counts in windows]
            arrived = count(other(side), view.probed[other(side)])
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


def _counter(plan: FastJoinPlan) -> Callable[[Side, Words], KeyCounts]:
    """Return a counter that sorts the same rows once: under a plain hash all rows that ask also stay."""
    done: dict[tuple[Side, int], KeyCounts] = {}

    def count(side: Side, words: Words) -> KeyCounts:
        which = (side, id(words))
        if which not in done:
            done[which] = KeyCounts.of(plan.key(side, words))
        return done[which]

    return count


def _newest(spec: JoinSpec, side: Side, view: TaskView, before: Notes) -> int:
    """Return the greatest time or row number of a side that this task has seen: its own idea of the clock."""
    seen = int(before.get("newest", {}).get(side, WORD_MIN))
    column = spec.expiry(side)
    if column is None:
        return seen
    return max([seen, *(int(w[column].max()) for w in (view.stored[side], view.probed[side]) if w.shape[1])])


def _gone_before(spec: JoinSpec, side: Side, newest: dict[Side, int]) -> int:
    """Return the time or row number below which rows of a side are out of the window."""
    window = spec.window
    if isinstance(window, Last):
        return newest[side] + 1 - window.n
    if isinstance(window, TumblingRows):
        return newest[other(side)]
    slower = min(newest.values())
    if not isinstance(window, (Within, Tumbling)) or window.delay is None or slower == WORD_MIN:
        return WORD_MIN
    if isinstance(window, Tumbling):
        return (slower - window.delay) // window.size * window.size
    return slower - window.delay - (window.before if side == "right" else window.after)


def _upto(spec: JoinSpec, side: Side, words: Words) -> int:
    column = spec.expiry(side)
    return 0 if column is None or not words.shape[1] else int(words[column].max())


def _joined(windows: list[SubWindow]) -> list[SubWindow]:
    """Join neighbours, those that span least, until the vector has its size."""
    windows = sorted(windows, key=lambda window: window[0])
    while len(windows) > SUBWINDOWS or (len(windows) > 1 and windows[0][0] == windows[-1][0]):
        ends = [upto for upto, _ in windows]
        spans = [ends[at + 1] - (ends[at - 1] if at else ends[0]) for at in range(len(ends) - 1)]
        at = spans.index(min(spans))
        windows[at : at + 2] = [(ends[at + 1], windows[at][1] + windows[at + 1][1])]
    return windows


def _recounted(spec: JoinSpec, side: Side, plan: FastJoinPlan, words: Words, gone: int) -> list[SubWindow]:
    """Count everything held, cut into sub-windows of equal span."""
    column = spec.expiry(side)
    if not words.shape[1]:
        return []
    if column is None:
        return [(0, KeyCounts.of(plan.key(side, words)))]
    words = words[:, words[column] >= gone]
    if not words.shape[1]:
        return []
    least, most = int(words[column].min()), int(words[column].max())
    width = max(1, -(-(most - least + 1) // SUBWINDOWS))
    cuts = [least + width * number for number in range(1, SUBWINDOWS) if least + width * number <= most]
    piece = np.searchsorted(np.array(cuts, np.int64), words[column], side="right")
    found = []
    for number in range(SUBWINDOWS):
        part = words[:, piece == number]
        if part.shape[1]:
            found.append((_upto(spec, side, part), KeyCounts.of(plan.key(side, part))))
    return found
