"""The commands and how they are called; each one's work is in its own module, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.output import SETTINGS, AsJson, examples, guarded

__all__ = ["app", "main"]

app = typer.Typer(
    name="weft", no_args_is_help=True, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False,
    context_settings=SETTINGS, help="Exact joins between Spark streams: inequality, band, equality, over any window.",
    epilog="New here? [bold]weft doctor[/bold], [bold]weft warm[/bold], then [bold]weft demo[/bold].\n\n"
    "Exit codes: 0 success, 1 failure or damaged state, 2 invalid request, 130 stopped.",
)  # fmt: skip
state_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=SETTINGS,
    help="Inspect, plot or remove the state of queries, or take a query back to an older batch.",
)
app.add_typer(state_app, name="state")

JobFile = Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.", show_default=False)]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs, such as local[4] or spark://host:7077.", show_default=False)
]


WithUi = Annotated[bool, typer.Option("--ui", help="Serve pages about it while it runs (needs weft[ui]).")]


def _version(wanted: bool) -> None:
    if wanted:
        from weft import __version__

        typer.echo(f"weft {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Exact joins between Spark streams: inequality, band, equality, over any window."""


@app.command(epilog=examples("weft demo", "weft demo --seconds 20 --rate 5000", "weft demo --kafka localhost:9092"))
@guarded
def demo(
    seconds: Annotated[int, typer.Option(min=5, help="How long the sensors send data.")] = 60,
    rate: Annotated[int, typer.Option(min=40, help="Rows per second and side.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another day at the plant.")] = 7,
    out: Annotated[Path, typer.Option(help="Folder for data, pairs and plot; emptied first.")] = Path("demo-out"),
    ui: WithUi = False,
    kafka: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Send rows and alarms through this broker.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Join two live sensor streams of a power plant on local Spark, plot the alarms, and let DuckDB confirm the count."""
    from weft.cli.demo import run_demo

    return run_demo(seconds=seconds, rate=rate, seed=seed, out=out, kafka=kafka, ui=ui, as_json=as_json)


@app.command(epilog=examples("weft run job.toml", "weft run job.toml --check", "weft run job.toml --json | jq .pairs"))
@guarded
def run(
    job: JobFile,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the job; Spark starts only to look at topics.")
    ] = False,
    master: Master = None,
    ui: WithUi = False,
    metrics: Annotated[
        str | None,
        typer.Option(help="Serve metrics for Prometheus, such as :9095 (needs weft[metrics]).", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run a job: two sources, a join, a sink, with progress per batch. Ctrl-C stops it; run it again to continue.

    \b
    checkpoint = "out/checkpoint"
    \\[left]                               # and \\[right]; or \\[stream] alone
    format = "parquet"
    path = "data/left"
    schema = "id long, ts timestamp, v1 double, i1 double"
    \\[join]
    on = "l.v1 > r.v2 AND l.i1 < r.i2"   # a and b for \\[stream]
    window = { kind = "within", span = "10 s", on = "ts", delay = "5 s" }
    state = "out/state"
    \\[sink]
    format = "parquet"
    path = "out/pairs"
    \\[trigger]
    available_now = true                 # or processing_time = "5 seconds"
    """  # noqa: D301
    from weft.cli.run_job import run_job

    return run_job(job, check=check, master=master, ui=ui, metrics=metrics, as_json=as_json)


@app.command(
    epilog=examples(
        "weft new",
        "weft new job.toml --left trades --right quotes --on 'l.price >= r.ask' --within '5 seconds' --delay '10 seconds'",
        "weft new --schema > weft-job.schema.json",
    )
)
@guarded
def new(
    job: Annotated[Path, typer.Argument(metavar="[JOB.toml]", help="The file to write.")] = Path("job.toml"),
    left: Annotated[str | None, typer.Option(help="Folder of the left stream.", show_default=False)] = None,
    right: Annotated[str | None, typer.Option(help="Folder of the right stream.", show_default=False)] = None,
    stream: Annotated[
        str | None, typer.Option(help="Folder of the one stream of a self join.", show_default=False)
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="The condition: SQL over l and r, or a and b with --stream.", show_default=False)
    ] = None,
    how: Annotated[
        str, typer.Option(help="The kind of join: inner, left, right, full, left_semi, left_anti.")
    ] = "inner",
    time: Annotated[
        str | None, typer.Option(help="The time column; left,right if the names differ.", show_default=False)
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="How far apart the two rows may be, such as '10 seconds'.", show_default=False)
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="How late a row may arrive, such as '5 seconds'.", show_default=False)
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(min=1, help="Instead of --within: the last rows of the other stream.", show_default=False),
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for result, checkpoint and state.")] = "out",
    live: Annotated[bool, typer.Option("--live", help="Keep running, a batch every 5 seconds.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of job files, for editors.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write a job file for two folders of Parquet, CSV or JSON files. Asks for what no option gives, and checks the result."""
    from weft.cli.new_job import NewJob, print_schema, write_job

    if schema:
        return print_schema()
    asked = NewJob(left, right, stream, on, how, within, delay, time, last, out, live)
    return write_job(job, asked, force=force, as_json=as_json)


@app.command(
    epilog=examples("weft explain job.toml", "weft explain job.toml --master local[8]", "weft explain job.toml --json")
)
@guarded
def explain(job: JobFile, master: Master = None, as_json: AsJson = False) -> int:
    """Show how a job would join: scheme, index, replication, bound on the state."""
    from weft.cli.run_job import explain_job

    return explain_job(job, master=master, as_json=as_json)


@app.command(
    epilog=examples(
        "weft doctor",
        "weft doctor --state file:///var/weft",
        "weft doctor --master spark://host:7077 --state hdfs:///weft",
    )
)
@guarded
def doctor(
    master: Master = None,
    state: Annotated[str | None, typer.Option(help="A state path that must be writable.", show_default=False)] = None,
    as_json: AsJson = False,
) -> int:
    """Check Python, Java, PySpark, Numba, memory and disk here and, with --master, on the executors."""
    from weft.cli.doctor import run_doctor

    return run_doctor(master=master, state=state, as_json=as_json)


@app.command(epilog=examples("weft warm", "weft warm --json"))
@guarded
def warm(as_json: AsJson = False) -> int:
    """Compile all kernels, once per installation and machine; otherwise the first joins do, for up to half a minute."""
    from weft.cli.warm import run_warm

    return run_warm(as_json=as_json)


@app.command(
    epilog=examples(
        "weft ui /var/weft",
        "weft ui s3://bucket/weft hdfs:///weft",
        "WEFT_UI_TOKEN=... weft ui /var/weft --host 0.0.0.0",
    )
)
@guarded
def ui(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="State paths of joins.", show_default=False)],
    host: Annotated[
        str, typer.Option(help="The address to listen at; any but a loopback one needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 4141,
    token: Annotated[
        str | None,
        typer.Option(envvar="WEFT_UI_TOKEN", help="What a browser must know to see the pages.", show_default=False),
    ] = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks at the state.")] = 1.0,
    as_json: AsJson = False,
) -> int:
    """Watch joins in a browser: rates, load per task, hot keys, plans and why they changed. Read-only; needs weft[ui]."""
    from weft.cli.ui import run_ui

    return run_ui(paths, host=host, port=port, token=token, every=every, as_json=as_json)


@state_app.command("ls", epilog=examples("weft state ls /var/weft", "weft state ls hdfs:///weft --json"))
@guarded
def state_ls(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The state= of the joins.", show_default=False)],
    as_json: AsJson = False,
) -> int:
    """List the queries under a state path."""
    from weft.cli.state import list_state

    return list_state(path, as_json=as_json)


@state_app.command(
    "show", epilog=examples("weft state show /var/weft/3f2a", "weft state show /var/weft/3f2a --batch 41 --json")
)
@guarded
def state_show(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH[/QUERY]", help="A state path and the start of a query's id.", show_default=False),
    ],
    batch: Annotated[
        int | None, typer.Option(help="Which batch; the last good one by default.", show_default=False)
    ] = None,
    verify: Annotated[bool, typer.Option(help="Read every segment and compare its checksum.")] = True,
    as_json: AsJson = False,
) -> int:
    """Show the state of a query, task by task, and its last good batch. Exit code 1 if a file is damaged."""
    from weft.cli.state import show_state

    return show_state(path, batch=batch, verify=verify, as_json=as_json)


@state_app.command(
    "plot", epilog=examples("weft state plot /var/weft/3f2a", "weft state plot s3://bucket/weft --out monday.html")
)
@guarded
def state_plot(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH[/QUERY]", help="A state path and the start of a query's id.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("weft.html"),
    as_json: AsJson = False,
) -> int:
    """Write the pages of `weft ui` into one HTML file that needs no server and no network."""
    from weft.cli.ui import plot_state

    return plot_state(path, file=out, as_json=as_json)


@state_app.command(
    "rm",
    epilog=examples("weft state rm /var/weft 3f2a --dry-run", "weft state rm /var/weft --stale --yes --json"),
)
@guarded
def state_rm(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The state= of the joins.", show_default=False)],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The start of a query's id.", show_default=False)
    ] = None,
    stale: Annotated[bool, typer.Option("--stale", help="All queries whose checkpoint is gone or unknown.")] = False,
    idle: Annotated[
        int, typer.Option(min=0, help="With --stale: only queries that wrote nothing for this many minutes.")
    ] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> int:
    """Remove the state of one query with all its joins, or of all queries that no checkpoint can continue from. Asks first."""
    from weft.cli.state import remove_state

    return remove_state(path, query, stale=stale, idle=idle, dry_run=dry_run, yes=yes, as_json=as_json)


@state_app.command(
    "rollback",
    epilog=examples("weft state rollback /var/weft 3f2a --dry-run", "weft state rollback /var/weft 3f2a --to 41"),
)
@guarded
def state_rollback(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The state= of the joins.", show_default=False)],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The start of a query's id.", show_default=False)],
    to: Annotated[
        int | None,
        typer.Option(help="The last batch that stays; by default the last one that is whole.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="The checkpoint, if it is not where the query noted it.", show_default=False)
    ] = None,
    sink: Annotated[
        str | None, typer.Option(help="The folder of a file sink, if the query has not noted it.", show_default=False)
    ] = None,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="The sink takes batch numbers again that it has seen.")
    ] = False,
    idle: Annotated[int, typer.Option(min=0, help="Refuse if the query wrote within this many minutes.")] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> int:
    """Take a stopped query back to an older batch: state, checkpoint and the log of a file sink. Keeps a copy; asks first."""
    from weft.cli.rollback import rollback_state

    return rollback_state(
        path, query, to=to, checkpoint=checkpoint, sink=sink, repeats=repeats, idle=idle, dry_run=dry_run, yes=yes,
        as_json=as_json,
    )  # fmt: skip


def main() -> None:
    """Run the command line."""
    app()
