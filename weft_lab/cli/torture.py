"""`weft-lab torture`: random joins through kills and faults for as long as it is told, checked against a nested loop."""

from __future__ import annotations

import itertools
import time
from typing import Annotated

import typer
from rich.text import Text

from weft.cli.output import AsJson, err, examples, guarded, out, print_json
from weft.errors import UnknownName
from weft_lab.torture.local_campaign import run_local
from weft_lab.torture.spark_campaign import run_drivers, run_executors, run_workers
from weft_lab.torture.tally import Tally

__all__ = ["TORTURE_EXAMPLES", "torture"]

CAMPAIGNS = {"local": run_local, "workers": run_workers, "executors": run_executors, "drivers": run_drivers}
TORTURE_EXAMPLES = examples(
    "weft-lab torture --minutes 5",
    "weft-lab torture workers --deaths 500",
    "weft-lab torture local --seed 4711 --seeds 1",
)


@guarded
def torture(
    campaign: Annotated[str, typer.Argument(help="local, workers, executors or drivers.")] = "local",
    minutes: Annotated[float, typer.Option(min=0.01, help="Stop after this many minutes.")] = 1.0,
    deaths: Annotated[
        int, typer.Option(min=0, help="Stop after this many kills or crashes, however long it takes.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(min=0, help="Stop after this many seeds, however long it takes.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Kill joins at every step and compare their output with a nested loop. Exits with 1 if a pair is lost or duplicated."""
    if campaign not in CAMPAIGNS:
        raise UnknownName.among("campaign", campaign, list(CAMPAIGNS))
    end = time.monotonic() + 60 * minutes

    def enough(tally: Tally) -> bool:
        if deaths or seeds:
            return bool(deaths and tally.deaths >= deaths)
        return time.monotonic() > end

    with err().status("...") as status:
        tally = CAMPAIGNS[campaign](
            range(seed, seed + seeds) if seeds else itertools.count(seed), enough, lambda now: status.update(_said(now))
        )
    if as_json:
        print_json({"campaign": campaign, "first_seed": seed, **tally.to_json()})
    else:
        for number, failure in tally.failures.items():
            out().print(Text(f"seed {number}\n{failure}"), soft_wrap=True)
        out().print(Text("\n".join(f"{number:>9,} {kind}" for kind, number in tally.counts.most_common())))
        out().print(Text(_said(tally)), soft_wrap=True)
    return 1 if tally.failures else 0


def _said(tally: Tally) -> str:
    return (
        f"{tally.seeds:,} joins, {tally.deaths:,} deaths, {tally.pairs:,} pairs compared, "
        f"{len(tally.failures):,} wrong, {tally.seconds:,.0f} s"
    )
