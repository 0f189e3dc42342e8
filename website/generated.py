"""The pages that are made from the code, by their path on the site."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from website.api import api_pages
from website.commands import command_page
from website.job_file import job_file_page, job_schema
from website.markdown import ORIGINS
from website.messages import messages_page

__all__ = ["generated_pages"]

_ROOT = Path(__file__).parents[1]


@cache
def generated_pages() -> dict[str, str]:
    """Return all generated files: Markdown by its path, and the schema of job files, which editors may fetch."""
    front = {name: (_ROOT / origin).read_text(encoding="utf-8") for name, origin in ORIGINS.items()}
    return {
        **front,
        **api_pages(),
        "reference/command-line.md": command_page(),
        "reference/job-file.md": job_file_page(),
        "reference/messages.md": messages_page(),
        "reference/job-file.schema.json": job_schema(),
    }
