"""Fuzzing: inputs that nobody would write, for everything of Weft that reads what others wrote.

A *target* runs one input and says what came of it: an answer that its oracle confirms, or a `WeftError`. Anything else is a
*finding*. `guided` lets atheris look for inputs that reach new code, `plain` draws them from a seeded generator alone.
"""

from __future__ import annotations

from weft_lab.fuzz.findings import Findings
from weft_lab.fuzz.plain import Tally, kept_inputs, run_plain
from weft_lab.fuzz.target import ANSWERED, REFUSED, Target, Wrong
from weft_lab.fuzz.targets import TARGETS, target_named

__all__ = [
    "ANSWERED", "REFUSED", "TARGETS", "Findings", "Tally", "Target", "Wrong", "kept_inputs", "run_plain", "target_named",
]  # fmt: skip
