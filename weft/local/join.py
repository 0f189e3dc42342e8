"""`weft.local.join`: tables of any library that speaks Arrow in, a pyarrow table out, no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.engine import Job, Leaving, Pairs, RowJoiner
from weft.errors import SpecError
from weft.local.analyze import Analyzed, analyze
from weft.local.arrow import Batches, Tabular, as_schema, as_table, fed_parts, joined_batches, shown
from weft.local.checks import check_text, check_window, next_batch, opened
from weft.local.expr import Projection
from weft.local.runtime import LocalRun, TableSource, carried, feed_whole, time_orders
from weft.planner import Explanation, check_switch, check_tasks, choose, explain_join
from weft.routing import Scheme
from weft.spec import JoinSpec, Window, build_spec, kind_named, unbounded, with_delays
from weft.spec.kinds import check_unordered
from weft.state import MemoryStore, StateStore
from weft.types import SIDES, Bools, Rows, Side

__all__ = ["Join", "explain", "join", "self_join"]


class Join:
    """A local join that takes its input batch by batch; `join` and `self_join` take whole tables.

    `left` and `right` are Arrow schemas, or tables that have them. Batches may come from any library that speaks Arrow.

    Unmatched rows of an outer or anti join are returned when their windows end, or by `finish`.

    Examples
    --------
    >>> schema = pa.schema({"x": pa.int64()})
    >>> join = Join(schema, schema, on="l.x > r.x", select=["l.x", "r.x AS less"])
    >>> [found.to_pylist() for found in join.feed(pa.table({"x": [5]}), pa.table({"x": [3]}))]
    [[{'x': 5, 'less': 3}]]
    >>> [found.to_pylist() for found in join.feed(pa.table({"x": [4]}))]  # meets the 3 of the batch before
    [[{'x': 4, 'less': 3}]]
    """

    def __init__(
        self, left: pa.Schema | Tabular, right: pa.Schema | Tabular, *, on: str, how: str = "inner", window: Window | None = None,
        scheme: str | Scheme = "auto", index: str = "auto", tasks: int = 1, select: Sequence[str] | None = None,
        suffix: str = "_right", state: StateStore | str | None = None, aliases: tuple[str, str] = ("l", "r"),
        unordered: bool = False,
    ) -> None:  # fmt: skip
        check_tasks(tasks, "leave it out for one.")
        check_text("on", on, "l.price < r.bid")
        check_text("suffix", suffix, "_right")
        check_switch("unordered", unordered)
        self.kind = kind_named(how)
        check_unordered(self.kind, unordered)
        left, right = as_schema("left", left), as_schema("right", right)
        window = window if window is not None else unbounded()
        check_window(window, left, right)
        itself = aliases == ("a", "b")
        window = with_delays(window, time_orders(window, {"left": left, "right": right}), one_stream=itself)
        self.analyzed: Analyzed = analyze(on, left, right, aliases, unordered=unordered)
        self.schemas = {"left": left, "right": right}
        self.projection = Projection.of(select, suffix, left, right, aliases, pairs=self.kind.pairs)
        self.schema = carried(self.projection.schema, window, self.projection.times(window), one_stream=itself)
        self.projection = replace(self.projection, schema=self.schema)
        self.spec: JoinSpec = build_spec(
            self.analyzed.condition, window, left_schema=shown(left), right_schema=shown(right),
            self_join=itself, unordered=unordered, kind=self.kind,
        )  # fmt: skip
        self.choice = choose(self.spec, tasks, scheme, index)
        sources: dict[Side, TableSource] = {
            side: TableSource(self.spec, self.analyzed, side, schema)
            for side, schema in zip(SIDES, (left, right), strict=True)
        }
        payload = {side: sources[side].payload for side in SIDES}
        # Where pairs decide whether a row leaves at all, the whole residual does.
        self.rest = self.analyzed.residual if self.kind.preserved else self.analyzed.beyond
        leaving = Leaving() if self.kind.preserved else self._leaving(payload)
        self.job = Job(self.spec, self.choice.scheme, self.choice.index, tasks, payload, leaving=leaving)
        fingerprint = self.spec.fingerprint()
        self.store: StateStore = MemoryStore(fingerprint) if state is None else opened(state, fingerprint)
        accept = self._accept if self.kind.preserved and self.analyzed.residual is not None else None
        self.run = LocalRun(
            RowJoiner(self.job, accept),
            sources,
            self.store,
            next_batch(self.store, self.spec) if isinstance(state, str) else 0,
        )

    def feed(self, left: Tabular | Sequence[Tabular], right: Tabular | Sequence[Tabular] = ()) -> Iterator[pa.Table]:
        """Yield the result of one batch, chunk by chunk. A self join takes input on the left only.

        With a state folder, the next batch follows the last finished one, even if another process finished it.
        """
        if self.spec.self_join and not (isinstance(right, Sequence) and not right):
            raise SpecError.of("A self join was fed on the right.", "It reads one stream.", "feed it on the left only.")
        parts = [fed_parts(side, given, self.schemas[side]) for side, given in zip(SIDES, (left, right), strict=True)]
        yield from self.projected(self.run.feed(*parts))

    def stream(self, left: Batches, right: Batches | None = None) -> pa.RecordBatchReader:
        """Join streams of record batches, of which each side's next one is a batch; read the result as a stream.

        Nothing is read ahead. At the end of both streams the join is finished.
        """
        streams = zip(SIDES, (left,) if self.spec.self_join and right is None else (left, right), strict=False)
        return joined_batches(self.feed, self.schema, streams, self.finish if self.kind.unmatched else None)

    def _leaving(self, payload: dict[Side, pa.Schema]) -> Leaving:
        """Return what selection and residual read; of a side that they do not read one column, for its rows."""
        read, aliases = set(self.projection.columns), self.analyzed.aliases
        if self.rest is not None:  # of a self join it may be read with the sides exchanged
            both = self.spec.self_join
            read |= {(alias, name) for said, name in self.rest.columns for alias in (aliases if both else (said,))}
        columns: dict[Side, tuple[str, ...]] = {}
        for side, alias in zip(SIDES, aliases, strict=True):
            names = self.schemas[side].names
            at = [number for number, name in enumerate(names) if (alias, name) in read]
            columns[side] = tuple(payload[side].names[number] for number in at or range(min(1, len(names))))
        left, right = ({name: of.names[number] for number, name in enumerate(self.schemas[side].names)}
                       for side, of in payload.items())  # fmt: skip
        return Leaving(columns, tuple((left[one], right[two]) for one, two in self.analyzed.texts))

    def finish(self) -> Iterator[pa.Table]:
        """End the input: yield the unmatched rows whose windows are still open."""
        yield from self.projected(self.run.feed((), (), last=True))

    def _accept(self, left: pa.Table, left_rows: Rows, right: pa.Table, right_rows: Rows) -> Bools:
        """Evaluate the residual on candidates: here it decides whether a row has found a partner."""
        pairs = Pairs(left.take(pa.array(left_rows)), right.take(pa.array(right_rows)))
        residual, (one, two) = self.analyzed.residual, self.analyzed.aliases
        assert residual is not None
        named = self._named(pairs)
        return np.asarray(_true(residual.evaluate({one: named[0], two: named[1]})).to_numpy(zero_copy_only=False))

    def projected(self, found: Iterable[Pairs]) -> Iterator[pa.Table]:
        """Yield the selected columns of the pairs that satisfy the residual."""
        for pairs in found:
            kept = self._kept(pairs)
            if kept[0].num_rows:
                yield self.projection.apply(*kept)

    def _named(self, pairs: Pairs) -> tuple[pa.Table, pa.Table]:
        """Give the columns their own names; a semi or anti join has no right ones."""
        left, right = (
            table.rename_columns([self.schemas[side].names[int(name[1:])] for name in table.column_names])
            for side, table in zip(SIDES, (pairs.left, pairs.right), strict=True)
        )
        return left, right

    def _kept(self, pairs: Pairs) -> tuple[pa.Table, pa.Table]:
        left, right = self._named(pairs)
        residual, (one, two) = self.rest, self.analyzed.aliases
        if residual is None or self.kind.preserved:  # decided before (`_accept`)
            return left, right
        keep = _true(residual.evaluate({one: left, two: right}))
        if pairs.swapped is not None:
            turned = _true(residual.evaluate({one: right, two: left}))
            keep = pa.compute.and_(keep, pa.compute.invert(pa.compute.and_(pairs.swapped, turned)))
        return left.filter(keep), right.filter(keep)


def _true(mask: pa.ChunkedArray | pa.Array) -> pa.Array:
    filled = (mask.cast(pa.bool_()) if pa.types.is_null(mask.type) else mask).fill_null(
        False
    )  # NULL has a type of its own
    return filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled


def join(
    left: Tabular, right: Tabular, *, on: str, how: str = "inner", window: Window | None = None,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int = 1, batch: int | None = None,
    select: Sequence[str] | None = None, suffix: str = "_right",
) -> pa.Table:  # fmt: skip
    """Join two tables as if they were streams that arrive `batch` rows at a time (all at once by default).

    The tables are pyarrow, Polars or pandas ones, DuckDB relations, or anything else with Arrow's PyCapsule interface; all of
    these take the result. The other parameters are the same as in `weft.join`.

    >>> import pyarrow as pa
    >>> import weft
    >>> orders = pa.table({"id": [1, 2, 3], "price": [10.0, 20.0, 30.0]})
    >>> quotes = pa.table({"bid": [15.0, 25.0]})
    >>> weft.local.join(orders, quotes, on="l.price < r.bid", select=["l.id", "r.bid"]).sort_by("id").to_pylist()
    [{'id': 1, 'bid': 15.0}, {'id': 1, 'bid': 25.0}, {'id': 2, 'bid': 25.0}]
    """
    one, two = as_table("left", left), as_table("right", right)
    made = Join(
        one.schema, two.schema, on=on, how=how, window=window, scheme=scheme, index=index, tasks=tasks, select=select,
        suffix=suffix,
    )  # fmt: skip
    return feed_whole(made.feed, made.schema, batch, one, two, finish=made.finish if made.kind.unmatched else None)


def self_join(
    table: Tabular, *, on: str, how: str = "inner", window: Window | None = None, unordered: bool = False,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int = 1, batch: int | None = None,
    select: Sequence[str] | None = None, suffix: str = "_right",
) -> pa.Table:  # fmt: skip
    """Join a table with itself. The aliases are `a` and `b`, the parameters the same as in `weft.self_join`.

    >>> import pyarrow as pa
    >>> import weft
    >>> trips = pa.table({"id": [1, 2, 3], "fare": [5.0, 7.0, 7.2]})
    >>> near = weft.local.self_join(trips, on="abs(a.fare - b.fare) <= 0.5", unordered=True, select=["a.id AS x", "b.id AS y"])
    >>> near.to_pylist()
    [{'x': 3, 'y': 2}]
    """
    given = as_table("left", table)
    made = Join(
        given.schema, given.schema, on=on, how=how, window=window, scheme=scheme, index=index, tasks=tasks, select=select,
        suffix=suffix, aliases=("a", "b"), unordered=unordered,
    )  # fmt: skip
    return feed_whole(made.feed, made.schema, batch, given, finish=made.finish if made.kind.unmatched else None)


def explain(
    left: pa.Schema | Tabular, right: pa.Schema | Tabular | None = None, *, on: str, how: str = "inner",
    window: Window | None = None, scheme: str | Scheme = "auto", index: str = "auto", tasks: int = 1,
) -> Explanation:  # fmt: skip
    """Show how a join of tables with these schemas would run. Without `right`, explain a self join.

    Examples
    --------
    >>> schema = pa.schema({"x": pa.int64()})
    >>> print(str(explain(schema, schema, on="l.x > r.x")).splitlines()[0])
    join:    l.x > r.x
    """
    aliases = ("l", "r") if right is not None else ("a", "b")
    other = left if right is None else right
    made = Join(left, other, on=on, how=how, window=window, scheme=scheme, index=index, tasks=tasks, aliases=aliases)
    return explain_join(made.spec, made.choice, tasks, streaming=True)
