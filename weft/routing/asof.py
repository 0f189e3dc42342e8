"""Routing of as-of joins: a hash of the equal columns; keys too hot for one task, and joins without any, in slices of time.

A left row needs one right row, which may lie in another slice than its own: looking back, it is the last row of its slice
then, because every later row of that slice would be nearer. So each route partition sends the rows at the borders of a
slice to the other tasks of the key as well, and a left row finds its answer on the task of its own slice. Where a further
condition chooses among the right rows, any of them may be the answer, and all within the tolerance are sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.errors import SpecError
from weft.kernels import order_of
from weft.routing.plan import Plan, hash_home, key_word, owned
from weft.routing.regions import Regions
from weft.routing.scheme import BatchView, Notes, Scheme, TaskStats
from weft.spec import JoinSpec, Within
from weft.spec.options import check_count, check_number
from weft.types import SIDES, U32, WORD_MAX, Bools, Rows, Side, Words

__all__ = ["AsofPlan", "AsofScheme", "noted"]

_TOP = 32
"""Keys that a task counts for control."""


@dataclass(frozen=True)
class AsofPlan(Plan):
    """`left` and `right` are the equal columns, `left_place` and `right_place` the order; slices are `length` words long.

    Without a length nothing is cut. `hot` are the keys that are cut; where there are no equal columns everything is.
    A left row looks back by `back` and ahead by `ahead`, -1 for any distance. `whole`: all right rows within reach travel.
    """

    scheme: ClassVar[str] = "asof"

    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    left_place: int = 0
    right_place: int = 0
    back: int = -1
    ahead: int = 0
    whole: bool = False
    length: int = 0
    hot: tuple[int, ...] = ()

    def key(self, side: Side, words: Words) -> Words:
        """Return the routing key of each row; without equal columns it is the same for all."""
        columns = self.left if side == "left" else self.right
        return key_word(words, columns) if columns else np.zeros(words.shape[1], np.int64)

    def place(self, side: Side, words: Words) -> Words:
        """Return the order word of each row."""
        return words[self.left_place if side == "left" else self.right_place]

    def cut(self, key: Words) -> Bools:
        """Tell which rows go by their slice."""
        if not self.length or (self.left and not self.hot):
            return np.zeros(len(key), np.bool_)
        return np.isin(key, np.array(self.hot, np.int64)) if self.left else np.ones(len(key), np.bool_)

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        key = self.key(side, words)
        home = hash_home(key, self.tasks) if self.left else np.zeros(len(key), np.int64)
        cut = self.cut(key)
        if not cut.any():
            return owned(home, self.tasks)
        place = self.place(side, words)
        home[cut] = (home[cut] + place[cut] // self.length % self.tasks) % self.tasks
        found = owned(home, self.tasks)
        if side == "right" and self.whole:
            found[:, cut] = self.reached(words[:, cut])
        return found

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        if side == "right":
            return np.zeros((self.tasks, words.shape[1]), np.bool_)
        return self.store(side, words, u)

    def reached(self, words: Words) -> Bools:
        """Tell on which tasks left rows may choose each of some right rows of keys that are cut."""
        place, key = self.place("right", words), self.key("right", words)
        last = _moved(place, self.back) // self.length  # a left row that looks back so far is later by so much
        first = ~_moved(~place, self.ahead) // self.length
        slices = last.view(np.uint64) - first.view(np.uint64)  # more of them than a word can count with a sign
        home = hash_home(key, self.tasks) if self.left else np.zeros(len(key), np.int64)
        turns = (np.arange(self.tasks)[:, None] - (home + first % self.tasks)) % self.tasks
        return np.asarray(turns <= np.minimum(slices, np.uint64(self.tasks)).astype(np.int64))

    def borders(self, words: Words, ties: Words | None) -> Rows:
        """Return the right rows of keys that are cut at the borders of their slices: the last ones, the first ones, or both.

        Rows are in the order of their arrival. Those at one place count by their ties, then by arrival, also at the border
        from which left rows look ahead: of the first place it is the last row.
        """
        key = self.key("right", words)
        rows = np.flatnonzero(self.cut(key))
        if self.whole or not len(rows):
            return rows[:0]
        place, key = self.place("right", words)[rows], key[rows]
        slice_ = place // self.length
        order = order_of([place]) if ties is None else order_of([place, ties[rows]])
        order = order[order_of([slice_[order]])]
        order = order[order_of([key[order]])]
        # In this order slices of a key follow each other, and so do the places in a slice.
        key, slice_, place = key[order], slice_[order], place[order]
        ends = np.ones(len(rows), np.bool_)
        ends[:-1] = (key[1:] != key[:-1]) | (slice_[1:] != slice_[:-1])
        wanted = ends if self.back else np.zeros(len(rows), np.bool_)
        if self.ahead:
            last_of_place = ends.copy()
            last_of_place[:-1] |= place[1:] != place[:-1]
            begins = np.roll(ends, 1)
            begins[0] = True
            first_place = np.repeat(place[begins], np.diff(np.append(np.flatnonzero(begins), len(rows))))
            wanted = wanted | (last_of_place & (place == first_place))
        return rows[order[wanted]]

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del first
        if self.length:  # rows of keys that are cut may be anywhere
            return None
        columns = self.left if side == "left" else self.right
        return Regions.by_hash(columns, self.tasks) if columns else Regions.of([0])

    def keeps_whole(self, side: Side) -> bool:
        return side == "left"

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return 1.0, 0.0

    def describe(self) -> str:
        if self.tasks == 1:
            return "one task stores all rows"
        if not self.left:
            return (
                f"slices of {self.length:,}, to tasks in turns" if self.length else "one task, until a batch was seen"
            )
        hot = f"; {len(self.hot)} hot keys in slices of {self.length:,}" if self.hot and self.length else ""
        return f"equal keys go to one task{hot}"


def _moved(words: Words, by: int) -> Words:
    """Return `words + by` within the domain; -1 for any distance."""
    if by < 0:
        return np.full(len(words), WORD_MAX, np.int64)
    return np.where(words > WORD_MAX - by, WORD_MAX, words + np.int64(by))


@dataclass(frozen=True)
class AsofScheme(Scheme):
    """A hash of the equal columns; slices of time for keys that are hot, and where no columns have to be equal.

    Parameters
    ----------
    rounds
        How many rounds over all tasks a batch makes: more rounds balance better, and send more borders.
    hot
        How many times the mean load of a task a key must have to be cut.
    enough
        Rows that must have arrived in a batch before its counts are believed.
    """

    name: ClassVar[str] = "asof"

    rounds: int = 2
    hot: float = 1.0
    enough: int = 1000

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds, "rounds over all tasks in one batch", "use rounds=2.")
        check_number("hot", self.hot, "the load of a hot key relative to the mean of the tasks", "use 1.")

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        asof = spec.asof
        if asof is None:
            raise SpecError.of("This is not an as-of join.", "The scheme is 'asof'.", "use scheme='auto'.")
        left, right = zip(*((one, two) for one, two in _routed_by(spec)), strict=True) if asof.by else ((), ())
        reach = -1 if asof.tolerance is None or asof.floating else int(asof.tolerance)
        back, ahead = (reach if asof.back else 0), (reach if asof.ahead else 0)
        delays = spec.window.delays.known if isinstance(spec.window, Within) else None
        # Without equal columns there is nothing but time to go by; until a batch was seen, the delay tells how dense it is.
        guessed = 0 if asof.by or delays is None or tasks == 1 or not _can_cut(spec) else max(delays.values()) // tasks
        return AsofPlan(tasks, left, right, *asof.order, back, ahead, asof.chooses, guessed)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        plan = view.plan
        assert isinstance(plan, AsofPlan)
        if plan.tasks == 1:
            return {}
        keys = np.concatenate([plan.key(side, view.stored[side]) for side in SIDES])
        places = np.concatenate([plan.place(side, view.stored[side]) for side in SIDES])
        return noted(keys, places)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        assert isinstance(plan, AsofPlan)
        notes = [task.notes for task in stats if task.notes.get("rows")]
        total = sum(note["rows"] for note in notes)
        if plan.tasks == 1 or total < self.enough or not notes or not _can_cut(spec):
            return plan, ""
        span = max(note["span"][1] for note in notes) - min(note["span"][0] for note in notes)
        length = max(1, span // (self.rounds * plan.tasks))
        if plan.length and length <= 4 * plan.length <= 16 * length:  # near enough: a change moves rows
            length = plan.length
        counts: Counter[int] = Counter()
        for note in notes:
            counts.update({int(key): rows for key, rows in note["keys"]})
        mean = total / plan.tasks
        hot = tuple(sorted(
            key for key, rows in counts.items()
            if rows > mean * self.hot or (key in plan.hot and 4 * rows > mean * self.hot)
        )) if plan.left else ()  # fmt: skip
        if plan.left and not hot:
            length = 0
        after = replace(plan, length=length, hot=hot)
        if after == plan:
            return plan, ""
        what = f"{len(hot)} hot keys" if plan.left else "all rows"
        return after, f"slices of {length:,} for {what}" if length else "no key is hot any longer"


def noted(keys: Words, places: Words) -> Notes:
    """Return what is noted of some rows: how many, the most frequent keys, and how far their places spread."""
    if not len(keys):
        return {"rows": 0, "keys": [], "span": [0, 0]}
    found, counts = np.unique(keys, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_TOP]
    low, high = np.sort(places)[[len(places) // 20, len(places) - 1 - len(places) // 20]].tolist()
    return {"rows": len(keys), "keys": [[int(found[at]), int(counts[at])] for at in top], "span": [low, high]}


def _can_cut(spec: JoinSpec) -> bool:
    """Tell whether keys can be cut: a further condition without a tolerance may need any right row."""
    asof = spec.asof
    assert asof is not None
    return not asof.chooses or (asof.tolerance is not None and not asof.floating)


def _routed_by(spec: JoinSpec) -> list[tuple[int, int]]:
    """Return the word columns that equal rows have in common, hashes among them."""
    asof = spec.asof
    assert asof is not None
    return [(term.left, term.right) for term in spec.terms[: len(asof.by)]]
