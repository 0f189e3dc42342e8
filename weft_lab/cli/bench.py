"""`weft-lab bench`: the benchmarks and their options; what they print is in `weft_lab.cli.tables`."""

from __future__ import annotations

from typing import Annotated

import typer

from weft.cli.output import SETTINGS, AsJson, examples, guarded

__all__ = ["bench_app"]

bench_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", context_settings=SETTINGS,
    help="Run a benchmark against its peers. Nothing else should be running.",
)  # fmt: skip


@bench_app.command(
    "kernel", epilog=examples("weft-lab bench kernel", "weft-lab bench kernel --windows 20 --batches 12,16 --json")
)
@guarded
def kernel(
    windows: Annotated[str, typer.Option(help="log2 of the windows.")] = "16,20,23",
    batches: Annotated[str, typer.Option(help="log2 of the batches.")] = "10,12,14,16,18",
    as_json: AsJson = False,
) -> int:
    """Band join of the default index, one core: million tuples per second."""
    from weft_lab.cli.tables import run_kernel

    return run_kernel(windows, batches, as_json=as_json)


@bench_app.command(
    "spark", epilog=examples("weft-lab bench spark", "weft-lab bench spark --rows 100000 --batches 5 --json")
)
@guarded
def spark(
    rows: Annotated[str, typer.Option(help="Rows per batch, both sides together.")] = "1000000,4000000",
    window: Annotated[int, typer.Option(help="Window in rows per side.")] = 1 << 20,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after the window is full.")] = 5,
    native_rows: Annotated[int, typer.Option(help="Rows per batch for Spark's own join; 0 leaves it out.")] = 1_000_000,
    as_json: AsJson = False,
) -> int:
    """Band join of two Parquet streams, compared with a pass-through and Spark's own join on buckets: rows per second."""
    from weft_lab.cli.tables import run_spark

    return run_spark(rows, window, batches, native_rows, as_json=as_json)


@bench_app.command(
    "table", epilog=examples("weft-lab bench table", "weft-lab bench table --rows 100000 --ranges 1000 --json")
)
@guarded
def table(
    rows: Annotated[int, typer.Option(min=10, help="Rows per batch of the stream.")] = 4_000_000,
    ranges: Annotated[int, typer.Option(min=2, help="Ranges of the table.")] = 1_000_000,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after two warm-up batches.")] = 5,
    native_rows: Annotated[int, typer.Option(help="Rows per batch for Spark's own join; 0 leaves it out.")] = 20_000,
    as_json: AsJson = False,
) -> int:
    """Stream looked up in a table of ranges, compared with a pass-through and Spark's own join: rows per second."""
    from weft_lab.cli.tables import run_table

    return run_table(rows, ranges, batches, native_rows, as_json=as_json)


@bench_app.command(
    "tasks", epilog=examples("weft-lab bench tasks", "weft-lab bench tasks --tasks 512 --partitions 1 --json")
)
@guarded
def tasks(
    tasks: Annotated[str, typer.Option(help="Numbers of tasks.")] = "2,8,32,128",
    partitions: Annotated[str, typer.Option(help="Map partitions of each side, over eight tasks.")] = "1,4,16",
    rows: Annotated[int, typer.Option(min=100, help="Rows per batch and side.")] = 20_000,
    batches: Annotated[int, typer.Option(min=6, help="Measured batches, after the window is full.")] = 9,
    timed: Annotated[bool, typer.Option(help="Measure times on Spark as well as counts.")] = True,
    as_json: AsJson = False,
) -> int:
    """Cost of a batch over many tasks, quiet and while 10 % of the state moves: requests, and seconds beside a null join."""
    from weft_lab.cli.tables import run_tasks

    return run_tasks(tasks, partitions, rows, batches, timed=timed, as_json=as_json)


@bench_app.command("kinds", epilog=examples("weft-lab bench kinds", "weft-lab bench kinds --kinds inner,left --json"))
@guarded
def kinds(
    kinds: Annotated[str, typer.Option(help="Kinds of joins; the first is what the others are compared with.")] = (
        "inner,left,full,left_semi,left_anti"
    ),
    rows: Annotated[int, typer.Option(min=10, help="Rows per batch, both sides together.")] = 1_000_000,
    window: Annotated[int, typer.Option(min=10, help="Window in rows per side.")] = 1 << 18,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after the window is full.")] = 4,
    rounds: Annotated[int, typer.Option(min=1, help="How often each kind runs.")] = 3,
    as_json: AsJson = False,
) -> int:
    """Outer, semi and anti joins of two Parquet streams, compared with the inner join: seconds per batch."""
    from weft_lab.cli.tables import run_kinds

    return run_kinds(rows, window, batches, rounds, kinds, as_json=as_json)


@bench_app.command("sta", epilog=examples("weft-lab bench sta", "weft-lab bench sta --query 4 --z 1.5 --json"))
@guarded
def sta(
    query: Annotated[str, typer.Option(help="Queries of the STA paper: 2, 3, 4.")] = "2,3,4",
    z: Annotated[str, typer.Option(help="Zipf exponents of the keys.")] = "1,1.5,2",
    rows: Annotated[int, typer.Option(min=1000, help="Rows per batch, both streams together.")] = 400_000,
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Length of the window in rows; by default 15, or 60 for query 3.", show_default=False),
    ] = None,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches.")] = 8,
    as_json: AsJson = False,
) -> int:
    """Inequality joins on Spark with a count per window: `auto` compared with BCHJ, SJ, CI, MCI, PIM and STA, rows per second."""
    from weft_lab.cli.tables import run_sta

    return run_sta(query, z, rows, window, batches, as_json=as_json)


@bench_app.command("skew", epilog=examples("weft-lab bench skew", "weft-lab bench skew --parts migration --json"))
@guarded
def skew(
    parts: Annotated[str, typer.Option(help="Some of: both, one, migration; all by default.")] = "",
    rows: Annotated[int, typer.Option(min=1000, help="Rows per batch, both sides together.")] = 200_000,
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after the warm-up.")] = 4,
    as_json: AsJson = False,
) -> int:
    """Equi-join on Spark with uniform and skewed keys: throughput, cost of watching, cost of a migration."""
    from weft_lab.cli.tables import run_skew

    return run_skew(parts, rows, batches, as_json=as_json)


@bench_app.command("drift", epilog=examples("weft-lab bench drift", "weft-lab bench drift --case drifting --json"))
@guarded
def drift(
    case: Annotated[str, typer.Option(help="drifting, still, or both.")] = "both",
    batches: Annotated[int, typer.Option(min=7, help="Batches; the first five do not count.")] = 12,
    tasks: Annotated[int, typer.Option(min=2, help="Join tasks.")] = 8,
    as_json: AsJson = False,
) -> int:
    """Band join on Spark with drifting and stationary keys: A-DSP and auto compared with fixed key ranges."""
    from weft_lab.cli.tables import run_drift

    return run_drift(case, batches, tasks, as_json=as_json)


@bench_app.command(
    "inequality", epilog=examples("weft-lab bench inequality", "weft-lab bench inequality --rows 20000 --json")
)
@guarded
def inequality(
    rows: Annotated[int, typer.Option(min=10, help="Rows per side.")] = 100_000,
    repeat: Annotated[int, typer.Option(min=1, help="Number of runs; the best counts.")] = 3,
    as_json: AsJson = False,
) -> int:
    """Two inequalities on two tables, compared with DuckDB and Polars: seconds."""
    from weft_lab.cli.tables import run_inequality

    return run_inequality(rows, repeat, as_json=as_json)


@bench_app.command(
    "bands", epilog=examples("weft-lab bench bands", "weft-lab bench bands --rows 50000 --cases abs,aircraft")
)
@guarded
def bands(
    rows: Annotated[int, typer.Option(min=1000, help="Rows per side.")] = 400_000,
    cases: Annotated[str, typer.Option(help="Which cases, with commas; by default all.")] = "",
    repeat: Annotated[int, typer.Option(min=1, help="Number of runs; the best counts.")] = 3,
    as_json: AsJson = False,
) -> int:
    """Two bands, and aircraft near each other, on one thread, compared with DuckDB and Polars: seconds."""
    from weft_lab.cli.tables import run_bands

    return run_bands(rows, cases, repeat, as_json=as_json)


@bench_app.command("asof", epilog=examples("weft-lab bench asof", "weft-lab bench asof --rows 200000 --json"))
@guarded
def asof(
    rows: Annotated[int, typer.Option(min=100, help="Rows per side.")] = 10_000_000,
    symbols: Annotated[int, typer.Option(min=1, help="Symbols.")] = 1000,
    repeat: Annotated[int, typer.Option(min=1, help="Number of runs; the best counts.")] = 3,
    as_json: AsJson = False,
) -> int:
    """As-of join of trades with quotes on one thread, compared with Polars and DuckDB: seconds."""
    from weft_lab.cli.tables import run_asof

    return run_asof(rows, symbols, repeat, as_json=as_json)


@bench_app.command(
    "documents",
    epilog=examples("weft-lab bench documents", "weft-lab bench documents --rows 200000 --windows 100 --json"),
)
@guarded
def documents(
    rows: Annotated[int, typer.Option(min=100, help="Documents per batch.")] = 400_000,
    windows: Annotated[str, typer.Option(help="Tumbling windows in documents.")] = "100,1000",
    batches: Annotated[int, typer.Option(min=1, help="Measured batches, after three warm-up batches.")] = 3,
    scheme: Annotated[str, typer.Option(help="auto, association, disjoint, set-cover or everywhere.")] = "auto",
    as_json: AsJson = False,
) -> int:
    """Natural join of log documents on local[2], from JSON text to joined documents, compared with a null join: documents/s."""
    from weft_lab.cli.tables import run_documents

    return run_documents(rows, windows, batches, scheme, as_json=as_json)
