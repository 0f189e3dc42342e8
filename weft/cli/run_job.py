"""`weft run` and `weft explain`: a checked job, a session, the query, its progress, a summary.

Progress is a live table on a terminal, a line per batch elsewhere, and JSON lines for programs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
from typing_extensions import Self

from weft.cli.job import CheckedJob, blaming, load_job
from weft.cli.output import check_master, err, exit_code, log_file, on_stop, out, print_json, size
from weft.cli.ui import shown_beside
from weft.errors import WeftError
from weft.observe import BatchReport, Summary, address_of, disk_use, prometheus, query_line, read_batch
from weft.spec import kind_named
from weft.state import open_folder

if TYPE_CHECKING:
    from weft.spark import jobs

__all__ = ["Screen", "explain_job", "run_job", "summary_table", "watch"]


def run_job(
    path: Path, *, check: bool, master: str | None, ui: bool = False, metrics: str | None = None, as_json: bool
) -> int:  # fmt: skip
    """Run a job file to its end, or until it is stopped."""
    check_master(master)
    if metrics is not None:
        address_of(metrics)
    job = load_job(path, reads=True, writes=True)
    if check and "kafka" not in job.formats:
        return _checked(job, [], as_json)
    from weft.spark import jobs

    log = log_file("run")
    console = err()
    try:
        with console.status("starting Spark ...") if not as_json else _nothing():
            conf = jobs.with_packages(job.conf, job.formats)
            spark = jobs.quiet_session(
                f"weft {path.name}", master=master or job.master, state=job.state, conf=conf, log=log
            )
            with blaming(job):
                seen = _topics(spark, job, values=check)
            built = _built(spark, job, None if check else job.state)
            if check:
                spark.stop()
                return _checked(job, seen, as_json)
            exporter = prometheus(spark, metrics) if metrics is not None else None
            with blaming(job):
                origin = jobs.belongs(spark, job.checkpoint, job.state, built.spec)
        if not as_json:
            console.print(Text(f"{path.name}: {origin}"), soft_wrap=True)
            if exporter is not None:
                console.print(Text(str(exporter)), soft_wrap=True)
        with blaming(job):
            query = jobs.start(
                built, format=job.sink.format, options=job.sink.options, mode=job.sink.mode,
                partition_by=job.sink.partition_by, checkpoint=job.checkpoint, trigger=job.trigger, name=path.stem,
                value=job.sink.value, key=job.sink.key,
            )  # fmt: skip
        title = f"{job.on}   {job.window}"
        with (
            shown_beside(job.state, wanted=ui, quiet=as_json),
            Screen(title, as_json=as_json, one_stream=job.right is None) as screen,
        ):
            summary = watch(query, job.state, screen)
    except WeftError as error:
        if not as_json and exit_code(error) == 1:
            console.print(Text(f"Spark's log: {log}", style="dim"), soft_wrap=True)
        raise
    _finish(summary, job, str(query.id), as_json)
    if exporter is not None:
        exporter.stop()
    spark.stop()
    return 0


def watch(
    query: Any, state: str, screen: Screen, enough: Callable[[int], bool] = lambda _: False, note: str = ""
) -> Summary:
    """Show a query's batches until it ends, is stopped by Ctrl-C, or says `enough` to the rows it has read."""
    from weft.spark import jobs

    folder = open_folder(state) / str(query.id)
    with on_stop() as stopped:
        screen.say(note or "Ctrl-C stops the query; the same command continues from there")

        def stop(read: int) -> bool:
            if stopped():
                screen.say("stopping ...")
            return stopped() or enough(read)

        for progress in jobs.follow(query, stop):
            metrics = read_batch(folder, progress.batch)
            screen.add(BatchReport.of(progress.batch, progress.seconds, progress.read, metrics, progress.pairs))
    screen.summary.state_files, screen.summary.state_bytes = disk_use(folder)
    if not screen.summary.batches:  # nothing new: what is held is what earlier runs left
        screen.summary.state_rows = query_line(folder, str(query.id)).rows
    return screen.summary


def _finish(summary: Summary, job: CheckedJob, query: str, as_json: bool) -> None:
    if as_json:
        print_json({"summary": summary.to_dict(), "query": query, "state": job.state}, indent=None)
        return
    console = out()
    console.print()
    table = summary_table(summary, one_stream=job.right is None)
    written = job.sink.options.get("path") or job.sink.options.get("topic")
    if written:
        table.add_row("written to", written)
    table.add_row("look inside", f"weft state show {job.state}/{query[:8]}")
    console.print(table)


def _topics(spark: Any, job: CheckedJob, *, values: bool) -> list[str]:
    """Look at the topics of a job: that they are there and, with `values`, that the schemas read what they hold."""
    from weft.spark import jobs

    seen: list[str] = []
    for name, part in job.sources.items():
        if part.format.lower() == "kafka":
            schema = part.schema if values else None
            seen += map(str, jobs.look_at_source(spark, part.options, part.value, schema, name))
    topic = job.sink.options.get("topic")
    if topic and job.sink.format.lower() == "kafka" and values:
        found = jobs.look_at_topic(spark, job.sink.options, topic, "sink")
        seen.append(str(found) if found else f"topic {topic}: not there yet; the broker must be allowed to create it")
    return seen


def _checked(job: CheckedJob, seen: list[str], as_json: bool) -> int:
    if as_json:
        print_json({"job": str(job.path), "ok": True, **({"topics": seen} if seen else {})})
        return 0
    for line in seen:
        out().print(Text(line), soft_wrap=True)
    without = "" if seen else " that can be found without Spark"
    out().print(Text(f"{job.path} has no mistakes{without}.", style="green"))
    return 0


def explain_job(path: Path, *, master: str | None, as_json: bool) -> int:
    """Explain a job's join; Spark only analyzes, nothing is read or written."""
    check_master(master)
    job = load_job(path, reads=True)
    from weft.spark import jobs

    with err().status("starting Spark to analyze the condition ...") if not as_json else _nothing():
        spark = jobs.quiet_session(
            "weft explain", master=master or job.master, state=None, conf=jobs.with_packages(job.conf, job.formats),
            log=log_file("explain"),
        )  # fmt: skip
        explanation = jobs.explained_join(_built(spark, job, None))
    if as_json:
        print_json(explanation.to_dict())
    else:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for name, text in explanation.parts:
            table.add_row(name, Text(text))
        out().print(table, soft_wrap=False)
    spark.stop()
    return 0


def _built(spark: Any, job: CheckedJob, state: str | None) -> jobs.Built:
    from weft.spark import jobs

    asked = jobs.JoinOptions(
        job.on,
        job.window,
        job.scheme,
        job.index,
        job.tasks,
        job.select,
        job.suffix,
        state,
        unordered=job.unordered,
        kind=kind_named(job.how),
        pair_id=job.pair_id,
    )
    with blaming(job):
        left = jobs.read_stream(spark, job.left, "left" if job.right else "stream")
        right = jobs.read_stream(spark, job.right, "right") if job.right else None
        return jobs.joined(left, right, asked)


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


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
    moved = "" if event is None else f"{event.rows:,} rows moved in {event.seconds:.2f} s, {event.files:,} files opened"
    done = [] if event is None else [f"{event.change}, {moved}"]
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
