"""The process in which Spark runs tasks: a Python worker, which lives for many batches of the same sizes.

PySpark collects garbage after every task, before the worker takes the next one. The collector walks every object there is. The
modules of Weft, Numba and PyArrow hold some hundred thousand, which takes 60 ms: longer than a task of a small batch. So what a
worker has loaded is set aside, where the collector does not look.
"""

from __future__ import annotations

import gc
from itertools import count

from weft.kernels.memory import keep_pages

__all__ = ["begin_task"]

_TASKS = count(1)


def begin_task() -> None:
    """Prepare the process for a task of Weft; tasks call it first."""
    keep_pages()
    # PySpark has just collected, so everything left is in use. The first tasks load the kernels they need, so this is
    # repeated, but less and less often: a reference cycle that is set aside is never freed, and this bounds how many
    # there can be.
    tasks = next(_TASKS)
    if tasks & (tasks - 1) == 0:
        gc.freeze()
