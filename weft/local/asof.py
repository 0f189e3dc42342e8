"""`weft.local.asof_join`: each left row with the one right row that is nearest to it in an order column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from weft.engine import Job, Pairs
from weft.engine.asof import INDEX, AsofJoiner, Search, beside, check_compared, check_there, order_counts
from weft.errors import about
from weft.kernels import words_of
from weft.local.analyze import Analyzed, analyze
from weft.local.arrow import Batches, Tabular, as_schema, as_table, fed_parts, joined_batches, shown
from weft.local.checks import check_text, check_window, next_batch, opened
from weft.local.expr import Compiled, Projection
from weft.local.runtime import LocalRun, TableSource, carried, feed_whole, time_orders
from weft.planner import Explanation, check_tasks, explain_asof
from weft.routing import AsofScheme
from weft.spec import Delays, JoinSpec, Unbounded, Within, with_delays
from weft.spec.asof import asof_asked, asof_lags, asof_window
from weft.spec.join_spec import asof_spec
from weft.spec.options import Duration
from weft.state import MemoryStore, StateStore
from weft.types import SIDES, Bools, Rows, Side, Words

__all__ = ["AsofJoin", "asof_join", "explain_asof_join"]

On = str | tuple[str, str]
By = str | Sequence[str] | Mapping[str, str] | None


_PIECE = 1 << 22
"""Rows of a result that are gathered at a time."""


class AsofJoin:
    """An as-of join that takes its input batch by batch; `asof_join` takes whole tables.

    With a delay on both sides, a left row is emitted once no nearer right row can arrive; otherwise `finish` emits them
    all. With a state folder, the next batch follows the last finished one, even if another process finished it.

    Examples
    --------
    >>> left, right = pa.schema({"ts": pa.int64()}), pa.schema({"ts": pa.int64(), "bid": pa.float64()})
    >>> join = AsofJoin(left, right, on="ts", delay=0, select=["l.ts", "r.bid"])
    >>> list(join.feed(pa.table({"ts": [10]}), pa.table({"ts": [9], "bid": [1.5]})))  # a quote between 9 and 10 may still come
    []
    >>> [found.to_pylist() for found in join.finish()]
    [[{'ts': 10, 'bid': 1.5}]]
    """

    def __init__(
        self, left: pa.Schema | Tabular, right: pa.Schema | Tabular, *, on: On, by: By = None, direction: str = "backward",
        tolerance: Duration | float | None = None, strict: bool = False, how: str = "left", where: str | None = None,
        ties: str | None = None, select: Sequence[str] | None = None, suffix: str = "_right",
        delay: Duration | None = None, left_delay: Duration | None = None, right_delay: Duration | None = None,
        tasks: int = 1, state: StateStore | str | None = None, scheme: AsofScheme | None = None,
    ) -> None:  # fmt: skip
        check_tasks(tasks, "leave it out for one.")
        check_text("suffix", suffix, "_right")
        self.asked = asof_asked(
            on=on, by=by, direction=direction, tolerance=tolerance, strict=strict, how=how, where=where, ties=ties,
            delay=delay, left_delay=left_delay, right_delay=right_delay,
        )  # fmt: skip
        left, right = as_schema("left", left), as_schema("right", right)
        self.schemas: dict[Side, pa.Schema] = {"left": left, "right": right}
        check_there(self.asked, {"left": left.names, "right": right.names})
        counts = order_counts(self.asked, left, right)
        window = asof_window(self.asked, counts, self.asked.distance(counts))
        if not isinstance(window, Unbounded):
            check_window(window, left, right)
        window = with_delays(window, time_orders(window, self.schemas))
        with about("where"):
            self.analyzed: Analyzed = analyze(self.asked.condition(), left, right)
        plain = analyze(replace(self.asked, where=None).condition(), left, right).condition
        inexact = check_compared(self.asked, plain, left, right)
        self.spec: JoinSpec = asof_spec(
            self.analyzed.condition, self.asked, counts, window, left_schema=shown(left), right_schema=shown(right),
            payload={number: (left.get_field_index(one), right.get_field_index(two)) for number, (one, two) in inexact.items()},
            ties=None if self.asked.ties is None else right.get_field_index(self.asked.ties),
        )  # fmt: skip
        given = select if select is not None else self.asked.selected(left.names, right.names, suffix)
        self.projection = Projection.of(given, suffix, left, right)
        assert self.spec.asof is not None
        lags = asof_lags(self.spec.asof, self.spec.window)
        known = isinstance(window, Within) and window.delays != Delays()
        times = self.projection.times(window) if known else {}
        self.schema = carried(self.projection.schema, self.spec.window, times, one_stream=False, lags=lags)
        self.projection = replace(self.projection, schema=self.schema)
        self.sources = {side: TableSource(self.spec, self.analyzed, side, self.schemas[side]) for side in SIDES}
        payload = {side: self.sources[side].payload for side in SIDES}
        self.scheme = scheme if scheme is not None else AsofScheme()
        self.job = Job(self.spec, self.scheme, INDEX, tasks, payload)
        fingerprint = self.spec.fingerprint()
        self.store: StateStore = MemoryStore(fingerprint) if state is None else opened(state, fingerprint)
        # Equal columns are compared as they are (`weft.engine.asof.candidates`); what else words cannot decide is evaluated.
        rests = self.analyzed.condition.residual != plain.residual
        self.accept = self._accept if rests else None
        self.run = LocalRun(
            AsofJoiner(self.job, self.accept), self.sources, self.store,
            next_batch(self.store, self.spec) if isinstance(state, str) else 0,
        )  # fmt: skip

    def feed(self, left: Tabular | Sequence[Tabular], right: Tabular | Sequence[Tabular] = ()) -> Iterator[pa.Table]:
        """Yield the left rows that one batch emits, chunk by chunk."""
        parts = [fed_parts(side, given, self.schemas[side]) for side, given in zip(SIDES, (left, right), strict=True)]
        yield from self.projected(self.run.feed(*parts))

    def stream(self, left: Batches, right: Batches) -> pa.RecordBatchReader:
        """Join streams of record batches, of which each side's next one is a batch; read the result as a stream."""
        return joined_batches(self.feed, self.schema, zip(SIDES, (left, right), strict=True), self.finish)

    def finish(self) -> Iterator[pa.Table]:
        """End the input: yield the left rows that are still waiting."""
        yield from self.projected(self.run.feed((), (), last=True))

    def explain(self) -> Explanation:
        """Show which right row a left row is given, when it is emitted, and what is kept until then."""
        return explain_asof(self.spec, self.asked, self.scheme, self.job.tasks, streaming=True)

    def projected(self, found: Iterable[Pairs]) -> Iterator[pa.Table]:
        """Yield the selected columns."""
        for pairs in found:
            named = [getattr(pairs, side).rename_columns(self.schemas[side].names) for side in SIDES]
            if len(pairs):
                yield self.projection.apply(*named)

    def whole(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """Join whole tables at once, without tasks and batches; left rows stay in their order."""
        one, two = self._rows("left", left), self._rows("right", right)
        assert self.spec.asof is not None
        some = Search(replace(self.spec.asof, arrival=-1), one, two, self.accept).found()[0]
        found = some if one.numbers is None else np.full(left.num_rows, -1, np.int32)
        if two.numbers is not None:
            some = np.where(some >= 0, two.numbers[some] if len(two.numbers) else -1, -1).astype(np.int32)
        if one.numbers is None:
            found = some
        else:
            found[one.numbers] = some
        if not self.spec.kind.preserved and (found < 0).any():
            matched = found >= 0
            left, found = left.filter(pa.array(matched)), found[matched]
        named = self._needed(right).combine_chunks()
        # In pieces: texts of one array are at most two gigabytes.
        parts = [beside(named, found[low : low + _PIECE]) for low in range(0, max(len(found), 1), _PIECE)]
        return self.projection.apply(left, pa.concat_tables(parts))

    def _rows(self, side: Side, table: pa.Table) -> _Rows:
        """Return the rows of a side that can match, as words."""
        source, part = self.sources[side], self.spec.side(side)
        made, _ = source.prepare(table)
        alive = np.ones(table.num_rows, np.bool_)
        columns: list[Words] = [np.zeros(0, np.int64)] * part.columns
        assert self.spec.asof is not None
        by = len(self.spec.asof.by)
        hashed = {term.left if side == "left" else term.right for term in self.spec.terms[:by]}
        hashed -= {column.left if side == "left" else column.right for column in self.spec.asof.by if column.exact}
        for number, (key, column) in enumerate(zip(part.keys, source.inputs.keys, strict=True)):
            if number in hashed:  # texts are compared as they are, and nothing is routed by them
                valid = np.asarray(made.column(column).is_valid()) if made.column(column).null_count else None
            else:
                columns[number], valid = words_of(made.column(column), key.encode)
            if valid is not None and number in self.spec.used(side):
                alive &= valid
        if part.time is not None and source.inputs.time is not None:
            columns[part.time], valid = words_of(made.column(source.inputs.time), "value")
            alive &= True if valid is None else valid
        if source.inputs.keep is not None:
            keep = made.column(source.inputs.keep).fill_null(False).combine_chunks()
            alive &= np.asarray(keep.to_numpy(zero_copy_only=False), np.bool_)
        if alive.all():
            return _Rows(columns, table, None)
        rows, kept = np.flatnonzero(alive), table.filter(pa.array(alive))
        return _Rows([column[rows] if len(column) else column for column in columns], kept, rows)

    def _needed(self, right: pa.Table) -> pa.Table:
        """Return the right columns that the result is made of."""
        alias, named = self.projection.aliases[1], set[str]()
        for source in self.projection.sources:
            columns = source.columns if isinstance(source, Compiled) else ((source.alias, source.name),)
            named |= {name for of, name in columns if of == alias}
        return right.select([name for name in right.column_names if name in named])

    def _accept(self, left: pa.Table, left_rows: Rows, right: pa.Table, right_rows: Rows) -> Bools:
        residual, aliases = self.analyzed.residual, self.analyzed.aliases
        assert residual is not None
        tables = {}
        for alias, side, table, rows in zip(aliases, SIDES, (left, right), (left_rows, right_rows), strict=True):
            names = self.schemas[side].names
            wanted = [names.index(name) for of, name in residual.columns if of == alias]
            tables[alias] = table.select(wanted).rename_columns([names[n] for n in wanted]).take(pa.array(rows))
        if not residual.columns:  # tables without columns have no rows: the same answer holds for all
            return np.repeat(residual.mask({alias: pa.table({"": [None]}) for alias in aliases}), len(left_rows))
        return residual.mask(tables)


@dataclass(frozen=True)
class _Rows:
    """Rows of one side as words; `numbers` are their numbers in the table, None if they are all of it."""

    words: Any
    payload: pa.Table
    numbers: Rows | None


def asof_join(
    left: Tabular, right: Tabular, *, on: On, by: By = None, direction: str = "backward",
    tolerance: Duration | float | None = None, strict: bool = False, how: str = "left", where: str | None = None,
    ties: str | None = None, select: Sequence[str] | None = None, suffix: str = "_right",
    delay: Duration | None = None, left_delay: Duration | None = None, right_delay: Duration | None = None,
    batch: int | None = None, tasks: int = 1,
) -> pa.Table:  # fmt: skip
    """Give each left row the one right row that is nearest to it in an order column.

    The parameters are the same as in `weft.asof_join`. With `batch`, the tables arrive that many rows at a time, as streams do.
    All at once and in one task, left rows keep their order.

    >>> import pyarrow as pa
    >>> import weft
    >>> trades = pa.table({"t": [3, 7, 9], "symbol": ["A", "B", "A"], "price": [10.1, 5.0, 10.3]})
    >>> quotes = pa.table({"t": [1, 6, 8], "symbol": ["A", "B", "A"], "bid": [10.0, 4.9, 10.2]})
    >>> weft.local.asof_join(trades, quotes, on="t", by="symbol", select=["l.t", "l.price", "r.bid"]).to_pylist()
    [{'t': 3, 'price': 10.1, 'bid': 10.0}, {'t': 7, 'price': 5.0, 'bid': 4.9}, {'t': 9, 'price': 10.3, 'bid': 10.2}]
    """
    one, two = as_table("left", left), as_table("right", right)
    made = AsofJoin(
        one.schema, two.schema, on=on, by=by, direction=direction, tolerance=tolerance, strict=strict, how=how,
        where=where, ties=ties, select=select, suffix=suffix, delay=delay, left_delay=left_delay, right_delay=right_delay,
        tasks=tasks,
    )  # fmt: skip
    if batch is None and tasks == 1:
        return made.whole(one, two)
    return feed_whole(made.feed, made.schema, batch, one, two, finish=made.finish)


def explain_asof_join(left: pa.Schema | Tabular, right: pa.Schema | Tabular, **options: Any) -> Explanation:
    """Show how an as-of join of tables with these schemas would run as streams; the options are those of `AsofJoin`."""
    return AsofJoin(left, right, **options).explain()
