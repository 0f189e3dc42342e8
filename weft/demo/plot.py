"""The demo's picture: both voltages over time, the pairs that raised an alarm, and which generators they came from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from weft.demo.plant import Event
from weft.types import Side

__all__ = ["draw"]

_INK, _FAINT, _GRID, _PAPER = "#1f2933", "#7b8794", "#e8ecf0", "#ffffff"
_BEFORE, _AFTER, _ALARM = "#d9822b", "#2b6cb0", "#c0392b"
_STEP = 0.25
_FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif"


def draw(path: Path, sides: dict[Side, pa.Table], alarms: pa.Table, events: Sequence[Event], start: datetime) -> None:
    """Write one HTML file that needs nothing else."""
    zero = np.int64(start.timestamp() * 1e6)
    figure = make_subplots(
        rows=3, cols=2, row_heights=[0.42, 0.3, 0.28], column_widths=[0.76, 0.24], vertical_spacing=0.085,
        horizontal_spacing=0.09, shared_xaxes="columns",
        specs=[[{}, {"rowspan": 2}], [{}, None], [{}, None]],
        subplot_titles=("Voltage, kV", "Pairs by generator", "Current, kA", "Alarms: pairs per second"),
    )  # fmt: skip
    _bands(figure, sides, zero, "v", 1)
    _bands(figure, sides, zero, "i", 2)
    _marks(figure, alarms, zero)
    _rate(figure, alarms, zero)
    _matrix(figure, alarms)
    _events(figure, events)
    _dress(figure, sides, alarms, len(events), start)
    page = figure.to_html(include_plotlyjs=True, full_html=True, config={"displaylogo": False, "responsive": True})
    page = page.replace(
        "<head>",
        f"<head><title>Weft demo: {alarms.num_rows:,} alarms</title><style>body{{margin:0;background:{_PAPER}}}</style>",
        1,
    )
    path.write_text(page, encoding="utf-8")


def _seconds(column: pa.ChunkedArray, zero: np.int64) -> NDArray[np.float64]:
    micros = pc.cast(pc.cast(column, pa.timestamp("us", "UTC")), pa.int64()).to_numpy()
    return np.asarray((micros - zero) / 1e6, np.float64)


def _bands(figure: Any, sides: dict[Side, pa.Table], zero: np.int64, what: str, row: int) -> None:
    """Draw, per side, the range of all measurements in every quarter of a second, and their median."""
    names: dict[Side, str] = {"left": "before the generator", "right": "after the generator"}
    colours: dict[Side, str] = {"left": _BEFORE, "right": _AFTER}
    for side, colour in colours.items():
        number = "1" if side == "left" else "2"
        at = np.floor(_seconds(sides[side].column("ts"), zero) / _STEP).astype(np.int64)
        values = np.asarray(sides[side].column(f"{what}{number}").to_numpy(), np.float64)
        order = np.lexsort((values, at))
        steps, first, count = np.unique(at[order], return_index=True, return_counts=True)
        ordered = values[order]
        low, middle, high = ordered[first], ordered[first + count // 2], ordered[first + count - 1]
        x = steps * _STEP
        shade = {"x": x, "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(y=low, **shade), row, 1)
        figure.add_trace(go.Scatter(y=high, fill="tonexty", fillcolor=_alpha(colour, 0.22), **shade), row, 1)
        line = {"color": colour, "width": 1.8}
        figure.add_trace(
            go.Scatter(
                x=x,
                y=middle,
                mode="lines",
                line=line,
                name=names[side],
                legendgroup=side,
                showlegend=row == 1,
                hovertemplate=f"%{{y:.3f}}<extra>median {names[side]}</extra>",
            ),
            row,
            1,
        )


def _marks(figure: Any, alarms: pa.Table, zero: np.int64) -> None:
    """Mark the measurements that took part in an alarm, larger where they met more partners."""
    shown = True
    for time, value, other, row in (
        ("ts", "v1", "generator", 1),
        ("other_ts", "v2", "other", 1),
        ("ts", "i1", "generator", 2),
        ("other_ts", "i2", "other", 2),
    ):
        if not alarms.num_rows:
            return
        met = alarms.group_by([time, value, other]).aggregate([([], "count_all")])
        size = 3.5 + 2.2 * np.log2(1 + met.column("count_all").to_numpy()) ** 0.8
        marker = {"size": size, "color": _alpha(_ALARM, 0.5 if row == 1 else 0.35), "line": {"width": 0}}
        text = [
            f"generator {g}, {n:,} partners"
            for g, n in zip(met.column(other).to_pylist(), met.column("count_all").to_pylist(), strict=True)
        ]
        figure.add_trace(
            go.Scattergl(
                x=_seconds(met.column(time), zero),
                y=met.column(value).to_numpy(),
                mode="markers",
                marker=marker,
                name="part of an alarm",
                legendgroup="alarm",
                showlegend=shown,
                text=text,
                hovertemplate="%{y:.3f}<br>%{text}<extra></extra>",
            ),
            row,
            1,
        )
        shown = False


def _rate(figure: Any, alarms: pa.Table, zero: np.int64) -> None:
    at = np.floor(_seconds(alarms.column("ts"), zero)).astype(np.int64) if alarms.num_rows else np.zeros(0, np.int64)
    seconds, count = np.unique(at, return_counts=True)
    bars = go.Bar(
        x=seconds + 0.5,
        y=count,
        width=0.86,
        marker={"color": _ALARM, "line": {"width": 0}},
        showlegend=False,
        hovertemplate="%{y:,} pairs in second %{x:.0f}<extra></extra>",
    )
    figure.add_trace(bars, 3, 1)


def _matrix(figure: Any, alarms: pa.Table) -> None:
    """Show how many pairs each generator before made with each generator after."""
    before, after = (alarms.column(name).to_numpy().astype(np.int64) for name in ("generator", "other"))
    number = int(max([5, *before[:], *after[:]])) + 1 if alarms.num_rows else 6
    counts = np.zeros((number, number), np.int64)
    np.add.at(counts, (after, before), 1)
    labels = [f"G{i}" for i in range(number)]
    text = [[f"{count:,}" if count else "" for count in line] for line in counts]
    scale = [[0, "#fdf3f1"], [0.15, "#f3c4ba"], [0.5, "#df7d6a"], [1, _ALARM]]
    heat = go.Heatmap(
        z=np.sqrt(counts),
        x=labels,
        y=labels,
        text=text,
        texttemplate="%{text}",
        textfont={"size": 11},
        colorscale=scale,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertemplate="before %{x}, after %{y}: %{text} pairs<extra></extra>",
    )
    figure.add_trace(heat, 1, 2)


def _events(figure: Any, events: Sequence[Event]) -> None:
    """Say what really happened, where the eye looks for it."""
    for event in events:
        what = "spike" if event.side == "left" else "drop"
        colour = _BEFORE if event.side == "left" else _AFTER
        figure.add_vrect(
            x0=event.start, x1=event.start + event.length, fillcolor=colour, opacity=0.10, line_width=0, row=1, col=1
        )
        figure.add_annotation(
            x=event.start + event.length / 2,
            y=1,
            yref="y domain",
            xref="x",
            text=f"{what} G{event.generator}",
            showarrow=False,
            textangle=-90,
            yanchor="top",
            font={"size": 9, "color": colour},
        )


def _dress(figure: Any, sides: dict[Side, pa.Table], alarms: pa.Table, events: int, start: datetime) -> None:
    rows = sum(table.num_rows for table in sides.values())
    facts = [
        "l.v1 &gt; r.v2 AND l.i1 &lt; r.i2 within 10 seconds",
        f"{events} disturbances happened",
        f"started {start:%Y-%m-%d %H:%M:%S} UTC",
        "bands: range of all generators, lines: median",
    ]
    title = f"<b>{alarms.num_rows:,} alarms in {rows:,} measurements</b>"
    title += f"<br><span style='font-size:13px;color:{_FAINT}'>{' · '.join(facts)}</span>"
    figure.update_layout(
        title={"text": title, "x": 0.045, "y": 0.955, "font": {"size": 22, "color": _INK}}, paper_bgcolor=_PAPER,
        plot_bgcolor=_PAPER, font={"family": _FONT, "size": 12, "color": _INK}, height=880,
        margin={"l": 70, "r": 40, "t": 150, "b": 60}, hovermode="closest", bargap=0,
        legend={"orientation": "h", "x": 0, "y": 1.035, "yanchor": "bottom", "itemsizing": "constant"},
    )  # fmt: skip
    figure.update_xaxes(gridcolor=_GRID, zeroline=False, ticksuffix=" s", range=[0, _length(sides)], col=1)
    figure.update_yaxes(gridcolor=_GRID, zeroline=False, col=1)
    figure.update_xaxes(title_text="seconds since the start", row=3, col=1)
    figure.update_xaxes(title_text="before", constrain="domain", row=1, col=2)
    figure.update_yaxes(
        title_text="after",
        autorange="reversed",
        scaleanchor="x2",
        constrain="domain",
        constraintoward="top",
        row=1,
        col=2,
    )
    for note in figure.layout.annotations[:4]:  # the titles of the subplots
        note.update(
            font={"size": 13, "color": _INK}, xanchor="left", x=figure.layout[f"xaxis{_axis(note.text)}"].domain[0]
        )


def _length(sides: dict[Side, pa.Table]) -> float:
    column = sides["left"].column("ts")
    return float(np.ceil((pc.max(column).value - pc.min(column).value) / 1e6))


def _axis(title: str) -> str:
    return "2" if title.startswith("Pairs by") else ""


def _alpha(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
