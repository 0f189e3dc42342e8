"""Mutation without coverage: a seeded generator, so every run is the same. Needs nothing but Weft."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from weft_lab.fuzz.findings import Findings
from weft_lab.fuzz.target import ANSWERED, Target

__all__ = ["CORPUS", "Tally", "kept_inputs", "run_plain"]

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once were findings, a folder per target; tests replay them."""


@dataclass
class Tally:
    """What came of a run."""

    inputs: int = 0
    answered: int = 0
    findings: int = 0


def kept_inputs(target: str) -> list[tuple[str, bytes]]:
    """Return the kept findings of a target with their names."""
    folder = CORPUS / target
    return [(path.name, path.read_bytes()) for path in sorted(folder.glob("*"))] if folder.is_dir() else []


def run_plain(
    target: Target, findings: Findings, *, inputs: int | None = None, seconds: float | None = None, seed: int = 0
) -> Tally:
    """Run the seeds, what is kept, and mutations of both, until `inputs` are done or `seconds` are over."""
    tally, until = Tally(), None if seconds is None else time.monotonic() + seconds
    for data in _drawn(target, Random(seed)):
        if (inputs is not None and tally.inputs >= inputs) or (until is not None and time.monotonic() >= until):
            break
        tally.inputs += 1
        try:
            tally.answered += target.run(data) == ANSWERED
        except Exception as error:  # noqa: BLE001  that is what is looked for
            findings.note(data, error)
            tally.findings += 1
    return tally


def _drawn(target: Target, draw: Random) -> Iterator[bytes]:
    start = [*target.seeds(), *(data for _, data in kept_inputs(target.name))]
    yield from start
    while True:
        data = draw.choice(start)
        for _ in range(draw.randint(1, 4)):
            data = target.mutate(data, draw)
        yield data[: target.longest]
