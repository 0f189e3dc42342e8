"""Progress of a query for a person: a live table on a terminal, a line per batch elsewhere, JSON lines for programs."""

from __future__ import annotations

from collections import deque
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
from typing_extensions import Self

from weft.cli.output import err, print_json, size
from weft.observe import BatchReport, Summary

__all__ = ["Screen", "summary_table"]

_SHOWN = 12


class Screen:
    """Shows batches as they finish. With `one_stream`, a self join has one number of rows per batch."""

    def __init__(self, title: str, *, as_json: bool = False, one_stream: bool = False, note: str = "") -> None:
        self.title, self.as_json, self.one, self.note = title, as_json, one_stream, note
        self.console: Console = err()
        self.summary = Summary()
        self._rows: deque[BatchReport] = deque(maxlen=_SHOWN)
        self._live: Live | None = None
        self._spinner = Spinner("dots", Text(note, style="dim"))

    def __enter__(self) -> Self:
        if not self.as_json and self.console.is_terminal:
            self._live = Live(self._table(), console=self.console, refresh_per_second=8, transient=False)
            self._live.__enter__()
        elif not self.as_json:
            self.console.print(Text(self.title, style="bold"), soft_wrap=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self.note = ""
            self._live.update(self._table(), refresh=True)
            self._live.__exit__(kind, error, trace)
            self._live = None

    def say(self, note: str) -> None:
        """Change the line below the table (or print it where there is none)."""
        if note == self.note:
            return
        self.note = note
        if self._live is not None:
            self._spinner.update(text=Text(note, style="dim"))
            self._live.update(self._table())
        elif not self.as_json and note:
            self.console.print(Text(note, style="dim"), soft_wrap=True)

    def add(self, report: BatchReport) -> None:
        """Show one more batch."""
        self.summary.add(report)
        self._rows.append(report)
        if self.as_json:
            print_json(report.to_dict(), indent=None)
        elif self._live is not None:
            self._live.update(self._table())
        else:
            self.console.print(_line(report, self.one), soft_wrap=True)

    def _table(self) -> Group:
        table = Table(
            title=self.title, title_style="bold", title_justify="left", box=None, pad_edge=False, padding=(0, 1)
        )
        names = [
            "batch",
            *(["rows in"] if self.one else ["left in", "right in"]),
            "pairs out",
            "rows/s",
            "state rows",
            "late",
            "imbalance",
            "seconds",
        ]
        for name in names:
            table.add_column(name, justify="right", header_style="cyan", no_wrap=True)
        table.add_column("", style="yellow")
        for report in self._rows:
            table.add_row(*_cells(report, self.one), _event(report))
        for _ in range(3 - len(self._rows)):
            table.add_row(*[""] * (len(names) + 1))
        parts: list[Table | Spinner | Text] = [table]
        if self.note:
            parts.append(self._spinner)
        return Group(*parts)


def _event(report: BatchReport) -> str:
    """Say what a batch has moved, and that the next one will."""
    event = report.migration
    done = [] if event is None else [f"{event.change}, {event.rows:,} rows moved in {event.seconds:.2f} s"]
    return "; ".join([*done, *(["migrating"] if report.moving else [])])


def _cells(report: BatchReport, one: bool) -> list[str]:
    rows = [f"{report.rows['left']:,}"] if one else [f"{report.rows['left']:,}", f"{report.rows['right']:,}"]
    late = f"{report.late['left']:,}" if one else f"{report.late['left']:,}+{report.late['right']:,}"
    pairs = "?" if report.pairs is None else f"{report.pairs:,}"
    return [
        str(report.batch), *rows, pairs, f"{report.rate:,.0f}", f"{report.state_rows:,}", late,
        f"{report.imbalance:.2f}", f"{report.seconds:.1f}",
    ]  # fmt: skip


def _line(report: BatchReport, one: bool) -> Text:
    batch, *cells = _cells(report, one)
    names = [*(["in"] if one else ["left", "right"]), "pairs", "rows/s", "state", "late", "imbalance", "s"]
    parts = [f"batch {batch:>4}", *(f"{name} {cell}" for name, cell in zip(names, cells, strict=True))]
    return Text(
        "  ".join(
            [*parts, *([str(report.migration)] if report.migration else []), *(["migrating"] if report.moving else [])]
        )
    )


def summary_table(summary: Summary, *, one_stream: bool = False) -> Table:
    """Lay the summary of a run out, a name and a value per line."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan")
    table.add_column()
    rows = (
        f"{summary.rows['left']:,}" if one_stream else f"{summary.rows['left']:,} left, {summary.rows['right']:,} right"
    )
    late = (
        f"{summary.late['left']:,}" if one_stream else f"{summary.late['left']:,} left, {summary.late['right']:,} right"
    )
    table.add_row("batches", f"{summary.batches:,} in {summary.seconds:.1f} s, the longest {summary.slowest:.1f} s")
    table.add_row("rows in", rows)
    table.add_row("pairs out", f"{summary.pairs:,}")
    table.add_row("late, dropped", late)
    table.add_row("mean rows/s", f"{summary.rate:,.0f}")
    table.add_row("state", f"{summary.state_rows:,} rows, {size(summary.state_bytes)} in {summary.state_files:,} files")
    table.add_row("tasks", f"{summary.tasks:.1f} in use on average, {summary.peak_tasks} at most; "
                           f"{summary.requests:,.0f} join requests per task and batch")  # fmt: skip
    table.add_row(
        "sent to tasks", f"{summary.routed:,} rows, {size(summary.routed_bytes)}; resource cost {summary.cost:,.1f}"
    )
    if summary.migrations:
        table.add_row("migrations", f"{len(summary.migrations)}")
    for batch, event in summary.migrations:
        table.add_row("new plan", f"in batch {batch}: {event}")
    return table
