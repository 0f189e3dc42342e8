"""What a task notes for FastJoin's monitors: rows kept and arrivals, in all and by key (003-03), in bounded space.

- kept: per side a short vector of sub-windows, each with its keys' counts and the greatest time (or row number) in it; the
  head is dropped when its rows have left the window (003-23). Over the full history there is one sub-window.
- phi: the paper's queue length. Micro-batches have no queue: it is the arrivals of the last batch or, the default, arrivals
  halved with every batch, as the authors' code does (003-34).

Counts go on from the notes before; only behind a migration is everything the task holds counted anew, in the very batch that
has pulled the state anyway. That is the hand-over of per-key statistics that Algorithm 2 forgets (003-20).

Keys are counted exactly while they are few, by Space-Saving of whole batches beyond. A batch is counted by sorting (one with
many rows and many keys by a sample of them). Two counts are added key by key; a key that one of them no longer lists counts
there with `floor`, the most that an unlisted key can have, as in Space-Saving's merge. So a listed count is never below the
true one and never more than `floor` above it, samples aside, and `floor` is 0 as long as the distinct keys fit.

References
----------
[^1]: Metwally, Agrawal, El Abbadi. Efficient Computation of Frequent and Top-k Elements in Data Streams. ICDT 2005.
[^2]: Agarwal et al. Mergeable Summaries. PODS 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.routing.fastjoin.plan import FastJoinPlan
from weft.routing.scheme import BatchView, Notes
from weft.spec import JoinSpec, Last, Tumbling, TumblingRows, Within
from weft.types import SIDES, WORD_MIN, Bools, Side, Words, other

__all__ = ["SAMPLE", "SUBWINDOWS", "KeyCounts", "count_keys", "kept_counts", "phi_counts", "watch_keys"]

_WORTH = 4
"""Once a count is over its bound, keys below a share of 1 / (bound * _WORTH) are not listed: even keys stay cheap to note."""


SAMPLE = 1 << 14
"""Rows of a batch from which on many keys are counted by a sample."""


def count_keys(words: Words) -> tuple[Words, NDArray[np.float64]]:
    """Return the distinct words in order and how often each occurs."""
    if not len(words):
        return np.zeros(0, np.int64), np.zeros(0)
    ordered = np.sort(words)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[first], np.diff(first, append=len(ordered)).astype(np.float64)


@dataclass(frozen=True)
class KeyCounts:
    """`counts[i]` occurrences of `keys[i]` (ascending), `total` of all keys, listed or not."""

    total: float
    floor: float
    keys: Words
    counts: NDArray[np.float64]

    @classmethod
    def none(cls) -> KeyCounts:
        """Return the count of nothing."""
        return cls(0.0, 0.0, np.zeros(0, np.int64), np.zeros(0))

    @classmethod
    def of(cls, words: Words, bound: int) -> KeyCounts:
        """Count the words of one batch and list at most `bound` keys: exactly where there are no more.

        Of a large batch with many keys one row of every n is counted, for n: a heavy key shows in a sample as well. Which
        one of the n is drawn, so that keys that come round in turn are seen as they are; from a fixed seed.
        """
        step = len(words) // SAMPLE
        if step > 1:
            drawn = np.random.default_rng(step).integers(0, step, SAMPLE)
            keys, counts = count_keys(words[np.arange(SAMPLE) * step + drawn])
            if len(keys) > bound:
                return cls(float(len(words)), 0.0, keys, counts * (len(words) / SAMPLE)).bounded(bound)
        return cls(float(len(words)), 0.0, *count_keys(words)).bounded(bound)

    def __add__(self, more: KeyCounts) -> KeyCounts:
        if not more.total and not more.floor:
            return self
        if not self.total and not self.floor:
            return more
        keys = np.union1d(self.keys, more.keys)
        counts = self.at(keys, missing=self.floor) + more.at(keys, missing=more.floor)
        return KeyCounts(self.total + more.total, self.floor + more.floor, keys, counts)

    def at(self, keys: Words, missing: float = 0.0) -> NDArray[np.float64]:
        """Return the counts of some keys, `missing` where a key is not listed."""
        if not len(self.keys):
            return np.full(len(keys), missing)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], missing)

    def sure(self, keys: Words) -> NDArray[np.float64]:
        """Return how often each key occurs at least."""
        return np.maximum(self.at(keys) - self.floor, 0.0)

    def scaled(self, factor: float) -> KeyCounts:
        """Return all counts times `factor`."""
        return KeyCounts(self.total * factor, self.floor * factor, self.keys, self.counts * factor)

    def bounded(self, bound: int) -> KeyCounts:
        """Return the same with at most `bound` keys listed, the most frequent ones."""
        if len(self.keys) <= bound:
            return self
        kept = self.counts * (bound * _WORTH) > self.total
        listed = np.flatnonzero(kept)
        if len(listed) > bound:
            kept[listed[np.argpartition(-self.counts[listed], bound - 1)[bound:]]] = False
        floor = max(self.floor, float(self.counts[~kept].max()))
        return KeyCounts(self.total, floor, self.keys[kept], self.counts[kept])

    def to_json(self) -> list[Any]:
        """Return the counts as JSON data."""
        return [self.total, self.floor, self.keys.tolist(), self.counts.tolist()]

    @classmethod
    def of_json(cls, data: list[Any]) -> KeyCounts:
        """Read them back."""
        total, floor, keys, counts = data
        return cls(float(total), float(floor), np.array(keys, np.int64), np.array(counts, np.float64))


SUBWINDOWS = 4
"""Sub-windows of a window: what is counted as kept may be out of the window by a quarter of it."""

LONGEST = 2 * SUBWINDOWS
"""Most elements of the vector; there are more than `SUBWINDOWS` where the other side lags."""

SubWindow = tuple[int, KeyCounts]


def watch_keys(spec: JoinSpec, view: BatchView, before: Notes, *, bound: int, halve: bool) -> Notes:
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


def _newest(spec: JoinSpec, side: Side, view: BatchView, before: Notes) -> int:
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
