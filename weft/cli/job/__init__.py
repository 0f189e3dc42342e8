"""The job file: two sources, a join, a sink; checked whole before Spark starts."""

from __future__ import annotations

from weft.cli.job.load import load_job
from weft.cli.job.model import CheckedJob, JobMistakes, Mistake, SinkPart, SourcePart, master_trouble
from weft.cli.job.reader import blaming

__all__ = ["CheckedJob", "JobMistakes", "Mistake", "SinkPart", "SourcePart", "blaming", "load_job", "master_trouble"]
