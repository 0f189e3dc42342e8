"""The command line: `weft`, the same as `python -m weft`."""

from __future__ import annotations

from weft.cli.app import app, main

__all__ = ["app", "main"]
