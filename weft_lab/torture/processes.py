"""Processes that can be killed whole, and what Spark's file sink says is in it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote, urlparse

from typing_extensions import Self

__all__ = ["Spawned", "committed_files", "descendants"]


class Spawned:
    """A process in a session of its own; `kill` takes everything that was started in it (JVM, Python workers)."""

    def __init__(self, name: str, command: Sequence[str], logs: Path, **env: str) -> None:
        self.name, self.path = name, logs / f"{name}.log"
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **env}
        with self.path.open("ab") as log:
            self.popen = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, env=environment, cwd=logs
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def log(self) -> str:
        """Return the end of what it printed."""
        return f"--- {self.name}\n" + self.path.read_text(errors="replace")[-3000:]

    def members(self) -> list[int]:
        """Return the processes of the session: PySpark's daemon leaves the process group, not the session."""
        return [pid for pid, session, _ in _processes() if session == self.popen.pid]

    def kill(self) -> None:
        """SIGKILL all of it, again and again until nobody is left."""
        end = time.monotonic() + 20
        while (alive := self.members()) and time.monotonic() < end:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self.popen.wait(timeout=20)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield number, session and parent of every process that lives."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                yield int(entry.name), int(fields[3]), int(fields[1])


def descendants(pid: int, command: str) -> list[int]:
    """Return the processes below one whose command line holds a text, parents before their children."""
    children: dict[int, list[int]] = {}
    for one, _, parent in _processes():
        children.setdefault(parent, []).append(one)
    found, rest = [], [pid]
    while rest:
        for child in children.get(rest.pop(), []):
            rest.append(child)
            with contextlib.suppress(OSError):
                if command.encode() in Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(child)
    return found


def committed_files(out: Path) -> list[str]:
    """Read the log of Spark's file sink: the newest compacted entry and all that follow it."""
    entries = {}
    for path in (out / "_spark_metadata").iterdir():
        number, _, kind = path.name.partition(".")
        if number.isdigit() and kind in ("", "compact"):
            entries[int(number), kind] = path
    start = max((number for number, kind in entries if kind), default=-1)
    chosen = [path for (number, kind), path in sorted(entries.items()) if number > start or (number == start and kind)]
    added = [json.loads(line) for path in chosen for line in path.read_text().splitlines()[1:]]
    return [unquote(urlparse(item["path"]).path) for item in added if item["action"] == "add"]
