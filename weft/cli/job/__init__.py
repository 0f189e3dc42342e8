"""The job file: two sources, a join, a sink; checked whole before Spark starts."""

from __future__ import annotations

from weft.cli.job.compose import Found, JobAnswers, SourceAnswer, compose, look_into
from weft.cli.job.load import load_job
from weft.cli.job.model import CheckedJob, JobMistakes, Mistake, SinkPart, SourcePart, master_trouble
from weft.cli.job.reader import blaming
from weft.cli.job.schema import job_schema

__all__ = [
    "CheckedJob", "Found", "JobAnswers", "JobMistakes", "Mistake", "SinkPart", "SourceAnswer", "SourcePart", "blaming", "compose",
    "job_schema", "load_job", "look_into", "master_trouble",
]  # fmt: skip
