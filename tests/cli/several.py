"""Run commands of `weft` one after the other in one process, so that one JVM is started for all of them.

`python several.py FOLDER` reads a list of commands from stdin and writes into FOLDER what each one printed and how it ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.cli import main


@contextmanager
def sent_to(path: Path, number: int) -> Iterator[None]:
    """Let all that is written to a file descriptor, by this process or by its children, go to a file."""
    stream = sys.stdout if number == 1 else sys.stderr
    stream.flush()
    kept = os.dup(number)
    with path.open("wb") as file:
        os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        stream.flush()
        os.dup2(kept, number)
        os.close(kept)


def run(folder: Path, number: int, words: list[str]) -> None:
    sys.argv = ["weft", *words]
    code = 0
    with sent_to(folder / f"{number}.out", 1), sent_to(folder / f"{number}.err", 2):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    (folder / f"{number}.code").write_text(str(code))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for number, words in enumerate(json.load(sys.stdin)):
        run(folder, number, words)
