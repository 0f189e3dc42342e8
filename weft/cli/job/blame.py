"""What Spark finds wrong with a checked job, told as a mistake of the file: the key, its line, what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.cli.job.lines import line_of
from weft.cli.job.model import Job, JobMistakes, Mistake
from weft.cli.job.reader import in_two, shown
from weft.cli.job.tables import TABLES
from weft.errors import JobError, SpecError, UnknownName

__all__ = ["blaming"]


@contextmanager
def blaming(job: Job) -> Iterator[None]:
    """Let errors that say which argument they are about name the key of the job file that gave it."""
    try:
        yield
    except (JobError, SpecError, UnknownName) as error:
        if isinstance(error, JobMistakes) or not error.argument:
            raise
        path = error.argument  # of weft.join, whose arguments are the keys of [join]; or a key of the file
        if path in TABLES["join"]:
            path = f"join.{path}"
        raise JobMistakes.found(job.path, [Mistake(shown(path), line_of(job.lines, path), *in_two(error))]) from None
