"""The job file: two sources, a join, a sink; checked whole before Spark starts."""

from __future__ import annotations

from weft.cli.job.load import load_job
from weft.cli.job.model import Job, JobMistakes, Mistake, SinkPart, SourcePart

__all__ = ["Job", "JobMistakes", "Mistake", "SinkPart", "SourcePart", "load_job"]
