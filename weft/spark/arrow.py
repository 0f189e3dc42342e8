"""The Arrow types in which Spark hands rows to Python and wants them back, for this session's settings."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

__all__ = ["arrow_schema"]


def arrow_schema(spark: SparkSession, schema: StructType) -> pa.Schema:
    """Return the Arrow schema; PySpark releases differ in what they want to be told."""
    wide = str(spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")).lower() == "true"
    facts: dict[str, Any] = {"timezone": spark.conf.get("spark.sql.session.timeZone"), "prefers_large_types": wide}
    known = inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **{name: value for name, value in facts.items() if name in known})
