"""Whether Spark's Python workers have Weft: told when the join is built, not by a traceback of the first batch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache

from pyspark.sql import SparkSession

from weft.errors import WeftError

__all__ = ["check_workers"]


def check_workers(spark: SparkSession) -> None:
    """Refuse a local session whose workers run a Python without Weft; on a cluster `weft doctor --master` asks."""
    context = spark.sparkContext
    python = shutil.which(context.pythonExec)
    if not (context.master or "").startswith("local") or python is None or python == sys.executable:
        return
    trouble = _trouble(python)
    if trouble:
        raise WeftError.of(
            f"Spark's Python workers run {python}, which has no Weft: {trouble}",
            f"This program runs {sys.executable}.",
            f"set PYSPARK_PYTHON={sys.executable} before the session is made, or make it with weft.session().",
        )


@cache
def _trouble(python: str) -> str:
    """Return why this Python cannot import Weft, "" if it can."""
    tried = subprocess.run([python, "-c", "import weft"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["it does not start."])[-1]
