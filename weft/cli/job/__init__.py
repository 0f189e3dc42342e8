"""The job file: two sources, a join, a sink; checked whole before Spark starts."""

from __future__ import annotations

from weft.cli.job.blame import blaming
from weft.cli.job.load import load_job
from weft.cli.job.model import Job, JobMistakes, Mistake, SinkPart, SourcePart
from weft.cli.job.names import master_trouble

__all__ = ["Job", "JobMistakes", "Mistake", "SinkPart", "SourcePart", "blaming", "load_job", "master_trouble"]
