"""The folders of a job: how they lie to each other, and what this machine can tell of them before Spark starts.

What one of them writes must not be read as rows by another. Spark's file source reads a folder, and a folder that a file sink
wrote only as far as the sink's own log goes: a sink in the folder of a source turns its input into its output. Names that begin
with `_` or `.` are hidden from readers, so a checkpoint in `out/pairs/_checkpoint` is fine.

Checking leaves nothing behind: a folder that is not there yet is judged by the nearest one above it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import permutations, product
from pathlib import Path
from typing import Literal

from weft.cli.job.reader import JobReader, shown

__all__ = ["Place", "check_apart", "check_readable", "check_writable", "home", "local_path"]

Role = Literal["source", "sink", "checkpoint", "state"]

_BREAKS: dict[tuple[Role, Role], str] = {
    ("sink", "source"): "Spark would read the pairs as rows of the source, or read nothing at all",
    ("source", "sink"): "whoever reads the pairs would find the source's rows among them",
    ("checkpoint", "source"): "Spark would read the checkpoint's files as rows of the source",
    ("state", "source"): "Spark would look for rows among the files of the state",
    ("checkpoint", "sink"): "whoever reads the pairs would find the checkpoint's files among them",
    ("state", "sink"): "whoever reads the pairs would find the files of the state among them",
}
"""What breaks when the first is the second's folder, or lies in it for all to see."""

_OWN = {"sink": '"out/pairs"', "checkpoint": '"out/checkpoint"', "state": '"out/state"', "source": '"data/left"'}


@dataclass(frozen=True)
class Place:
    """A folder that a job names: by which key, what for, and as it was written."""

    path: str
    role: Role
    given: str


def local_path(given: str) -> str | None:
    """Return a path of this machine's file system as such, None for any other.

    >>> local_path("file:/var/weft"), local_path("hdfs://name/weft")
    ('/var/weft', None)
    """
    if given.startswith("file:"):
        return re.sub(r"^file:(//[^/]*)?", "", given)
    return None if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", given) else given


def home(path: str) -> str:
    """Write `~` out, where there is such a user; pathlib raises where there is none."""
    return os.path.expanduser(path)  # noqa: PTH111


def check_apart(reader: JobReader, places: Sequence[Place]) -> None:
    """Note each pair of folders that would disturb each other, once, at the key that is easier to change."""
    noted: set[frozenset[str]] = set()
    for inner, outer in permutations(places, 2):
        pair = frozenset((inner.path, outer.path))
        how = _lies(_parts(inner.given), _parts(outer.given))
        why = _BREAKS.get((inner.role, outer.role)) if how else None
        if how == "is" and {inner.role, outer.role} == {"checkpoint", "state"}:
            why = "Spark writes one and Weft the other, and you must be able to remove either alone"
        if why is None or pair in noted:
            continue
        noted.add(pair)
        at, other = (outer, inner) if inner.role == "source" else (inner, outer)
        relation = "It is" if how == "is" else "It is inside" if at is inner else "It contains"
        line = reader.line(other.path)
        where = f"{shown(other.path)} (line {line})" if line else shown(other.path)
        what = f"{relation} the folder of {where}: {at.given!r} and {other.given!r}."
        key = at.path.rpartition(".")[2]
        right = f"give it its own folder, such as {key} = {_OWN[at.role]}."
        reader.wrong(at.path, f"{what} {why[:1].upper()}{why[1:]}.", right)


def _lies(inner: tuple[str, ...], outer: tuple[str, ...]) -> str:
    """Say how the first folder lies to the second: "is" it, "in" it and visible, or "" if it does not disturb it."""
    if len(inner) < len(outer) or not all(_same(*both) for both in zip(inner, outer, strict=False)):
        return ""
    below = inner[len(outer) :]
    if any(name.startswith(("_", ".")) for name in below):
        return ""
    return "in" if below else "is"


def _same(one: str, two: str) -> bool:
    """Compare two names of a path; sources may have wildcards, as in Hadoop's globs."""
    return one == two or any(
        fnmatchcase(name, pattern) for name, pattern in product(_braces(one), _braces(two))
    ) or any(fnmatchcase(name, pattern) for name, pattern in product(_braces(two), _braces(one)))  # fmt: skip


def _braces(name: str) -> Iterator[str]:
    """Yield what `{a,b}` stands for."""
    found = re.search(r"\{([^{}]*)\}", name)
    if not found:
        yield name
        return
    for choice in found[1].split(","):
        yield from _braces(name[: found.start()] + choice + name[found.end() :])


def _parts(given: str) -> tuple[str, ...]:
    local = local_path(given)
    whole = given if local is None else os.path.realpath(home(local))
    return tuple(part for part in whole.split("/") if part)


_WILD = "*?[]{}"


def check_readable(reader: JobReader, places: Sequence[Place], conf: Mapping[str, str]) -> None:
    """Note sources whose folder is not there."""
    for place in places:
        path = _here(place, conf)
        if path is None or place.role != "source" or any(sign in str(path) for sign in _WILD):
            continue
        if not os.path.exists(path):  # noqa: PTH110  pathlib raises on a name that is too long
            near = next(folder for folder in path.absolute().parents if os.path.exists(folder))  # noqa: PTH110
            below = sorted(entry.name for entry in _entries(near) if not entry.name.startswith((".", "_")))
            there_is = f" {near} has: {', '.join(below[:8])}{' ...' if len(below) > 8 else ''}." if below else ""
            right = (
                "give the folder where the files arrive (it may be empty); paths are relative to the working folder."
            )
            reader.wrong(place.path, f"There is no {path.absolute()}.{there_is}", right)


def check_writable(reader: JobReader, places: Sequence[Place], conf: Mapping[str, str]) -> None:
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
            return f"no file can be created in {folder} ({error.strerror or error})"
        return ""
    return f"{path} has no folder above it"


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
