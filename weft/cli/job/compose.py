"""Write a job file from a few answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

__all__ = ["JobAnswers", "SourceAnswer", "compose"]


@dataclass(frozen=True)
class SourceAnswer:
    """One stream of files: where it is, and how it is read."""

    path: str
    format: str
    schema: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobAnswers:
    """What a job file is made of. `right` is None for a self join; `time` has the time column of each side."""

    left: SourceAnswer
    right: SourceAnswer | None
    on: str
    out: str
    how: str = "inner"
    within: str = ""
    delay: str = ""
    time: tuple[str, str] = ("", "")
    last: int = 0
    live: bool = False
    schema: str = ""
    """The schema file that editors find beside the job file, if there is one."""


def compose(answers: JobAnswers) -> str:
    """Return the text of the job file.

    >>> one = SourceAnswer("left", "parquet", "id long")
    >>> print(compose(JobAnswers(one, None, "a.id < b.id", "out", last=100)).partition("[join]")[2].strip().split("[sink]")[0])
    on = "a.id < b.id"
    window = { kind = "last", rows = 100 }
    state = "out/state"                    # rows that can still match; all executors must be able to write it
    <BLANKLINE>
    """
    first = f"#:schema {answers.schema}\n" if answers.schema else ""
    itself = answers.right is None
    head = f"{first}# Check it: weft run JOB --check.  See how it would run: weft explain JOB.  Run it: weft run JOB"
    checkpoint = f"checkpoint = {_text(f'{answers.out}/checkpoint')}"
    parts = [
        head,
        f"{checkpoint:<38} # Spark's own; a restart needs it and the state",
        _source("stream" if itself else "left", answers.left),
        *([] if answers.right is None else [_source("right", answers.right)]),
        _join(answers),
        f'[sink]\nformat = "parquet"                     # any Spark sink\npath = {_text(f"{answers.out}/pairs")}',
        '[trigger]\nprocessing_time = "5 seconds"' if answers.live
        else '[trigger]\navailable_now = true                   # stop when all data is joined; or processing_time = "5 seconds"',
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _source(table: str, source: SourceAnswer) -> str:
    lines = [
        f"[{table}]",
        f"format = {_text(source.format)}",
        f"path = {_text(source.path)}",
        f"schema = {_text(source.schema)}",
    ]
    if source.options:
        lines.append(
            "options = { " + ", ".join(f"{key} = {_text(value)}" for key, value in source.options.items()) + " }"
        )
    return "\n".join(lines)


def _join(answers: JobAnswers) -> str:
    lines = ["[join]", f"on = {_text(answers.on)}"]
    if answers.how != "inner":
        lines.append(f"how = {_text(answers.how)}")
    lines.append(f"window = {_window(answers)}")
    state = f"state = {_text(f'{answers.out}/state')}"
    lines.append(f"{state:<38} # rows that can still match; all executors must be able to write it")
    return "\n".join(lines)


def _window(answers: JobAnswers) -> str:
    if answers.last:
        return f'{{ kind = "last", rows = {answers.last} }}'
    left, right = answers.time
    columns = f"on = {_text(left)}" if left == right else f"left = {_text(left)}, right = {_text(right)}"
    delay = f", delay = {_text(answers.delay)}" if answers.delay else ""
    return f'{{ kind = "within", span = {_text(answers.within)}, {columns}{delay} }}'


def _text(value: str) -> str:
    """Quote a text for TOML, whose basic strings have JSON's escapes."""
    return json.dumps(value, ensure_ascii=False)
