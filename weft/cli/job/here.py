"""What this machine can tell of a job before Spark starts: sources that are not there, folders that cannot be written.

Nothing is left behind: a folder that is not there yet is judged by the nearest one above it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cli.job.places import Place, home, local_path
from weft.cli.job.reader import Reader

__all__ = ["check_readable", "check_writable"]

_WILD = "*?[]{}"


def check_readable(reader: Reader, places: Sequence[Place], conf: Mapping[str, str]) -> None:
    """Note sources whose folder is not there."""
    for place in places:
        path = _here(place, conf)
        if path is None or place.role != "source" or any(sign in str(path) for sign in _WILD):
            continue
        if not os.path.exists(path):  # noqa: PTH110  pathlib raises on a name that is too long
            near = next(folder for folder in path.absolute().parents if os.path.exists(folder))  # noqa: PTH110
            below = sorted(entry.name for entry in _entries(near) if not entry.name.startswith((".", "_")))
            there_is = f" {near} has: {', '.join(below[:8])}{' ...' if len(below) > 8 else ''}." if below else ""
            right = "give the folder where the files arrive (it may be empty); paths count from the working folder."
            reader.wrong(place.path, f"There is no {path.absolute()}.{there_is}", right)


def check_writable(reader: Reader, places: Sequence[Place], conf: Mapping[str, str]) -> None:
    """Note folders of sink, checkpoint and state in which nothing can be written."""
    for place in places:
        path = _here(place, conf)
        if path is not None and place.role != "source":
            trouble = _trouble(Path(home(str(path))).absolute() if place.role == "state" else path.absolute())
            if trouble:
                who = "the driver and every executor" if place.role == "state" else "this user"
                reader.wrong(place.path, f"It cannot be written: {trouble}.", f"give a folder that {who} can write.")


def _here(place: Place, conf: Mapping[str, str]) -> Path | None:
    """Return a place as a path of this machine, None if it is elsewhere or cannot be told."""
    local = local_path(place.given)
    if local is None or place.given.startswith("file:") or place.role == "state":
        return None if local is None else Path(local)
    # A path without a scheme is Hadoop's default file system, which need not be this machine's.
    elsewhere = "spark.hadoop.fs.defaultFS" in conf or any(
        os.environ.get(name) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR")
    )
    return None if elsewhere else Path(local)


def _trouble(path: Path) -> str:
    """Return why nothing can be written in a folder, "" if it can."""
    for folder in (path, *path.parents):
        if not os.path.lexists(folder):
            continue
        if not folder.is_dir():
            return f"{folder} is a file, not a folder"
        try:
            Path(tempfile.mkdtemp(prefix=".weft-probe-", dir=folder)).rmdir()
        except OSError as error:
            return f"no file can be made in {folder} ({error.strerror or error})"
        return ""
    return f"{path} has no folder above it"


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
