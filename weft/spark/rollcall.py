"""The roll call: in every batch every join task is sent something, however empty the batch is.

A task learns its number from what it is sent, because whatever stands behind the join (`coalesce`, a union) may number
partitions anew. So the state of a batch is whole or the batch fails, also where no row arrived.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from weft.spark.shuttle import NOTE_DDL
from weft.spark.tree import frame_of

__all__ = ["roll_call"]


def roll_call(spark: SparkSession, tasks: int) -> DataFrame:
    """Return the stream that sends every task of every batch a message without content.

    Its rows are constants that Spark takes for streaming. So they are there in every batch, no Python runs for them, and the
    sources of the query stay the user's own.
    """
    nothing = ["-1L AS message", "0 AS slice", "X'' AS body", "CAST(NULL AS TIMESTAMP) AS time"]
    numbers = spark.sql(f"VALUES {', '.join(f'({task})' for task in range(tasks))} AS roll(task)")
    constant: Any = (
        numbers.selectExpr("task", *nothing, f"CAST(NULL AS {NOTE_DDL}) AS note")._jdf.queryExecution().optimizedPlan()
    )
    output, rows, _, *rest = (constant.productElement(number) for number in range(constant.productArity()))
    return frame_of(spark, constant.copy(output, rows, True, *rest)).coalesce(1)
