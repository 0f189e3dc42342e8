"""A state folder whose operations fail: the process dies at one of them, a write is torn, the store says no.

A crash is a SIGKILL as far as files can tell: what was written aside stays where it is, nothing is cleaned up. A torn write
leaves a part of the file in its place, as a power cut can. What a batch has written can also be lost afterwards.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pyarrow import fs

from weft.state import Folder
from weft_lab.torture.draw import Draw

__all__ = ["Crash", "Fault", "Faults", "FaultyFolder"]

Fault = Literal["crash", "aside", "torn", "after", "full", "failing", "slow"]
"""Die before the operation, with a file half written aside, with a torn file in place, behind the operation; the disk is full;
the store fails once; the store takes its time."""

_ERRORS = {"full": errno.ENOSPC, "failing": errno.EIO}


class Crash(BaseException):
    """The process is gone: nobody catches this and cleans up."""


@dataclass
class Faults:
    """Counts the operations of a folder, and lets one of them fail."""

    kind: Fault = "crash"
    left: int | None = None
    """Operations that still succeed; None: all of them."""
    operations: int = 0
    dead: bool = False
    written: dict[str, bytes | None] = field(default_factory=dict)
    """What the files held before they were written, since the last `forget`."""

    def arm(self, kind: Fault, after: int) -> None:
        """Let an operation fail after so many have succeeded."""
        self.kind, self.left, self.dead = kind, after, False

    def disarm(self) -> None:
        """Let everything succeed, as a new process on a sound machine would."""
        self.left, self.dead = None, False

    def due(self) -> bool:
        """Count an operation; tell whether it is the one that fails."""
        if self.dead:
            raise Crash
        self.operations += 1
        if self.left is None:
            return False
        self.left -= 1
        if self.left >= 0:
            return False
        self.left = None
        return True

    def strike(self) -> None:
        """Fail, at the operation that is under way."""
        if self.kind in _ERRORS:
            raise OSError(_ERRORS[self.kind], os.strerror(_ERRORS[self.kind]))
        if self.kind == "slow":
            time.sleep(0.002)
            return
        self.dead = True
        raise Crash

    def lose(self, draw: Draw) -> int:
        """Undo some of the writes since the last `forget`; return how many."""
        lost = [path for path in self.written if draw.flag()]
        for path in lost:
            before = self.written[path]
            if before is None:
                Path(path).unlink(missing_ok=True)
            elif Path(path).parent.exists():
                Path(path).write_bytes(before)
        self.forget()
        return len(lost)

    def forget(self) -> None:
        """Take what is written for safe."""
        self.written.clear()


@dataclass(frozen=True)
class FaultyFolder(Folder):
    """A local folder whose operations go by `faults`."""

    faults: Faults = field(default_factory=Faults)

    def _counted(self) -> None:
        if self.faults.due():
            self.faults.strike()

    def _names(self) -> list[str]:
        self._counted()
        return super()._names()

    def _look_up(self, path: str) -> fs.FileType:
        self._counted()
        return super()._look_up(path)

    def _read(self, path: str) -> pa.Buffer:
        self._counted()
        return super()._read(path)

    def _delete(self, path: str) -> None:
        self._counted()
        super()._delete(path)

    def _put(self, name: str, fill: Callable[[str], pa.Buffer]) -> pa.Buffer:
        due, path = self.faults.due(), f"{self.path}/{name}"
        if due and self.faults.kind != "after":
            if self.faults.kind in ("aside", "torn"):
                torn = f"{self.path}/.{name}.torn" if self.faults.kind == "aside" else path
                self._remember(path)
                self._tear(torn, fill)
            self.faults.strike()
        self._remember(path)
        done = super()._put(name, fill)
        if due and self.faults.kind == "after":
            self.faults.strike()
        return done

    def _remember(self, path: str) -> None:
        if path not in self.faults.written:
            self.faults.written[path] = Path(path).read_bytes() if Path(path).exists() else None

    def _tear(self, path: str, fill: Callable[[str], pa.Buffer]) -> None:
        """Leave the first half of a file, or nothing of it, in its place."""
        whole = f"{self.path}/.tearing"
        self._make()
        fill(whole)
        content = Path(whole).read_bytes()
        Path(whole).unlink()
        Path(path).write_bytes(content[: len(content) // 2 if self.faults.operations % 2 else 0])

    def _forget(self, aside: str) -> None:
        if not self.faults.dead:
            super()._forget(aside)
