"""`weft-lab fuzz`: odd input for one part of Weft, guided by coverage where atheris is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.output import AsJson, err, examples, guarded, out, print_json
from weft_lab.fuzz.campaign import run_fuzz

__all__ = ["FUZZ_EXAMPLES", "fuzz"]

FUZZ_EXAMPLES = examples("weft-lab fuzz conditions --seconds 300", "weft-lab fuzz state --plain --seed 3")


@guarded
def fuzz(
    target: Annotated[str, typer.Argument(help="conditions, jobs, documents or state.")],
    seconds: Annotated[float, typer.Option(min=1, help="How long.")] = 60,
    findings: Annotated[str, typer.Option(help="Where findings are written.")] = "fuzz-out",
    corpus: Annotated[str, typer.Option(help="A folder of inputs to start from and add to.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Where random choices start.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Without coverage, even if atheris is installed.")] = False,
    as_json: AsJson = False,
) -> int:
    """Feed odd input to one part of Weft. Anything but an exact answer or a WeftError is a finding; exits with 1 if any."""
    with err().status(f"fuzzing {target} ..."):
        outcome = run_fuzz(
            target, seconds, findings=Path(findings), corpus=Path(corpus) if corpus else None, seed=seed,
            guided=False if plain else None,
        )  # fmt: skip
    print_json({**outcome.__dict__, "folder": str(outcome.folder)}) if as_json else out().print(str(outcome))
    return 1 if outcome.findings else 0
