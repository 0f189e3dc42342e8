"""PySpark's daemon with faults: Python workers that die, fail or dawdle at file operations of the join's state.

`spark.python.daemon.module` names this module. It loads Weft before the first worker is forked, so that a worker that takes
a dead one's place works at once. Each death is noted in a file before it happens: the campaign counts them.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.state import Folder

__all__ = ["FAULTS", "NOTES", "main"]

FAULTS = "WEFT_TORTURE_FAULTS"
"""How many of a million file operations go wrong."""
NOTES = "WEFT_TORTURE_NOTES"
"""The file that counts what went wrong, a word a line."""

_OPERATIONS = ("_names", "_look_up", "_read", "_put", "_delete")


def _faulty(operation: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(*args: Any, **kwargs: Any) -> Any:
        fate = random.SystemRandom()  # a forked worker has its parent's seed
        if fate.randrange(1_000_000) >= int(os.environ.get(FAULTS, "0")):
            return operation(*args, **kwargs)
        kind = fate.choice(("killed before", "killed after", "failed", "slow"))
        _note(kind)
        if kind == "killed before":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "failed":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if kind == "slow":
            time.sleep(fate.random() / 4)
        done = operation(*args, **kwargs)
        if kind == "killed after":
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return faulty


def _note(kind: str) -> None:
    with Path(os.environ[NOTES]).open("a", encoding="ascii") as file:
        file.write(f"{kind}\n")


def main() -> None:
    """Begin as PySpark's own daemon does, with Weft loaded and its folders faulty."""
    from pyspark import daemon

    for name in _OPERATIONS:
        setattr(Folder, name, _faulty(getattr(Folder, name)))
    daemon.manager()


if __name__ == "__main__":
    main()
