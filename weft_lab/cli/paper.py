"""`weft-lab paper`: run the figures of one paper, print them, write their page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from weft.cli.output import AsJson, err, examples, guarded, out, print_json
from weft.errors import UnknownName, WeftError
from weft_lab.papers import SYSTEMS, Figure, publish

__all__ = ["EXAMPLES", "paper"]

EXAMPLES = examples(
    "weft-lab paper pim", "weft-lab paper pim --figure 9a --scale 0.2 --json", "weft-lab paper sta --list"
)


@guarded
def paper(
    system: Annotated[str, typer.Argument(help="pim, fastjoin, adsp, sta or json.")],
    figure: Annotated[str, typer.Option(help="Only these figures, by the names of --list.")] = "",
    scale: Annotated[float, typer.Option(min=0.001, help="Size of the experiments; 1 takes some minutes.")] = 1.0,
    folder: Annotated[str, typer.Option("--out", help="Where the HTML page goes.")] = "weft-papers",
    listing: Annotated[bool, typer.Option("--list", help="Name the figures and stop.")] = False,
    as_json: AsJson = False,
) -> int:
    """Figures of one of the papers, measured here: claim, table, chart, and whether the shape holds."""
    return _run_paper(system, figure, scale, folder, listing=listing, as_json=as_json)


def _run_paper(system: str, figure: str, scale: float, folder: str, *, listing: bool, as_json: bool) -> int:
    """Measure the asked figures of one system; the exit code does not depend on whether claims hold."""
    if system not in SYSTEMS:
        raise UnknownName.among("paper", system, list(SYSTEMS))
    makers = import_module(SYSTEMS[system]).FIGURES
    asked = [name.strip() for name in figure.split(",") if name.strip()] or list(makers)
    for name in asked:
        if name not in makers:
            raise UnknownName.among("figure", name, list(makers))
    if listing:
        print_json(list(makers)) if as_json else out().print("\n".join(makers))
        return 0
    figures: list[Figure] = []
    for name in asked:
        with err().status(f"figure {name} ..."):
            figures.append(makers[name](scale))
        if not as_json:
            _show(figures[-1])
    if as_json:
        print_json([one.to_json() for one in figures])
        return 0
    try:
        page = publish(system, figures, Path(folder))
    except ImportError as error:
        raise WeftError.of(f"{error}.", "The charts are drawn with Plotly.", "pip install 'weft[plot]'") from None
    held = sum(one.holds for one in figures)
    out().print(Text(f"{held} of {len(figures)} claims hold here; charts in {page}"))
    return 0


def _show(figure: Figure) -> None:
    table = Table(
        title=f"{figure.title} ({figure.id})", title_style="bold", title_justify="left", box=None, pad_edge=False
    )
    for name in figure.columns:
        table.add_column(name, justify="right", header_style="cyan")
    for row in figure.rows:
        table.add_row(*(f"{value:,.4g}" if isinstance(value, float) else str(value) for value in row))
    out().print(Text(f"claim: {figure.claim}", style="dim"))
    out().print(table)
    out().print(
        Text(
            f"{'holds' if figure.holds else 'differs'}: {figure.verdict}\n", style="green" if figure.holds else "yellow"
        )
    )
