"""`weft new`: a few questions, or flags instead of them, and a job file that passes `weft run --check`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from weft.cli.job import Found, JobAnswers, SourceAnswer, compose, job_schema, load_job, look_into
from weft.cli.output import out, print_json
from weft.errors import JobError, WeftError
from weft.spec import kind_named
from weft.spec.options import microseconds
from weft.spec.parse import check_syntax

__all__ = ["NewJob", "print_schema", "write_job"]

SCHEMA_FILE = "weft-job.schema.json"


@dataclass(frozen=True)
class NewJob:
    """What the flags say; None or "" where they do not."""

    left: str | None = None
    right: str | None = None
    stream: str | None = None
    on: str | None = None
    how: str = "inner"
    within: str | None = None
    delay: str | None = None
    time: str | None = None
    last: int | None = None
    out: str = "out"
    live: bool = False


def print_schema() -> int:
    """Print the JSON Schema of job files."""
    print_json(job_schema())
    return 0


def write_job(path: Path, asked: NewJob, *, force: bool, as_json: bool) -> int:
    """Write the job file, and check it as `weft run --check` does."""
    if path.exists() and not force:
        raise JobError.of(f"{path} exists.", "", "choose another name, or write --force to replace it.")
    ask = _Questions(may_ask=at_terminal())
    text = compose(_answers(path, asked, ask))
    old = path.read_text(encoding="utf-8") if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    try:
        load_job(path, reads=True, writes=True)
    except WeftError:
        if old is None:
            path.unlink()
        else:
            path.write_text(old, encoding="utf-8")
        raise
    if as_json:
        print_json({"job": str(path)})
    else:
        out().print(f"Wrote {path}, and checked it. Next:\n  weft explain {path}\n  weft run {path}")
    return 0


def at_terminal() -> bool:
    """Tell whether there is somebody to ask."""
    return sys.stdin.isatty()


@dataclass(frozen=True)
class _Questions:
    """Asks a person; without a terminal a missing answer is an error that names the flag."""

    may_ask: bool

    def answer(
        self, given: str | None, flag: str, question: str, default: str | None = None,
        check: Callable[[str], object] | None = None,
    ) -> str:  # fmt: skip
        """Return what the flag says, or what a person answers; ask again while the check raises."""
        if given is None and not self.may_ask:
            if default is None:
                raise JobError.of(f"{flag} is missing.", "There is no terminal to ask for it.", f"write {flag} ...")
            given = default
        if given is not None:
            if check is not None:
                check(given)
            return given
        while True:
            said = str(typer.prompt(question, default=default, err=True))
            try:
                if check is not None:
                    check(said)
            except WeftError as error:
                typer.echo(str(error), err=True)
            else:
                return said


def _answers(path: Path, asked: NewJob, ask: _Questions) -> JobAnswers:
    kind_named(asked.how)
    if asked.stream is not None and (asked.left is not None or asked.right is not None):
        raise JobError.of("--stream is a self join; it has no --left and no --right.", "", "leave one of them out.")
    if asked.within is not None and asked.last is not None:
        raise JobError.of("--within and --last are two windows.", "A join has one.", "leave one of them out.")
    names = ("stream",) if asked.stream is not None else ("left", "right")
    questions = (
        ("Folder of the stream",)
        if asked.stream is not None
        else ("Folder of the left stream", "Folder of the right stream")
    )
    folders = [
        ask.answer(getattr(asked, name), f"--{name}", question, None, look_into)
        for name, question in zip(names, questions, strict=True)
    ]
    found = [look_into(folder) for folder in folders]
    sides = found * (3 - len(found))
    aliases = ("a", "b") if asked.stream is not None else ("l", "r")
    for alias, one in zip(aliases, sides, strict=True):
        if ask.may_ask and asked.on is None:
            typer.echo(f"  {alias}: {one.schema}", err=True)
    condition = ask.answer(
        asked.on, "--on", f"Condition, SQL over {aliases[0]} and {aliases[1]}", None,
        lambda text: check_syntax(text, aliases, *(one.columns for one in sides)),
    )  # fmt: skip
    sources = [
        SourceAnswer(folder, one.format, one.schema, one.options) for folder, one in zip(folders, found, strict=True)
    ]
    beside = path.parent / SCHEMA_FILE
    times = _times(asked, sides, ask) if asked.last is None else ("", "")
    spans: dict[str, str] = {}
    if asked.last is None:
        spans["within"] = ask.answer(
            asked.within, "--within", "How far apart may the two rows be", "10 seconds", _duration("within")
        )
        spans["delay"] = ask.answer(
            asked.delay, "--delay", "How late may a row arrive", "5 seconds", _duration("delay")
        )
    return JobAnswers(
        sources[0], sources[1] if len(sources) > 1 else None, condition, asked.out.rstrip("/"), asked.how, time=times,
        last=asked.last or 0, live=asked.live, schema=f"./{SCHEMA_FILE}" if beside.exists() else "", **spans,
    )  # fmt: skip


def _times(asked: NewJob, sides: list[Found], ask: _Questions) -> tuple[str, str]:
    """Return the time column of both sides: the flag's, the one that both have, or the first of each."""
    left, right = sides
    both = [name for name in left.times if name in right.times]
    guess = both[0] if both else ",".join(one.times[0] for one in sides) if left.times and right.times else None
    said = ask.answer(asked.time, "--time", "Time column (left,right if the names differ)", guess)
    first, _, second = (part.strip() for part in said.partition(","))
    return first, second or first


def _duration(name: str) -> Callable[[str], object]:
    return lambda text: microseconds(name, text)
