"""`weft demo`: a live plant, a streaming inequality join on local Spark, a plot of what it found, DuckDB's confirmation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from weft.cli.job import SourcePart
from weft.cli.output import err, print_json
from weft.cli.output import out as stdout
from weft.cli.run_job import Screen, summary_table, watch
from weft.cli.ui import shown_beside
from weft.cli.warm import warm_for
from weft.errors import SpecError, WeftError
from weft.spec import within
from weft.types import Side

if TYPE_CHECKING:
    from weft.demo import Feeder
    from weft.observe import Summary

__all__ = ["run_demo"]

ON = "l.v1 > r.v2 AND l.i1 < r.i2"
SELECT = ("l.generator", "l.ts", "l.v1", "l.i1", "r.generator AS other", "r.ts AS other_ts", "r.v2", "r.i2")
_FOLDERS: dict[Side, str] = {"left": "before", "right": "after"}
_MARK = ".weft-demo"
_WARM = ("two inequalities", "two inequalities, later batches")


def run_demo(
    *, seconds: int, rate: int, seed: int, out: Path, kafka: str | None = None, ui: bool = False, as_json: bool
) -> int:  # fmt: skip
    """Run the demo, with `kafka` through topics of that broker; 1 if DuckDB counts differently."""
    from weft.demo import Feeder, Plant

    _empty(out)
    console = err()
    plant = Plant(seed=seed, rate=rate, seconds=seconds)
    feeder = Feeder(plant, {side: out / name for side, name in _FOLDERS.items()})
    if not as_json:
        console.print(Text.assemble(("A power plant, live.", "bold"), _intro(plant.generators, rate, seconds)))
        console.print()
    # One after the other beside the start of Spark: what the first batch needs, then what later ones may.
    compiler = ThreadPoolExecutor(1)
    first, _ = (compiler.submit(warm_for, name, quiet=True) for name in _WARM)
    try:
        summary = _join(feeder, out, kafka, ui, as_json, first.result)
    finally:
        compiler.shutdown(wait=False, cancel_futures=True)
        feeder.cancelled.set()
        feeder.go.set()
    if feeder.error is not None:
        raise WeftError.of(f"The sensors could not write: {feeder.error}.", "", "give --out another folder.")
    if not feeder.finished.is_set() or summary.read < feeder.rows:
        console.print(Text("Stopped before the end: nothing to confirm.", style="yellow"))
        return 1
    confirmed = _confirm(out, as_json)
    plot = _plot(out, feeder)
    same = confirmed is None or (confirmed == summary.pairs and _written(out) == summary.pairs)
    if as_json:
        facts = {
            **summary.to_dict(),
            "duckdb": confirmed,
            "written": _written(out),
            "equal": same,
            "plot": str(plot or ""),
        }
        print_json(facts, indent=None)
    else:
        _report(summary, confirmed, plot, out)
    return 0 if same else 1


def _intro(generators: int, rate: int, seconds: int) -> str:
    return (
        f" {generators} generators send voltage and current from before and after, {rate:,} rows per second and side, for"
        f" {seconds} s. Weft looks for moments where more voltage goes in than comes out while current rises, within"
        " 10 seconds. Spark's own stream join rejects this condition."
    )


def _empty(out: Path) -> None:
    """Make the folder; empty it only if an earlier demo filled it."""
    if out.exists() and any(out.iterdir()):
        if not (out / _MARK).exists():
            raise SpecError.of(f"{out} holds files that no demo wrote.", "", "give --out another folder.")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARK).touch()
    for name in _FOLDERS.values():
        (out / name).mkdir()


def _join(
    feeder: Feeder, out: Path, kafka: str | None, ui: bool, as_json: bool, warmed: Callable[[], None]
) -> Summary:  # fmt: skip
    """Join the streams of both sides; the query starts once its kernels are `warmed`."""
    from weft.cli.demo_topics import DemoTopics
    from weft.spark import jobs

    state, log = str((out / "state").absolute()), out / "spark.log"
    with nullcontext() if as_json else err().status("starting Spark ..."):
        conf = jobs.with_packages({"spark.sql.session.timeZone": "UTC"}, [] if kafka is None else ["kafka"])
        spark = jobs.quiet_session("weft demo", master=None, state=state, conf=conf, log=log)
        folders = {side: out / name for side, name in _FOLDERS.items()}
        topics = None if kafka is None else DemoTopics(spark, kafka, out, _schemas())
        frames = (
            [
                jobs.read_stream(spark, SourcePart("parquet", {"path": str(folders[side])}, schema), side)
                for side, schema in _schemas().items()
            ]
            if topics is None
            else topics.frames(folders)
        )
        window = within("10 seconds", on="ts", delay="5 seconds")
        asked = jobs.JoinOptions(ON, window, select=SELECT, state=state, pair_id=None if topics is None else "pair_id")
        built = jobs.joined(frames[0], frames[1], asked)
        alarms = out / "alarms"
        into: dict[str, Any] = {"format": "parquet", "options": {"path": str(alarms)}}
        if topics is not None:
            into = {"format": "kafka", "options": topics.sink, "value": "json", "key": "pair_id"}
        warmed()
        feeder.start()
        query = jobs.start(
            built, **into, mode="append", partition_by=(),
            checkpoint=str(out / "checkpoint"), trigger={"processingTime": "1 second"}, name="demo",
        )  # fmt: skip

    def enough(read: int) -> bool:
        if topics is not None:
            topics.check()
        if read and not feeder.go.is_set():
            feeder.go.set()
            screen.say("the sensors send; Ctrl-C ends the demo")
        if feeder.finished.is_set():
            screen.say("the sensors are silent; joining what is left")
        return feeder.finished.is_set() and read >= feeder.rows

    with shown_beside(state, wanted=ui, quiet=as_json), Screen(f"{ON}, {window}", as_json=as_json) as screen:
        note = "the first batch starts Python workers; then the sensors send"
        summary = watch(query, state, screen, enough, note=note)
    if topics is not None:
        schema = (
            "generator int, ts timestamp, v1 double, i1 double, other int, other_ts timestamp, v2 double, i2 double"
        )
        topics.collect(f"{schema}, pair_id string", alarms)
    spark.stop()
    return summary


def _schemas() -> dict[Side, str]:
    from weft.demo import COLUMNS

    return {side: f"generator int, ts timestamp, {v} double, {i} double" for side, (v, i) in COLUMNS.items()}


def _confirm(out: Path, as_json: bool) -> int | None:
    """Count the pairs by DuckDB from the same files; None where it is not installed."""
    try:
        import duckdb
    except ImportError:
        err().print(
            Text("DuckDB is not installed, so the count is not confirmed: pip install 'weft[peers]'", style="yellow")
        )
        return None
    with nullcontext() if as_json else err().status("DuckDB counts on the same files ..."):
        question = f"""SELECT count(*) FROM read_parquet('{_quoted(out / "before")}/*.parquet') l
            JOIN read_parquet('{_quoted(out / "after")}/*.parquet') r ON l.v1 > r.v2 AND l.i1 < r.i2
            AND r.ts BETWEEN l.ts - INTERVAL 10 SECOND AND l.ts + INTERVAL 10 SECOND"""  # noqa: S608
        with duckdb.connect() as connection:
            found: Any = connection.execute(question).fetchone()
    return int(found[0])


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _alarms(out: Path) -> Any:
    """Return what the sink holds, read as any reader of Parquet would (Spark's log of committed files is respected)."""
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = out / "alarms"
    names: set[str] = set()
    for entry in sorted((folder / "_spark_metadata").glob("[0-9]*")):
        lines = entry.read_text(encoding="utf-8").splitlines()[1:]
        names |= {json.loads(line)["path"].rpartition("/")[2] for line in lines}
    tables = [pq.read_table(folder / name) for name in sorted(names)]
    return (
        pa.concat_tables(tables)
        if tables
        else pa.table({name.rpartition(" ")[2].rpartition(".")[2]: [] for name in SELECT})
    )


def _written(out: Path) -> int:
    return int(_alarms(out).num_rows)


def _plot(out: Path, feeder: Feeder) -> Path | None:
    import pyarrow.parquet as pq

    try:
        from weft.demo.plot import draw
    except ImportError:
        err().print(Text("plotly is not installed, so there is no plot: pip install 'weft[plot]'", style="yellow"))
        return None
    sides = {side: pq.ParquetDataset(out / name).read() for side, name in _FOLDERS.items()}
    path = out / "alarms.html"
    draw(path, sides, _alarms(out), feeder.plant.events, feeder.start_time)
    return path


def _report(summary: Summary, confirmed: int | None, plot: Path | None, out: Path) -> None:
    console = stdout()
    console.print()
    table = summary_table(summary)
    if confirmed is not None:
        equal = confirmed == summary.pairs == _written(out)
        verdict = "the same" if equal else f"NOT the same: {summary.pairs:,} joined, {_written(out):,} written"
        table.add_row("DuckDB counts", Text(f"{confirmed:,}, {verdict}", style="bold green" if equal else "bold red"))
    console.print(table)
    console.print()
    files = [
        ("plot", plot),
        ("alarms", out / "alarms"),
        ("state", f"weft state show {out}/state"),
        ("pages", f"weft ui {out}/state"),
        ("Spark's log", out / "spark.log"),
    ]
    for name, where in files:
        if where is not None:
            console.print(Text.assemble((f"{name:<15}", "cyan"), str(where)))
