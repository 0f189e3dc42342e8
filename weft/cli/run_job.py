"""`weft run` and `weft explain`: a checked job, a session, the query, its progress, a summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from weft.cli.job import CheckedJob, blaming, load_job
from weft.cli.live import Screen, summary_table
from weft.cli.output import check_master, err, exit_code, log_file, on_stop, out, print_json
from weft.errors import WeftError
from weft.observe import BatchReport, Summary, disk_use, query_line, read_batch
from weft.spec import kind_named
from weft.state import open_folder

if TYPE_CHECKING:
    from weft.spark import jobs

__all__ = ["explain_job", "run_job", "watch"]


def run_job(path: Path, *, check: bool, master: str | None, as_json: bool) -> int:
    """Run a job file to its end, or until it is stopped."""
    check_master(master)
    job = load_job(path, reads=True, writes=True)
    if check:
        return _checked(job, as_json)
    from weft.spark import jobs

    log = log_file("run")
    console = err()
    try:
        with console.status("starting Spark ...") if not as_json else _nothing():
            spark = jobs.quiet_session(
                f"weft {path.name}", master=master or job.master, state=job.state, conf=job.conf, log=log
            )
            built = _built(spark, job, job.state)
            with blaming(job):
                origin = jobs.belongs(spark, job.checkpoint, job.state, built.spec)
        if not as_json:
            console.print(Text(f"{path.name}: {origin}"), soft_wrap=True)
        with blaming(job):
            query = jobs.start(
                built, format=job.sink.format, options=job.sink.options, mode=job.sink.mode,
                partition_by=job.sink.partition_by, checkpoint=job.checkpoint, trigger=job.trigger, name=path.stem,
            )  # fmt: skip
        title = f"{job.on}   {job.window}"
        with Screen(title, as_json=as_json, one_stream=job.right is None) as screen:
            summary = watch(query, job.state, screen)
    except WeftError as error:
        if not as_json and exit_code(error) == 1:
            console.print(Text(f"Spark's log: {log}", style="dim"), soft_wrap=True)
        raise
    _finish(summary, job, str(query.id), as_json)
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
    if job.sink.options.get("path"):
        table.add_row("written to", job.sink.options["path"])
    table.add_row("look inside", f"weft state show {job.state}/{query[:8]}")
    console.print(table)


def _checked(job: CheckedJob, as_json: bool) -> int:
    if as_json:
        print_json({"job": str(job.path), "ok": True})
    else:
        out().print(Text(f"{job.path} has no mistakes that can be found without Spark.", style="green"))
    return 0


def explain_job(path: Path, *, master: str | None, as_json: bool) -> int:
    """Explain a job's join; Spark only analyzes, nothing is read or written."""
    check_master(master)
    job = load_job(path, reads=True)
    from weft.spark import jobs

    with err().status("starting Spark to analyze the condition ...") if not as_json else _nothing():
        spark = jobs.quiet_session(
            "weft explain", master=master or job.master, state=None, conf=job.conf, log=log_file("explain")
        )
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
    )
    with blaming(job):
        left = jobs.read_stream(spark, job.left, "left" if job.right else "stream")
        right = jobs.read_stream(spark, job.right, "right") if job.right else None
        return jobs.joined(left, right, asked)


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()
