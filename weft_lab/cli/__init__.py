"""The command line of the laboratory: `weft-lab`, the same as `python -m weft_lab`."""

from __future__ import annotations

from weft_lab.cli.app import app, main

__all__ = ["app", "main"]
