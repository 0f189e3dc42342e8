"""`weft bench paper`: run the figures of one paper, print them, write their page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from rich.table import Table
from rich.text import Text

from weft.bench.paper import SYSTEMS, Figure, publish
from weft.cli.output import err, out, print_json
from weft.errors import UnknownName, WeftError

__all__ = ["run_paper"]


def run_paper(system: str, figure: str, scale: float, folder: str, *, listing: bool, as_json: bool) -> int:
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
