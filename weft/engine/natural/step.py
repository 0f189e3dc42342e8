"""The natural join of one task in one batch: `(state, arrivals) -> (state, pairs)`, no clock, no file, no Spark.

Order within a batch is right before left, as in every Weft join; of a single stream, the order of arrival. A single stream
gives each pair once, the earlier document on the left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.documents import Coded, names_of
from weft.engine.arrivals import Arrivals
from weft.engine.clock import advance, expired_before, late_rows
from weft.engine.natural.fp_trees import CHUNK, TreeCache, buckets_of, chained, run_of
from weft.engine.natural.route import reported_here
from weft.engine.pairs import cuts, terms_hold
from weft.engine.route import PROBE
from weft.engine.step import Step, alive_rows, arrived_rows, held_rows
from weft.index import Run
from weft.kernels.documents.unite import compose
from weft.routing import TaskStats
from weft.routing.documents import DocumentPlan, DocumentView
from weft.spec import JoinSpec, Tumbling, TumblingRows, Unbounded
from weft.state import TaskState
from weft.types import SIDES, Block, Bools, Rows, Side, Words

__all__ = ["as_times", "as_typed", "natural_step", "result_schema"]


def result_schema(
    ids: tuple[pa.DataType, pa.DataType], times: tuple[pa.DataType, pa.DataType] | None = None
) -> pa.Schema:
    """Return the columns of a natural join's result; where its window is one of time, the times of both documents too."""
    columns = [
        ("left_id", ids[0]), ("right_id", ids[1]), ("shared", pa.list_(pa.string())), ("merged", pa.large_string()),
    ]  # fmt: skip
    return pa.schema(columns + ([] if times is None else [("left_time", times[0]), ("right_time", times[1])]))


def as_times(words: pa.ChunkedArray, kind: pa.DataType, zone: str = "") -> pa.ChunkedArray:
    """Return the words of a time column in its own type; a day may be kept as its midnight in a zone.

    >>> as_times(pa.chunked_array([[0]]), pa.date32())[0].as_py().isoformat()
    '1970-01-01'
    """
    if not pa.types.is_date(kind):
        return words.cast(kind)
    times = words.cast(pa.timestamp("us", zone or None))
    return (pc.local_timestamp(times) if zone else times).cast(kind)


def as_typed(result: pa.Table, schema: pa.Schema, zone: str = "") -> pa.Table:
    """Return a chunk of the result in the types of its inputs: the step knows times as words."""
    columns = result.columns
    columns[4:] = [as_times(c, field.type, zone) for c, field in zip(columns[4:], list(schema)[4:], strict=True)]
    return pa.table(columns, names=schema.names).cast(schema)


def natural_step(
    spec: JoinSpec, task: int, state: TaskState, arrivals: Arrivals, forest: TreeCache
) -> Step[pa.Table]:  # fmt: skip
    """Join one batch. The state after it does not depend on the pairs being drawn."""
    plan = state.plan
    assert isinstance(plan, DocumentPlan)
    blocks = {side: arrivals.blocks[side].filter((arrivals.roles[side] & PROBE) != 0) for side in SIDES}
    clock = advance(state.clock, arrivals.headers)
    bound = {side: expired_before(spec, side, clock) for side in SIDES}  # what the next batch cannot reach is not saved
    old = {side: tuple(run for run in state.runs[side] if len(run)) for side in SIDES}
    fresh = {side: run_of(spec, side, blocks[side]) for side in SIDES if len(blocks[side])}
    runs = {side: chained(spec, side, old[side], fresh.get(side), bound[side]) for side in SIDES}
    after = replace(state, runs=runs, before=bound, clock=clock)
    alive = {side: alive_rows(spec, side, runs[side], bound[side]) for side in SIDES}
    late = late_rows(arrivals.headers, task)
    stats = TaskStats(arrived_rows(arrivals), after.rows, late, dict.fromkeys(SIDES, ()), alive=alive)
    words, draws = {side: blocks[side].words for side in SIDES}, {side: blocks[side].u for side in SIDES}
    view = DocumentView(
        task, plan, words, words, draws, lambda side: held_rows(spec, side, runs[side]), lambda: _said(blocks)
    )  # fmt: skip
    before = forest.seconds

    def pairs() -> Iterator[pa.Table]:
        finder = _Finder(spec, plan, task, forest)
        if spec.self_join:
            for run in old["left"]:
                yield from finder.across("left", blocks["left"], "left", run, stored_is_left=True)
            if "left" in fresh:
                yield from finder.within(fresh["left"])
            return
        if "right" in fresh:
            yield from finder.across("left", blocks["left"], "right", fresh["right"])
        for run in old["right"]:
            yield from finder.across("left", blocks["left"], "right", run)
        for run in old["left"]:
            yield from finder.across("right", blocks["right"], "left", run, stored_is_left=True)

    return Step(after, stats, view, pairs, lambda: {"build": forest.seconds - before})


def _said(blocks: dict[Side, Block]) -> tuple[tuple[Words, Words, Words], Callable[[Words], dict[int, str]]]:
    """Return what documents say as words, and what finds the names of attributes among them."""
    coded = Coded.concat([Coded.of_table(blocks[side].payload) for side in SIDES if len(blocks[side])])
    return (coded.offsets, coded.attrs, coded.pairs), partial(names_of, coded)


@dataclass(frozen=True)
class _Finder:
    spec: JoinSpec
    plan: DocumentPlan
    task: int
    forest: TreeCache

    def across(
        self, side: Side, block: Block, other: Side, run: Run, stored_is_left: bool = False
    ) -> Iterator[pa.Table]:
        """Yield what new documents of one side find in a run."""
        if not len(block):
            return
        tree, probes = self.forest.tree(self.spec, other, run), Coded.of_table(block.payload)
        once = self._meet_once(block.words) or self._meet_once(run.words)
        for which, stored in tree.candidates(probes, buckets_of(self.spec, side, block.words)):
            keep = self._near(block.words, which, run.words, stored, stored_is_left, once)
            new = Documents(probes, block.payload, self._times(side, block.words), _of(which, keep))
            held = Documents(tree.coded, run.payload, self._times(other, run.words), _of(stored, keep))
            yield from _result(held, new) if stored_is_left else _result(new, held)

    def within(self, run: Run) -> Iterator[pa.Table]:
        """Yield the pairs among the new documents of a single stream."""
        tree = self.forest.tree(self.spec, "left", run)
        number, once = _arrival(self.spec, run.words), self._meet_once(run.words)
        for one, two in tree.among():
            swapped = number[one] > number[two]
            first, second = np.where(swapped, two, one), np.where(swapped, one, two)
            keep = self._near(run.words, second, run.words, first, True, once)
            times = self._times("left", run.words)
            yield from _result(
                *(Documents(tree.coded, run.payload, times, _of(rows, keep)) for rows in (first, second))
            )

    def _times(self, side: Side, words: Words) -> Words | None:
        column = self.spec.side(side).time
        return None if column is None else words[column]

    def _meet_once(self, words: Words) -> bool:
        """Tell whether each of these documents, all of them here, is nowhere else: then this task reports all their pairs."""
        bits = words[-self.plan.width :]
        return bool(((bits & (bits - 1)) == 0).all() and ((bits != 0).sum(axis=0) <= 1).all())

    def _near(
        self, new: Words, which: Rows, held: Words, stored: Rows, stored_is_left: bool, once: bool
    ) -> Bools | None:  # fmt: skip
        """Tell which candidates this task reports and the window allows; None: all of them."""
        near: Bools | None = None
        if not isinstance(
            self.spec.window, Unbounded | Tumbling | TumblingRows
        ):  # the tree keeps tumbling windows apart
            pair = new[:, which], held[:, stored]
            left, right = pair[::-1] if stored_is_left else pair
            near = terms_hold(self.spec.terms, left, right)
            if self.spec.self_join:  # one stream has no left and right: either reading will do
                near |= terms_hold(self.spec.terms, right, left)
        if not once:
            width = self.plan.width
            here = reported_here(self.task, new[-width:][:, which], held[-width:][:, stored])
            near = here if near is None else near & here
        return near


def _of(rows: Rows, keep: Bools | None) -> Rows:
    return rows if keep is None else rows[keep]


def _arrival(spec: JoinSpec, words: Words) -> Words:
    """Return the order of arrival within a batch: row numbers where the window counts, else the place in the block."""
    seq = spec.left.seq
    return np.arange(words.shape[1]) if seq is None else words[seq + 1]


@dataclass(frozen=True)
class Documents:
    """One side of pairs: coded documents, their payload, the words of their times if they have any, and which rows."""

    coded: Coded
    payload: pa.Table
    times: Words | None
    rows: Rows


def _result(left: Documents, right: Documents) -> Iterator[pa.Table]:
    """Unite the pairs, drop those whose words lied, and yield the result; a document with very many partners in pieces."""
    x, y = left.coded, right.coded
    size = 2 * (x.bytes_of(left.rows) + y.bytes_of(right.rows))  # names and text
    for low, high in cuts(size, len(left.rows), CHUNK):
        one, two = left.rows[low:high], right.rows[low:high]
        made = compose(x.offsets, x.attrs, x.ends, x.spaced, y.offsets, y.attrs, y.ends, y.spaced, one, two)
        if not len(made.kept):
            continue
        names = _strings(made.name_ends, made.names)
        shared = pa.ListArray.from_arrays(pa.array(made.offsets.astype(np.int32)), _unescaped(names, made.names))
        merged = _strings(made.text_ends, made.text)
        ids = [
            side.payload.column("id").take(pa.array(rows[made.kept])).combine_chunks()
            for side, rows in ((left, one), (right, two))
        ]
        times = []
        if left.times is not None and right.times is not None:
            times = [pa.array(left.times[one[made.kept]]), pa.array(right.times[two[made.kept]])]
        schema = result_schema((ids[0].type, ids[1].type), (pa.int64(), pa.int64()) if times else None)
        yield pa.table([*ids, shared, merged, *times], schema=schema)


def _strings(ends: Words, text: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> pa.Array:
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])


def _unescaped(names: pa.Array, text: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> pa.Array:
    """Return attribute names as they are meant; few have anything escaped (a lone surrogate stays as it is written)."""
    if not (text == ord("\\")).any():
        return names.cast(pa.string())
    plain = [json.loads(f'"{name}"') if "\\" in name else name for name in names.to_pylist()]
    return pa.array([p.encode("utf-8", "backslashreplace").decode() for p in plain], pa.string())
