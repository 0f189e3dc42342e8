"""Build the S3 server of the tests, `versitygw`, once, from the Go module proxy, into the user's cache.

`python3 tests/s3_program.py` prints where it is; any Python does, so `make test` builds while it still installs. That takes
about two minutes of processor time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["WHY", "built"]

MODULE = "github.com/versity/versitygw"
VERSION = "v1.8.0"
WHY = "The S3 server of these tests could not be built: that takes Go and its module proxy (tests/s3_program.py)."


@cache
def built() -> Path | None:
    """Return the server's program, built if it is not there; None where it cannot be."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft-tests" / VERSION
    program = folder / "versitygw"
    go = shutil.which("go")
    if program.exists() or go is None:
        return program if program.exists() else None
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second waits: built twice at once it takes twice as long
        if not program.exists():
            _build(go, folder / f"building-{os.getpid()}", program)
    return program if program.exists() else None


def _build(go: str, aside: Path, program: Path) -> None:
    command = [go, "install", f"{MODULE}/cmd/versitygw@{VERSION}"]
    try:
        subprocess.run(command, env={**os.environ, "GOBIN": str(aside)}, check=True, capture_output=True, timeout=280)
    except subprocess.SubprocessError:  # no module proxy, or a Go that is too old
        return
    (aside / "versitygw").replace(program)
    aside.rmdir()


if __name__ == "__main__":
    print(built() or WHY)
