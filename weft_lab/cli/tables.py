"""`weft-lab bench`: run a benchmark and print its table, or its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.table import Table
from rich.text import Text

from weft.cli.output import err, out, print_json
from weft.errors import SpecError, UnknownName, WeftError

__all__ = [
    "run_asof", "run_bands", "run_documents", "run_drift", "run_inequality", "run_kernel", "run_skew", "run_spark", "run_sta",
    "run_tasks",
]  # fmt: skip


def run_kernel(windows: str, batches: str, *, as_json: bool) -> int:
    """Measure the default index; windows and batches are logarithms."""
    from weft_lab.bench.kernel import run

    logs, steps = _numbers("--windows", windows, 30), _numbers("--batches", batches, 30)
    with _status("measuring, best of three each ...", as_json):
        rows = run(logs, steps)
    if as_json:
        print_json(rows)
        return 0
    table = _table("band join, count window, one core", "batch", *(f"window 2^{w}" for w in logs))
    speed = {(int(row["log2_window"]), int(row["log2_batch"])): row["mtuples_per_s"] for row in rows}
    for batch in steps:
        table.add_row(f"2^{batch}", *(f"{speed[window, batch]:.2f}" for window in logs))
    out().print(table)
    out().print(Text("million tuples per second, both streams together", style="dim"))
    return 0


def run_spark(rows: str, window: int, batches: int, native_rows: int, *, as_json: bool) -> int:
    """Measure the join on Spark, beside its peers."""
    from weft_lab.bench.spark import run

    sizes = _numbers("--rows", rows, 1 << 40)
    if min(sizes) < 10:
        raise SpecError.of(f"--rows is {rows!r}.", "A batch needs at least 10 rows.", "write --rows 1000000,4000000.")
    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(sizes, window, batches, native_rows, say)
    if as_json:
        print_json(results)
        return 0
    table = _table(
        f"band join of two Parquet streams, window {window:,} rows, 2 pairs per row",
        "",
        "rows per batch",
        "weft",
        "beside it",
        "ratio",
    )
    for one in results:
        table.add_row(*_line(one))
    out().print(table)
    return 0


def _line(one: dict[str, Any]) -> tuple[str, str, str, str, str]:
    rows = f"{one['rows']:,}"
    if one["case"] == "fixed cost":
        return (
            "fixed cost",
            rows,
            f"{one['weft_s']:.2f} s",
            f"null join {one['null_s']:.2f} s, with a shuffle {one['shuffled_s']:.2f} s",
            f"{one['weft_over_null']:.2f} x, {one['weft_over_shuffled']:.2f} x",
        )
    if "native_rows_per_s" in one:
        native = f"Spark's own join {one['native_rows_per_s']:,} rows/s"
        return "own join", rows, f"{one['weft_rows_per_s']:,} rows/s", native, f"{one['weft_over_native']:.1f} x"
    null = f"null join {one['null_rows_per_s']:,} rows/s, with a shuffle {one['shuffled_rows_per_s']:,}"
    ratio = f"{one['weft_over_null']:.2f} x, {one['weft_over_shuffled']:.2f} x"
    return "throughput", rows, f"{one['weft_rows_per_s']:,} rows/s", null, ratio


def run_table(rows: int, ranges: int, batches: int, native_rows: int, *, as_json: bool) -> int:
    """Measure a stream with a table of ranges, beside its peers."""
    from weft_lab.bench.table import run

    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(rows, ranges, batches, native_rows, say)
    if as_json:
        print_json(results)
        return 0
    table = _table(
        f"a stream and a table of {ranges:,} ranges", "", "how", "rows per batch", "weft", "beside it", "ratio"
    )
    for one in results:
        *_, ours, theirs, ratio = one.values()
        shown = "{:.3f} s" if one["case"] == "fixed cost" else "{:,} rows/s"
        table.add_row(
            one["case"], one["how"], f"{one['rows']:,}", shown.format(ours), shown.format(theirs), f"{ratio:.2f} x"
        )
    out().print(table)
    return 0


def run_kinds(rows: int, window: int, batches: int, rounds: int, kinds: str, *, as_json: bool) -> int:
    """Measure kinds of joins beside the inner one."""
    from weft.spec import kind_named
    from weft_lab.bench.kinds import run

    names = [kind_named(name.strip()).name for name in kinds.split(",")]
    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(rows, window, batches, rounds, names, say)
    if as_json:
        print_json(results)
        return 0
    title = f"band join on Spark, {rows:,} rows per batch, window {window:,} rows"
    table = _table(title, "kind", "rows out per row in", "seconds per batch", f"relative to {names[0]}")
    for one in results:
        table.add_row(one["kind"], f"{one['out_per_row']:.2f}", f"{one['seconds']:.2f}", f"{one['over_first']:.2f} x")
    out().print(table)
    return 0


def run_tasks(tasks: str, partitions: str, rows: int, batches: int, *, timed: bool, as_json: bool) -> int:
    """Measure a batch over numbers of tasks and of map partitions."""
    from weft_lab.bench.tasks import run

    many = _numbers("--tasks", tasks, 10_000)
    with _status("counting requests ...", as_json) as say:
        results = run(many, _numbers("--partitions", partitions, 1000), rows, batches, timed=timed, say=say)
    if as_json:
        print_json(results)
        return 0
    counts = _table("requests of a batch", "tasks", "", "copies", "PUT", "GET", "LIST", "HEAD", "per task", "opened")
    times = _table("seconds of a batch", "tasks", "map partitions", "null", "quiet", "ratio", "moving", "ratio")
    for one in results:
        if one["case"] == "counts":
            kind = "moves" if one["migrates"] else "quiet"
            shown = [f"{one[name]:,.0f}" for name in ("put", "get", "list", "head")]
            kept = "one machine" if one["copies"] else "none"
            counts.add_row(str(one["tasks"]), kind, kept, *shown, f"{one['per_task']:.2f}", f"{one['opened']:,.0f}")
        else:
            times.add_row(
                str(one["tasks"]), str(one["partitions"]), f"{one['null_s']:.2f}", f"{one['quiet_s']:.2f}",
                f"{one['quiet_over_null']:.2f} x", f"{one['moving_s']:.2f}", f"{one['moving_over_quiet']:.2f} x",
            )  # fmt: skip
    out().print(counts)
    if timed:
        out().print(times)
    return 0


def run_drift(case: str, batches: int, tasks: int, *, as_json: bool) -> int:
    """Measure adaptive schemes beside static ranges."""
    from weft_lab.bench.drift import CASES, run

    if case not in (*CASES, "both"):
        raise SpecError.of(f"--case is {case!r}.", f"Known: {', '.join(CASES)}, both.", "write --case drifting.")
    cases = CASES if case == "both" else {case: CASES[case]}
    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(cases, batches, tasks, say)
    if as_json:
        print_json(results)
        return 0
    title = f"band join on Spark, {tasks} tasks on two cores, rows per second; in brackets, relative to fixed ranges"
    table = _table(title, "keys", "rows per batch", "pairs per row", "range, static", "adsp", "auto")
    for one in results:
        rates = [
            f"{one[f'{s}_rows_per_s']:,} ({one[f'{s}_over_range']:.2f} x), {one[f'{s}_changes']} new plans, "
            f"control up to {one[f'{s}_control']:.1%}"
            for s in ("adsp", "auto")
        ]
        table.add_row(
            one["case"], f"{one['rows']:,}", f"{one['pairs_per_row']:g}", f"{one['range_rows_per_s']:,}", *rates
        )
    out().print(table)
    return 0


def run_documents(rows: int, windows: str, batches: int, scheme: str, *, as_json: bool) -> int:
    """Measure the natural join of documents on Spark, beside a null join."""
    from weft_lab.bench.documents import run

    sizes = _numbers("--windows", windows, 1 << 20)
    with _status("writing documents, starting Spark ...", as_json) as say:
        results = run(rows, sizes, batches, scheme, say)
    if as_json:
        print_json(results)
        return 0
    table = _table(
        f"natural join of JSON text, {results[0]['documents']:,} documents per batch, 8 attributes each, local[2]",
        "window", "pairs/document", "copies", "weft", "pairs", "null join", "ratio",
    )  # fmt: skip
    for one in results:
        table.add_row(
            f"{one['window']:,}", f"{one['pairs_per_document']:.1f}", f"{one['replication']:.2f}",
            f"{one['weft_documents_per_s']:,} documents/s", f"{one['weft_pairs_per_s']:,}/s",
            f"{one['null_documents_per_s']:,} documents/s", f"{one['weft_over_null']:.2f} x",
        )  # fmt: skip
    out().print(table)
    return 0


def run_skew(parts: str, rows: int, batches: int, *, as_json: bool) -> int:
    """Measure what skewed keys, watching and migrating cost on Spark."""
    from weft_lab.bench.skew import PARTS, TASKS, run

    asked = [part.strip() for part in parts.split(",") if part.strip()]
    for part in asked:
        if part not in PARTS:
            raise UnknownName.among("part", part, list(PARTS))
    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(asked or PARTS, rows, batches, say)
    if as_json:
        print_json(results)
        return 0
    table = _table(f"equi join of two Parquet streams, {TASKS} tasks", "", "rows per batch", "measured", "ratio", "aim")
    for one in results:
        table.add_row(*_skew_line(one))
    out().print(table)
    return 0


def _skew_line(one: dict[str, Any]) -> tuple[str, str, str, str, str]:
    rows = f"{one['rows']:,}"
    if "moved" in one:
        what = f"{one['moved']:,} of {one['held']:,} rows moved, a batch takes {one['usual_s']:.2f} s otherwise"
        return one["case"], rows, what, f"{one['ratio']:+.2f} s", f"< {one['aim']:g} s"
    if "auto_s" in one:
        what = f"even keys {one['even_s']:.2f} s, skewed {one['auto_s']:.2f} s, with hash {one['hash_s']:.2f} s"
        return one["case"], rows, what, f"{one['ratio']:.2f} x", f">= {one['aim']:g} x"
    return one["case"], rows, "of core time", f"{one['ratio']:.1%}", f"< {one['aim']:.0%}"


def run_inequality(rows: int, repeat: int, *, as_json: bool) -> int:
    """Measure two inequalities beside DuckDB and Polars."""
    from weft_lab.bench.inequality import run

    try:
        with _status("measuring ...", as_json):
            results = run(rows, repeat)
    except ImportError as error:
        raise WeftError.of(
            f"{error}.", "The benchmark compares with DuckDB and Polars.", "pip install 'weft[peers]'"
        ) from None
    if as_json:
        print_json(results)
        return 0
    table = _table(
        f"a.x > b.x AND a.y < b.y, {rows:,} x {rows:,} rows",
        "pairs",
        "share",
        "weft",
        "DuckDB",
        "Polars",
        "weft / better peer",
    )
    for one in results:
        seconds = [f"{one[f'{name}_s']:.3f} s" for name in ("weft", "duckdb", "polars")]
        table.add_row(f"{one['pairs']:,}", f"{one['share']:.3%}", *seconds, f"{one['ratio']:.2f}")
    out().print(table)
    return 0


def run_bands(rows: int, cases: str, repeat: int, *, as_json: bool) -> int:
    """Measure two bands beside DuckDB and Polars."""
    from weft_lab.bench.bands import CASES, run

    asked = tuple(name.strip() for name in cases.split(",")) if cases else CASES
    for name in asked:
        if name not in CASES:
            raise UnknownName.among("case", name, list(CASES))
    try:
        with _status("making points ...", as_json) as say:
            results = run(rows, repeat, asked, say=say)
    except ImportError as error:
        raise WeftError.of(
            f"{error}.", "The benchmark compares with DuckDB and Polars.", "pip install 'weft[peers]'"
        ) from None
    if as_json:
        print_json(results)
        return 0
    table = _table(
        "two bands, one thread", "", "rows a side", "pairs", "weft", "DuckDB, grid by hand", "DuckDB", "Polars"
    )
    for one in results:
        seconds = [
            f"{one[f'{name}_s']:.3f} s" if f"{name}_s" in one else ""
            for name in ("weft", "duckdb_grid", "duckdb", "polars")
        ]
        table.add_row(one["case"], f"{one['rows']:,}", f"{one['pairs']:,}", *seconds)
    out().print(table)
    return 0


def run_asof(rows: int, symbols: int, repeat: int, *, as_json: bool) -> int:
    """Measure as-of joins beside Polars and DuckDB."""
    from weft_lab.bench.asof import run

    try:
        with _status("making ticks ...", as_json) as say:
            results = run(rows, symbols, repeat, say)
    except ImportError as error:
        raise WeftError.of(
            f"{error}.", "The benchmark compares with Polars and DuckDB.", "pip install 'weft[peers]'"
        ) from None
    if as_json:
        print_json(results)
        return 0
    table = _table(
        f"as of time by symbol, {rows:,} trades x {rows:,} quotes, {symbols:,} symbols, one thread",
        "", "matched", "weft", "Polars", "DuckDB", "weft / Polars", "weft / DuckDB",
    )  # fmt: skip
    for one in results:
        seconds = [f"{one[f'{name}_s']:.2f} s" if f"{name}_s" in one else "" for name in ("weft", "polars", "duckdb")]
        ratios = [f"{one[name]:.2f}" if name in one else "" for name in ("over_polars", "over_duckdb")]
        table.add_row(one["case"], f"{one['matched']:,}", *seconds, *ratios)
    out().print(table)
    return 0


def run_sta(queries: str, skews: str, rows: int, window: int | None, batches: int, *, as_json: bool) -> int:
    """Measure `auto` beside the systems of the STA paper."""
    from weft_lab.bench.sta import QUERIES, run

    asked = [name.strip() for name in queries.split(",") if name.strip()]
    for name in asked:
        if name not in QUERIES:
            raise UnknownName.among("query", name, list(QUERIES))
    try:
        zipf = [float(part) for part in skews.split(",")]
    except ValueError:
        raise SpecError.of(f"--z is {skews!r}.", "It is a list of numbers.", "write --z 1,1.5,2.") from None
    with _status("writing data, starting Spark ...", as_json) as say:
        results = run(asked, zipf, rows, window, batches, say=say)
    if as_json:
        print_json(results)
        return 0
    who = list(results[0]["rows_per_s"])
    table = _table(
        f"inequality joins, {rows:,} rows per batch, output is a count per window: rows per second",
        "query",
        *who,
        "auto / best",
    )
    for one in results:
        rates = [f"{one['rows_per_s'][name]:,}{_found(one['share'][name])}" for name in who]
        ratio = f"{one['auto_over_best']:.2f} ({one['best']})"
        table.add_row(f"{one['query']}, Z = {one['z']:g}, {one['pairs_per_row']:g} pairs per row", *rates, ratio)
    out().print(table)
    ratios = [one["auto_over_best"] for one in results]
    ahead = sum(ratio > 1 for ratio in ratios)
    out().print(
        Text(f"auto over the best of the others: at least {min(ratios):.2f}, ahead in {ahead} of {len(ratios)}")
    )
    return 0


def _found(share: float) -> str:
    """Tell the share of the pairs that a system finds, if it leaves some out."""
    return "" if share == 1 else f" ({share:.0%} of the pairs)"


def _numbers(option: str, text: str, most: int) -> list[int]:
    try:
        numbers = [int(part.replace("_", "")) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or max(numbers) > most:
        raise SpecError.of(
            f"{option} is {text!r}.", f"It is a list of whole numbers from 1 to {most:,}.", f"write {option} 16,20."
        )
    return numbers


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title,
        title_style="bold",
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="cyan",
        padding=(0, 2, 0, 0),
    )
    for name in columns:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    return table


@contextmanager
def _status(text: str, as_json: bool) -> Iterator[Callable[[str], None]]:
    if as_json:
        yield lambda _: None
        return
    with err().status(text) as status:
        yield lambda note: status.update(f"{note} ...")
