"""What every command has in common: results on stdout, errors and progress on stderr, colour only on a terminal.

How a command's help ends, what an error of Weft looks like, and how Ctrl-C asks instead of killing.
"""

from __future__ import annotations

import functools
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from weft.cli.job import JobMistakes, master_trouble
from weft.errors import JobError, NoSuchState, SpecError, StateMismatch, UnknownName, WeftError

__all__ = [
    "SETTINGS",
    "AsJson",
    "check_master",
    "complain",
    "err",
    "examples",
    "exit_code",
    "guarded",
    "log_file",
    "on_stop",
    "out",
    "print_json",
    "size",
]

SETTINGS = {"help_option_names": ["-h", "--help"]}
AsJson = Annotated[bool, typer.Option("--json", help="Print data for programs.")]
_WIDE = 200
"""Columns of output that goes to a file or a pipe: nothing there cuts a line."""


def examples(*lines: str) -> str:
    """Return the end of a command's help: how it is called."""
    return "\n\n".join(
        ["[bold]Examples[/bold]", *(f"  [cyan]{line.replace('[', chr(92) + '[')}[/cyan]" for line in lines)]
    )


def guarded(command: Callable[..., int | None]) -> Callable[..., None]:
    """Turn what a command returns into the exit code, and a WeftError into three lines instead of a traceback."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            code = command(**options)
        except WeftError as error:
            complain(error, as_json=bool(options.get("as_json")))
            raise typer.Exit(exit_code(error)) from None
        except KeyboardInterrupt:
            err().print("stopped")
            raise typer.Exit(130) from None
        raise typer.Exit(code or 0)

    return run


def out() -> Console:
    """Return the console of results."""
    to_person = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not to_person, width=None if to_person else _WIDE)


def err() -> Console:
    """Return the console of errors and notes."""
    return Console(stderr=True, highlight=False)


def print_json(data: Any, *, indent: int | None = 2) -> None:
    """Print data for programs."""
    print(json.dumps(data, indent=indent, default=str), flush=True)


def exit_code(error: WeftError) -> int:
    """Return 2 where the request is at fault (job, join, name, path, another join's state), 1 where running it failed."""
    return 2 if isinstance(error, (JobError, StateMismatch, NoSuchState, SpecError, UnknownName)) else 1


def check_master(master: str | None) -> None:
    """Refuse a `--master` that Spark would not know."""
    trouble = master_trouble(master) if master is not None else None
    if trouble:
        told, right = trouble
        what, _, there_is = told.partition(". ")
        raise SpecError.of(f"--master: {what}.", there_is, right.replace("write", "write --master"))


def complain(error: WeftError, *, as_json: bool = False) -> None:
    """Print an error in its three parts, without a traceback; for programs on one line, as batches before it are."""
    if as_json:
        print_json(_as_data(error), indent=None)
        return
    console = err()
    if isinstance(error, JobMistakes):
        _mistakes(console, error)
        return
    what, *rest = str(error).splitlines() or [type(error).__name__]
    console.print(_beside("error", "bold red", Text(what, style="bold")))
    for line in rest:
        hint = line.startswith("Hint: ")
        console.print(_beside("try" if hint else "", "bold green", Text(line.removeprefix("Hint: "))))


def _beside(label: str, style: str, text: Text) -> Table:
    """Put a label before a text that may wrap."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=5, style=style, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(label, text)
    return table


def _mistakes(console: Console, error: JobMistakes) -> None:
    console.print(Text.assemble(("error  ", "bold red"), (str(error).splitlines()[0], "bold")))
    for mistake in error.mistakes:
        place = f"line {mistake.line}" if mistake.line else "missing"
        console.print()
        console.print(Text.assemble(f"  {place:<9}", (mistake.key, "bold cyan")))
        console.print(Padding(Text(mistake.what), (0, 0, 0, 11)))
        if mistake.right:
            console.print(Padding(Text.assemble(("→ ", "bold green"), mistake.right), (0, 0, 0, 11)))


def _as_data(error: WeftError) -> dict[str, Any]:
    data: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    if isinstance(error, JobMistakes):
        data["mistakes"] = [mistake.to_dict() for mistake in error.mistakes]
    return data


def log_file(name: str) -> Path:
    """Return a new file for what Spark writes while a command runs."""
    folder = Path(tempfile.mkdtemp(prefix="weft-"))
    return folder / f"{name}.log"


def size(count: float) -> str:
    """Write a number of bytes.

    >>> size(1_234_567)
    '1.2 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


@contextmanager
def on_stop() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a question; a second Ctrl-C does not wait any longer."""
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    old = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
