"""States of queries that were written long ago, with and without checkpoints."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

from tests.observe.folder import write_state
from weft.state import note_checkpoint, open_folder

ONE = "0c5a1e2e-aaaa-bbbb-cccc-000000000000"
TWO = "7d1f0000-aaaa-bbbb-cccc-000000000000"


def age(folder: Path, seconds: float) -> None:
    """Let everything in a folder have been written so long ago."""
    then = time.time() - seconds
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then), follow_symlinks=False)


def stored(path: Path, query: str = ONE, *names: str, seconds: float = 7200, checkpoint: str | None = None) -> Path:
    """Write the state of a query, with a folder more for each name."""
    first = write_state(path, batches=2, query=query)
    folders = [first, *(path / f"{query}.{name}" for name in names)]
    for folder in folders:
        if folder != first:
            shutil.copytree(first, folder)
        if checkpoint is not None:
            note_checkpoint(open_folder(str(folder)), checkpoint)
        age(folder, seconds)
    return first


def spark_checkpoint(path: Path, query: str) -> Path:
    """Make a checkpoint as Spark does, as far as it matters."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "metadata").write_text(json.dumps({"id": query}), encoding="utf-8")
    return path
