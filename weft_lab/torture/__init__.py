"""Torture: random joins through random faults, checked against a nested loop, for as long as it is told."""

from __future__ import annotations

from weft_lab.torture.local_campaign import local_life, run_local
from weft_lab.torture.tally import Tally

__all__ = ["Tally", "local_life", "run_local"]
