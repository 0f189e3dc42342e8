"""The job file: two sources, a join, a sink; checked whole before Spark starts."""

from __future__ import annotations

from weft.cli.job.load import load_job
from weft.cli.job.model import CheckedJob, JobMistakes, Mistake, SinkPart, SourcePart
from weft.cli.job.reader import blaming
from weft.cli.job.tables import master_trouble

__all__ = ["CheckedJob", "JobMistakes", "Mistake", "SinkPart", "SourcePart", "blaming", "load_job", "master_trouble"]
