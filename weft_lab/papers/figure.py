"""One figure of a paper as we measured it, and the page that shows all of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Figure", "publish"]


@dataclass(frozen=True)
class Figure:
    """A measured table, the claim it is held against, and whether the claim's shape holds.

    The first column is x, every other one a line of the chart; a text x makes bars.
    """

    id: str
    title: str
    claim: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    holds: bool
    verdict: str
    papers: tuple[str, ...] = ()
    """Ids of PAPERS.md that the figure shows."""
    y: str = ""
    log_x: bool = False
    log_y: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON data."""
        return asdict(self)


def publish(system: str, figures: Sequence[Figure], folder: Path) -> Path:
    """Write one HTML page with every figure's claim, chart, table and verdict; return its path."""
    import plotly.graph_objects as go

    parts: list[str] = []
    for number, figure in enumerate(figures):
        bars = any(isinstance(row[0], str) for row in figure.rows)
        chart = go.Figure()
        for at, name in enumerate(figure.columns[1:], start=1):
            xs, ys = [row[0] for row in figure.rows], [row[at] for row in figure.rows]
            chart.add_trace(
                go.Bar(x=xs, y=ys, name=name) if bars else go.Scatter(x=xs, y=ys, name=name, mode="lines+markers")
            )
        chart.update_xaxes(title=figure.columns[0], type="log" if figure.log_x else None)
        chart.update_yaxes(title=figure.y, type="log" if figure.log_y else None)
        chart.update_layout(template="plotly_white", height=380, margin={"l": 60, "r": 20, "t": 20, "b": 50})
        drawn = chart.to_html(full_html=False, include_plotlyjs=number == 0, config={"displaylogo": False})
        parts.append(_section(figure, drawn))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{system}.html"
    path.write_text(_PAGE.format(system=html.escape(system), body="\n".join(parts)), encoding="utf-8")
    return path


def _section(figure: Figure, chart: str) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in figure.columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in figure.rows)
    mark = "holds" if figure.holds else "differs"
    return (
        f"<section><h2>{html.escape(figure.title)} <small>{html.escape(figure.id)}</small></h2>"
        f"<p><b>Claim.</b> {html.escape(figure.claim)}</p><p class={mark}><b>Here it {mark}.</b> "
        f"{html.escape(figure.verdict)}</p>{chart}<table><tr>{head}</tr>{body}</table></section>"
    )


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else html.escape(str(value))


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Weft: {system}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 920px; margin: 2rem auto; padding: 0 1rem; color: #1d2433; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
td, th {{ padding: .15rem .9rem .15rem 0; text-align: right; border-bottom: 1px solid #e5e8ef; }}
small {{ color: #7a8397; font-weight: normal; }} .holds b {{ color: #0a7d46; }} .differs b {{ color: #b3541e; }}
</style><h1>{system}: claimed and measured</h1>{body}</html>
"""
