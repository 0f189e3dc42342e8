"""Who goes on with the state of a query: the run that came last, from one checkpoint.

    <state>/<query id>/owner.json       the run of the query that holds the state, its join, and the runs before it
    <state>/<query id>/checkpoint.json  where the checkpoint of the query is, so that state nobody can go on from is found, and
                                        what the query writes to

Two drivers may work on one checkpoint, or on copies of it: the first one was taken for dead and only slept. Every start of
a query is a run with an id of its own. Its task 0 takes the state over, and from then on the runs before it are refused
wherever they would write, so that the files of two drivers never mix. The checkpoint is read by people, by `weft state rm`, and
when a query starts: a copy of it beside it is refused.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from weft.errors import StateError, WeftError
from weft.state.folder import Folder
from weft.state.sealed import find_sealed, read_sealed, write_sealed

__all__ = ["CHECKPOINT", "Holder", "is_spark_run", "known_checkpoint", "known_sink", "note_checkpoint"]

OWNER = "owner.json"
_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id that Spark gave a run. A program may put names of its own in its place, the same ones again and again."""
_KEPT = 1000
"""Runs that are remembered."""

_FRESH = 5.0
"""Seconds for which the tasks of a process take an answer for known where each request counts."""
_ASKED: dict[tuple[str, str], float] = {}
"""When this process was last told that a run holds a folder."""


def is_spark_run(run: str) -> bool:
    """Tell whether a run has an id of Spark's, which no other run ever has."""
    return bool(_RUN.fullmatch(run))


def _now() -> float:
    """Return seconds that also pass while the process or the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True)
class Holder:
    """One join of one run of a query; `attempt` tells the jobs of the run apart."""

    run: str
    join: str
    attempt: str = ""

    def check(self, folder: Folder) -> dict[str, Any]:
        """Raise if another run has taken the state over since this one began; return what is known of the owner."""
        began, held = _now(), _owner(folder)
        if self.run in held.get("past", ()):
            raise StateError.of(
                f"Another run of this query has taken over the state in {folder}.",
                f"This is run {self.run}, and run {held.get('run')} started later: two drivers use one checkpoint, or copies "
                "of it.",
                "stop all but one of them; a second query on the same input needs its own checkpoint.",
            )
        if len(_ASKED) > _KEPT:
            _ASKED.clear()
        _ASKED[str(folder), self.run] = began
        return held

    def still_held(self, folder: Folder) -> None:
        """Raise if another run has taken the state over; on an object store, as far as this process knew seconds ago.

        What is asked and then written is never one step, so a write of a run that was taken over may slip through either way. It
        harms nobody: segments are named after their history, and what another history left is refused.
        """
        key = str(folder), self.run
        if folder.packed and is_spark_run(self.run) and _now() - _ASKED.get(key, -_FRESH) < _FRESH:
            return
        self.check(folder)

    def take(self, folder: Folder) -> None:
        """Take the state over, and make sure that no other join of the same run keeps its state here.

        Two joins in one query could not tell their states apart. Of two that begin at once the later one to write is known
        to the other in the next batch at the latest.
        """
        for _ in range(2):
            held = self.check(folder)
            if (held.get("run"), held.get("join")) == (self.run, self.join):
                return
            if held.get("run") != self.run:
                before = str(held.get("run", ""))
                past = [*held.get("past", ()), *([before] if _RUN.fullmatch(before) else [])]
                write_sealed(folder, OWNER, {"run": self.run, "join": self.join, "past": past[-_KEPT:]})
            else:
                raise StateError.of(
                    f"Two joins of one query keep their state in {folder}.",
                    "Each needs its own folder, or pairs would be lost.",
                    "give them names: weft.join(..., name='orders'), weft.join(..., name='quotes').",
                )


def _owner(folder: Folder) -> dict[str, Any]:
    try:
        found = find_sealed(folder, OWNER)
        return {} if found is None else found[0]
    except StateError as error:
        if isinstance(error.__cause__, OSError):  # it may say that this run is over, once it can be read
            raise
        return {}  # damaged: it says nothing that cannot be written again


CHECKPOINT = "checkpoint.json"


def note_checkpoint(folder: Folder, path: str, sink: str = "") -> None:
    """Write down where the checkpoint of a query is, as Spark resolved it, and what it writes to; nothing where that is known.

    >>> from tempfile import TemporaryDirectory
    >>> from weft.state import open_folder
    >>> with TemporaryDirectory() as where:
    ...     note_checkpoint(open_folder(where), "file:/var/checkpoint", "FileSink[file:/var/pairs]")
    ...     known_checkpoint(open_folder(where)), known_sink(open_folder(where))
    ('file:/var/checkpoint', 'FileSink[file:/var/pairs]')
    """
    if (known_checkpoint(folder), known_sink(folder)) != (path, sink):
        write_sealed(folder, CHECKPOINT, {"path": path, "sink": sink})


def known_checkpoint(folder: Folder) -> str | None:
    """Return where the checkpoint of a query is; None where nobody has said so, or what was said is damaged."""
    return _noted(folder, "path") or None


def known_sink(folder: Folder) -> str:
    """Return what a query writes to, as Spark calls it; "" where nobody has said so."""
    return _noted(folder, "sink")


def _noted(folder: Folder, what: str) -> str:
    try:
        found = read_sealed(folder, CHECKPOINT).get(what) if folder.exists(CHECKPOINT) else None
    except (WeftError, OSError, TypeError, ValueError):
        return ""
    return found if isinstance(found, str) else ""
