"""The commands and how they are called; each one's work is in its own module, imported when it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.output import complain, err, exit_code
from weft.errors import WeftError

__all__ = ["app", "main"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="weft", no_args_is_help=True, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False,
    context_settings=_SETTINGS, help="Exact joins between Spark streams: inequality, band, equality, over any window.",
    epilog="New here? [bold]weft doctor[/bold], [bold]weft warm[/bold], then [bold]weft demo[/bold].\n\n"
    "Exit codes: 0 done, 1 it failed or something is damaged, 2 the request is at fault, 130 stopped.",
)  # fmt: skip
state_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=_SETTINGS,
    help="Look into the state folder of queries, and clear it.",
)
bench_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", context_settings=_SETTINGS,
    help="Measure, each beside its peers. Nothing else should be running.",
)  # fmt: skip
app.add_typer(state_app, name="state")
app.add_typer(bench_app, name="bench")

AsJson = Annotated[bool, typer.Option("--json", help="Print data for programs.")]
JobFile = Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.", show_default=False)]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs, such as local[4] or spark://host:7077.", show_default=False)
]


def _examples(*lines: str) -> str:
    return "\n\n".join(
        ["[bold]Examples[/bold]", *(f"  [cyan]{line.replace('[', chr(92) + '[')}[/cyan]" for line in lines)]
    )


def guarded(command: Callable[..., int | None]) -> Callable[..., None]:
    """Turn what a command returns into the exit code, and a WeftError into three lines instead of a traceback."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            code = command(**options)
        except WeftError as error:
            complain(error, as_json=bool(options.get("as_json")))
            raise typer.Exit(exit_code(error)) from None
        except KeyboardInterrupt:
            err().print("stopped")
            raise typer.Exit(130) from None
        raise typer.Exit(code or 0)

    return run


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


@app.command(epilog=_examples("weft demo", "weft demo --seconds 20 --rate 5000", "weft demo --json"))
@guarded
def demo(
    seconds: Annotated[int, typer.Option(min=5, help="How long the sensors send.")] = 60,
    rate: Annotated[int, typer.Option(min=40, help="Rows per second and side.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another day at the plant.")] = 7,
    out: Annotated[Path, typer.Option(help="Folder for data, pairs and plot; emptied first.")] = Path("demo-out"),
    as_json: AsJson = False,
) -> int:
    """Join two live sensor streams of a power plant on local Spark, plot the alarms, let DuckDB confirm the count."""
    from weft.cli.demo import run_demo

    return run_demo(seconds=seconds, rate=rate, seed=seed, out=out, as_json=as_json)


@app.command(epilog=_examples("weft run job.toml", "weft run job.toml --check", "weft run job.toml --json | jq .pairs"))
@guarded
def run(
    job: JobFile,
    check: Annotated[bool, typer.Option("--check", help="Only check the job file; Spark is not started.")] = False,
    master: Master = None,
    as_json: AsJson = False,
) -> int:
    """Run a job: two sources, a join, a sink, with progress per batch. Ctrl-C stops it; run it again and it goes on.

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
    from weft.cli.run import run_job

    return run_job(job, check=check, master=master, as_json=as_json)


@app.command(
    epilog=_examples("weft explain job.toml", "weft explain job.toml --master local[8]", "weft explain job.toml --json")
)
@guarded
def explain(job: JobFile, master: Master = None, as_json: AsJson = False) -> int:
    """Tell how a job would join: scheme, index, what is replicated, how large the state can grow."""
    from weft.cli.run import explain_job

    return explain_job(job, master=master, as_json=as_json)


@app.command(
    epilog=_examples(
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
    """Check Python, Java, PySpark, Numba, memory and disk here; with --master on the executors too."""
    from weft.cli.doctor import run_doctor

    return run_doctor(master=master, state=state, as_json=as_json)


@app.command(epilog=_examples("weft warm", "weft warm --json"))
@guarded
def warm(as_json: AsJson = False) -> int:
    """Compile all kernels, once per installation and machine: else the first joins do, for up to half a minute."""
    from weft.cli.warm import run_warm

    return run_warm(as_json=as_json)


@state_app.command("ls", epilog=_examples("weft state ls /var/weft", "weft state ls hdfs:///weft --json"))
@guarded
def state_ls(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The state= of the joins.", show_default=False)],
    as_json: AsJson = False,
) -> int:
    """List the queries under a state path."""
    from weft.cli.state import list_state

    return list_state(path, as_json=as_json)


@state_app.command(
    "show", epilog=_examples("weft state show /var/weft/3f2a", "weft state show /var/weft/3f2a --batch 41 --json")
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
    """Show what a query holds, task by task, and which batch is the last good one. Exit code 1 if a file is damaged."""
    from weft.cli.state import show_state

    return show_state(path, batch=batch, verify=verify, as_json=as_json)


@state_app.command(
    "rm",
    epilog=_examples("weft state rm /var/weft 3f2a --dry-run", "weft state rm /var/weft --stale --yes --json"),
)
@guarded
def state_rm(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The state= of the joins.", show_default=False)],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The start of a query's id.", show_default=False)
    ] = None,
    stale: Annotated[bool, typer.Option("--stale", help="All queries whose checkpoint is gone or unknown.")] = False,
    idle: Annotated[int, typer.Option(min=0, help="With --stale: only what was not written for so many minutes.")] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> int:
    """Remove the state of a query, all its joins, or of all queries that no checkpoint can go on from. Asks first."""
    from weft.cli.remove import remove_state

    return remove_state(path, query, stale=stale, idle=idle, dry_run=dry_run, yes=yes, as_json=as_json)


@bench_app.command(
    "kernel", epilog=_examples("weft bench kernel", "weft bench kernel --windows 20 --batches 12,16 --json")
)
@guarded
def bench_kernel(
    windows: Annotated[str, typer.Option(help="log2 of the windows.")] = "16,20,23",
    batches: Annotated[str, typer.Option(help="log2 of the batches.")] = "10,12,14,16,18",
    as_json: AsJson = False,
) -> int:
    """Band join of the default index, one core: million tuples per second."""
    from weft.cli.bench import run_kernel

    return run_kernel(windows, batches, as_json=as_json)


@bench_app.command("spark", epilog=_examples("weft bench spark", "weft bench spark --rows 100000 --batches 5 --json"))
@guarded
def bench_spark(
    rows: Annotated[str, typer.Option(help="Rows per batch, both sides together.")] = "1000000,4000000",
    window: Annotated[int, typer.Option(help="Window in rows per side.")] = 1 << 20,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after the window is full.")] = 5,
    native_rows: Annotated[int, typer.Option(help="Rows per batch for Spark's own join; 0 leaves it out.")] = 1_000_000,
    as_json: AsJson = False,
) -> int:
    """Band join of two Parquet streams beside a pass-through and beside Spark's own join on buckets: rows per second."""
    from weft.cli.bench import run_spark

    return run_spark(rows, window, batches, native_rows, as_json=as_json)


@bench_app.command("sta", epilog=_examples("weft bench sta", "weft bench sta --query 4 --z 1.5 --json"))
@guarded
def bench_sta(
    query: Annotated[str, typer.Option(help="Queries of the STA paper: 2, 3, 4.")] = "2,3,4",
    z: Annotated[str, typer.Option(help="Skews of the keys, by Zipf's law.")] = "1,1.5,2",
    rows: Annotated[int, typer.Option(min=1000, help="Rows per batch, both streams together.")] = 400_000,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many rows the window reaches; by default 15, for query 3 60.", show_default=False
        ),
    ] = None,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches.")] = 8,
    as_json: AsJson = False,
) -> int:
    """Inequality joins on Spark with a count per window: `auto` beside BCHJ, SJ, CI, MCI, PIM and STA, rows per second."""
    from weft.cli.bench import run_sta

    return run_sta(query, z, rows, window, batches, as_json=as_json)


@bench_app.command("skew", epilog=_examples("weft bench skew", "weft bench skew --parts migration --json"))
@guarded
def bench_skew(
    parts: Annotated[str, typer.Option(help="Some of: both, one, migration; all by default.")] = "",
    rows: Annotated[int, typer.Option(min=1000, help="Rows per batch, both sides together.")] = 200_000,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, behind the warm-up.")] = 4,
    as_json: AsJson = False,
) -> int:
    """Equi join on Spark with even and with skewed keys: throughput, cost of watching, cost of a migration."""
    from weft.cli.bench import run_skew

    return run_skew(parts, rows, batches, as_json=as_json)


@bench_app.command("drift", epilog=_examples("weft bench drift", "weft bench drift --case drifting --json"))
@guarded
def bench_drift(
    case: Annotated[str, typer.Option(help="drifting, still, or both.")] = "both",
    batches: Annotated[int, typer.Option(min=7, help="Batches; the first five do not count.")] = 12,
    tasks: Annotated[int, typer.Option(min=2, help="Join tasks.")] = 8,
    as_json: AsJson = False,
) -> int:
    """Band join on Spark while keys drift, and while they lie still: A-DSP and auto beside key ranges cut once."""
    from weft.cli.bench import run_drift

    return run_drift(case, batches, tasks, as_json=as_json)


@bench_app.command("inequality", epilog=_examples("weft bench inequality", "weft bench inequality --rows 20000 --json"))
@guarded
def bench_inequality(
    rows: Annotated[int, typer.Option(min=10, help="Rows per side.")] = 100_000,
    repeat: Annotated[int, typer.Option(min=1, help="Best of how many.")] = 3,
    as_json: AsJson = False,
) -> int:
    """Two inequalities on two tables, beside DuckDB and Polars: seconds."""
    from weft.cli.bench import run_inequality

    return run_inequality(rows, repeat, as_json=as_json)


@bench_app.command(
    "documents", epilog=_examples("weft bench documents", "weft bench documents --rows 200000 --windows 100 --json")
)
@guarded
def bench_documents(
    rows: Annotated[int, typer.Option(min=100, help="Documents per batch.")] = 400_000,
    windows: Annotated[str, typer.Option(help="Tumbling windows in documents.")] = "100,1000",
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after three that do not count.")] = 3,
    scheme: Annotated[str, typer.Option(help="auto, association, disjoint, set-cover or everywhere.")] = "auto",
    as_json: AsJson = False,
) -> int:
    """Natural join of log documents on local[2], from JSON text to joined documents, beside a null join: documents/s."""
    from weft.cli.bench import run_documents

    return run_documents(rows, windows, batches, scheme, as_json=as_json)


@bench_app.command(
    "paper", epilog=_examples("weft bench paper pim", "weft bench paper pim --figure 9a --scale 0.2 --json")
)
@guarded
def bench_paper(
    system: Annotated[str, typer.Argument(help="pim, fastjoin, adsp, sta or json.")],
    figure: Annotated[str, typer.Option(help="Only these figures, by the names of --list.")] = "",
    scale: Annotated[float, typer.Option(min=0.001, help="Size of the experiments; 1 takes some minutes.")] = 1.0,
    folder: Annotated[str, typer.Option("--out", help="Where the HTML page goes.")] = "weft-papers",
    listing: Annotated[bool, typer.Option("--list", help="Name the figures and stop.")] = False,
    as_json: AsJson = False,
) -> int:
    """Figures of one of the papers, measured here: claim, table, chart, and whether the shape holds."""
    from weft.cli.papers import run_paper

    return run_paper(system, figure, scale, folder, listing=listing, as_json=as_json)


def main() -> None:
    """Run the command line."""
    app()
