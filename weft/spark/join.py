"""`weft.join` on Spark: route, shuffle by task, join; a plain DataFrame comes out."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from weft.planner import Explanation, explain_join
from weft.routing import Scheme
from weft.spark.build import JoinOptions, build
from weft.spark.table import table_join, with_table
from weft.spec import Window, kind_named

__all__ = ["explain", "join", "self_join"]


def join(
    left: DataFrame, right: DataFrame, *, on: str | Column, how: str = "inner", window: Window | None = None,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None,
    select: Sequence[str | Column] | None = None, suffix: str = "_right", state: str | None = None, name: str | None = None,
    refresh: str | None = None, pair_id: str | None = None,
) -> DataFrame:  # fmt: skip
    """Join two DataFrames on any condition: two streams, a stream with a table (a static DataFrame), or two tables.

    Parameters
    ----------
    left, right
        Streaming or static DataFrames. A stream with a table needs no window: its rows look up their matches and pass on.
    on
        The condition: SQL over the aliases `l` and `r`, or a PySpark Column over `l.x`, `r.y` or the frames' own columns.
    how
        The kind of join: "inner" (pairs), "left", "right" or "full" (pairs plus unmatched rows, padded with NULLs), "left_semi"
        or "left_anti" (left rows with or without a match). Spark's other spellings work too. On streams, an unmatched row is
        emitted when its window ends, so these kinds need a window that ends; "left_semi" works with any window.
        With a table, the rows of the stream are emitted at once: "inner", "left", "left_semi" and "left_anti", or "right" if the
        stream is on the right.
    window
        Which rows are close enough to pair: `weft.within`, `weft.last`, `weft.tumbling`, `weft.tumbling_rows` or
        `weft.unbounded`. Required for two streams, optional for static frames; a stream with a table has none.
    scheme, index
        "auto" or a name, with or without settings. For `scheme` also an object such as `weft.schemes.Matrix(rows=2, columns=3)`.
    tasks
        The number of join tasks; by default the number of Spark's cores.
    select, suffix
        The columns of the result, such as `["l.id AS lid", "r.*"]`. By default all columns; a right column with the same name
        as a left one gets the suffix.
    state
        The folder where rows that can still match are persisted; all executors must be able to read and write it. Streaming
        only; by default the conf `spark.weft.state`.
    name
        Distinguishes this join from other joins of the same query on the same state path. Chained joins need no name.
    refresh
        For a stream with a table, when to read the table again: a duration, such as "1 hour", or the name of a column of the
        table whose greatest value changes with each version. By default it is read once, when the query starts.
    pair_id
        The name of a further column that identifies each row of the result. A batch that runs again gives the same rows the
        same key, so an upsert by it removes what an at-least-once sink has written twice.

    Returns
    -------
    DataFrame
        A plain DataFrame: write it to any sink, aggregate it, join it again. The time columns of a join over time with
        delays carry the watermark that downstream operators need.
    """
    asked = JoinOptions(
        on, window, scheme, index, tasks, select, suffix, state, name, kind=kind_named(how), refresh=refresh, pair_id=pair_id
    )  # fmt: skip
    return (table_join if with_table(left, right) else build)(left, right, asked).frame()


def self_join(
    stream: DataFrame, *, on: str | Column, how: str = "inner", window: Window | None = None, unordered: bool = False,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None,
    select: Sequence[str | Column] | None = None, suffix: str = "_right", state: str | None = None, name: str | None = None,
    pair_id: str | None = None,
) -> DataFrame:  # fmt: skip
    """Join a DataFrame with itself, reading it once. The aliases are `a` and `b`.

    Returns all ordered pairs of different rows that satisfy `on`. With `unordered=True`, each pair of rows appears once, in
    the order that satisfies `on`; if both orders do, the later row is `a`. The other parameters are the same as in `join`.
    """
    kind = kind_named(how)
    asked = JoinOptions(on, window, scheme, index, tasks, select, suffix, state, name, unordered, kind, pair_id=pair_id)
    return build(stream, stream, asked, itself=True).frame()


def explain(
    left: DataFrame, right: DataFrame | None = None, *, on: str | Column, how: str = "inner", window: Window | None = None,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None, refresh: str | None = None,
) -> Explanation:  # fmt: skip
    """Show how a join would run: scheme, index, replication, bound on the state. Without `right`, explain a self join."""
    asked = JoinOptions(on, window, scheme, index, tasks, kind=kind_named(how), refresh=refresh)
    if right is not None and with_table(left, right):
        return table_join(left, right, asked, explaining=True).explanation()
    built = build(left, left if right is None else right, asked, itself=right is None, explaining=True)
    return explain_join(built.spec, built.choice, built.tasks, streaming=left.isStreaming)
