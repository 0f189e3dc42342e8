"""A stream with a table: the table is an index that all tasks map, and the stream passes through without a shuffle."""

from __future__ import annotations

from weft.spark.table.build import TableJoin, asof_table_join, table_join, with_table

__all__ = ["TableJoin", "asof_table_join", "table_join", "with_table"]
