"""`pair_id=`: a column with a key for every row of the result, which a replay of its batch makes again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField

from weft.engine import Pairs, identified
from weft.errors import SpecError, about
from weft.spark.analysis import Analyzed
from weft.spark.join_task import side_by_side
from weft.spark.shuttle import running_task
from weft.spark.state_place import StatePlace

__all__ = ["COLUMN", "id_columns", "id_field", "refuse_pair_id", "rows_shown", "with_pair_id"]

COLUMN = "pair id"
"""The name of the key between the tasks and the selection."""


def with_pair_id(analyzed: Analyzed, name: object) -> Analyzed:
    """Let rows travel with their identity if a key is asked for; refuse what is no name of a further column."""
    if name is None:
        return analyzed
    outputs = [output.name for output in analyzed.outputs]
    with about("pair_id"):
        if not isinstance(name, str) or not name.strip():
            what = f"pair_id={name!r} is not a column name."
            raise SpecError.of(what, "It names the column that holds the keys.", "write pair_id='pair_id'.")
        if name.lower() in {output.lower() for output in outputs}:
            what = f"The result already has a column named {name!r}."
            raise SpecError.of(what, f"It has: {', '.join(outputs)}.", "give pair_id= another name.")
    return replace(analyzed, numbered=True)


def refuse_pair_id(name: object) -> None:
    """Refuse keys where nobody can tell which partition is which when a batch runs again: tasks of a look-up do not talk."""
    if name is not None:
        with about("pair_id"):
            raise SpecError.of(
                f"pair_id={name!r} needs two streams or two static frames.",
                "With a table, rows of the stream pass on, and Spark may number their partitions anew when a batch runs again.",
                "build a key from columns that identify the rows, such as the topic, partition and offset of a record.",
            )


def id_field(name: str) -> StructField:
    """Return the column as Spark sees it."""
    return StructField(name, StringType(), nullable=False)


def id_columns(name: str | None) -> list[Column]:
    """Return the key on its way to the selection; nothing where none is asked for."""
    return [] if name is None else [F.col(f"`{COLUMN}`")]


def rows_shown(schema: pa.Schema, name: str | None, where: StatePlace | None) -> Callable[[Pairs], pa.Table]:
    """Return what makes rows of the result of pairs."""
    if name is None:
        return partial(side_by_side, schema=schema)
    return partial(_with_ids, schema=schema, join="" if where is None else where.name)


def _with_ids(pairs: Pairs, schema: pa.Schema, join: str) -> pa.Table:
    """Return both rows of every pair and its key, which begins with the query, and the join where the query has several."""
    query = running_task().query
    prefix = ".".join(part for part in ((query or "")[:8], join) if part)
    return side_by_side(identified(pairs, prefix), schema)
