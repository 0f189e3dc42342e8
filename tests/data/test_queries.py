"""The queries of the real data sets (see the data folder's README) as streams on Spark, cut into several batches.

Each gives the count that the README states, and exactly the pairs that DuckDB finds. Over the table every scheme, every
index and every form of window is used at least once (`test_everything_is_used`).
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import weft
from weft.observe import inspect_query, read_batch
from weft.state import Folder, open_folder
from weft.types import SIDES, Side

pytestmark = [pytest.mark.data, pytest.mark.spark]

WEFT: Any = weft
PAIRS = ("l", "r")
SELF = ("a", "b")


@dataclass(frozen=True)
class Query:
    """One query: what it reads, what Weft is asked, what DuckDB is asked (as the README writes it), and the count."""

    name: str
    count: int
    left: str
    right: str  # "" for a self join
    on: str
    window: Any
    duck: str  # over r and s
    scheme: str = "auto"
    index: str = "auto"
    tasks: int = 2
    batches: tuple[int, ...] = (4, 4)
    columns: tuple[str, ...] = ()
    unordered: bool = False


def _near(span: str, ts: str = "ts") -> str:
    return f"s.{ts} between r.{ts} - interval '{span}' and r.{ts} + interval '{span}'"


def _slice(file: str, start: str, end: str, more: str = "true") -> str:
    return f"select * from '{{data}}/{file}.parquet' where ts >= '{start}' and ts < '{end}' and {more}"


TAXI = "taxi_green/trips"
NASA = "nasa_battery/discharge"
TRADES, QUOTES = "binance_ticks/trades", "binance_ticks/quotes"
FLIGHTS, WEATHER = "nycflights13/flights", "nycflights13/weather"
TAXI_DAY = _slice(TAXI, "2023-03-15", "2023-03-16")
SECONDS_20 = ("2024-08-08 23:55:00", "2024-08-08 23:55:20")
MINUTE = ("2024-08-08 23:55:00", "2024-08-08 23:56:00")
FEBRUARY = ("2013-02-01", "2013-03-01")
WEEK, TWO_DAYS = ("2008-04-02", "2008-04-09"), ("2008-04-02", "2008-04-04")
PARIS = "adsb_paris/positions"

QUERIES = [
    Query(
        "taxi A", 8_545, TAXI_DAY, TAXI_DAY, "l.distance > r.distance AND l.fare < r.fare",
        weft.within("10 minutes", on="ts", delay="0 seconds"),
        f"r.distance > s.distance and r.fare < s.fare and {_near('10 minutes')}",
        scheme="matrix", index="runs", tasks=3, batches=(4, 3),
    ),
    Query(
        "taxi B", 3_339, TAXI_DAY, TAXI_DAY, "l.pu_loc = r.pu_loc AND l.distance > r.distance AND l.fare < r.fare",
        weft.within("1 hour", on="ts", delay="1 minute"),
        f"r.pu_loc = s.pu_loc and r.distance > s.distance and r.fare < s.fare and {_near('60 minutes')}",
        scheme="hash", index="hash",
    ),
    Query(
        "taxi C", 883, TAXI_DAY, "",
        "a.id < b.id AND abs(a.fare - b.fare) <= 0.505D AND abs(a.distance - b.distance) <= 0.255D",
        weft.within("10 minutes", on="ts", delay="0 seconds"),
        f"r.id < s.id and abs(r.fare - s.fare) <= 0.505::double and abs(r.distance - s.distance) <= 0.255::double "
        f"and {_near('10 minutes')}",
        scheme="range", tasks=3, batches=(5,),
    ),
    Query(
        "taxi D", 17_032, _slice(TAXI, "2023-01-01", "2023-04-01"), "",
        "a.pu_loc = b.pu_loc AND a.do_loc = b.do_loc", weft.within("5 minutes", on="ts", delay="0 seconds"),
        f"r.id < s.id and r.pu_loc = s.pu_loc and r.do_loc = s.do_loc and {_near('5 minutes')}",
        scheme="fastjoin", index="runs", batches=(5,), unordered=True,
    ),
    Query(
        "nasa A", 10_288, _slice(NASA, *WEEK, "battery = 'B0005'"), _slice(NASA, *WEEK, "battery = 'B0006'"),
        "l.voltage > r.voltage AND l.current < r.current", weft.within("2 minutes", on="ts", delay="10 seconds"),
        f"r.voltage > s.voltage and r.current < s.current and {_near('120 seconds')}",
        scheme="broadcast", tasks=2,
    ),
    Query(
        "nasa B", 3_849, _slice(NASA, *TWO_DAYS), "",
        "a.battery < b.battery AND abs(a.voltage - b.voltage) <= 0.00505D AND abs(a.temp_c - b.temp_c) <= 0.2505D",
        weft.within("1 minute", on="ts", delay="0 seconds"),
        f"r.battery < s.battery and abs(r.voltage - s.voltage) <= 0.00505::double "
        f"and abs(r.temp_c - s.temp_c) <= 0.2505::double and {_near('60 seconds')}",
        scheme="random", tasks=2, batches=(4,),
    ),
    Query(
        "binance A", 56_125, _slice(TRADES, *SECONDS_20), _slice(QUOTES, *SECONDS_20),
        "l.inst = r.inst AND l.price >= r.ask", weft.within(before="100 milliseconds", on="ts", delay="0 seconds"),
        "r.inst = s.inst and r.price >= s.ask and s.ts between r.ts - interval '100 milliseconds' and r.ts",
        tasks=3, batches=(3, 5),
    ),
    Query(
        "binance B", 6_331, _slice(QUOTES, *MINUTE, "inst = 'usdm:BTCUSDT'"),
        _slice(QUOTES, *MINUTE, "inst = 'cm:BTCUSD_PERP'"), "l.bid > r.ask",
        weft.within("50 milliseconds", on="ts", delay="0 seconds"), f"r.bid > s.ask and {_near('50 milliseconds')}",
        scheme="split", index="scan", tasks=3, batches=(4, 4),
    ),
    Query(  # the window as part of the condition, over the full history
        "binance C", 38_446, _slice(TRADES, *SECONDS_20, "inst = 'usdm:BTCUSDT'"),
        _slice(TRADES, *SECONDS_20, "inst = 'spot:BTCUSDT'"),
        "abs(l.price - r.price) <= 30.005D AND r.ts BETWEEN l.ts - INTERVAL '0.5' SECOND AND l.ts + INTERVAL '0.5' SECOND",
        weft.unbounded(), f"abs(r.price - s.price) <= 30.005::double and {_near('500 milliseconds')}",
        scheme="range", tasks=3, batches=(4, 3),
    ),
    Query(
        "adsb A", 1_939, _slice(PARIS, "2021-10-07 13:00", "2021-10-07 13:10"), "",
        "a.icao24 < b.icao24 AND abs(a.lat - b.lat) <= 0.050005D AND abs(a.lon - b.lon) <= 0.050005D "
        "AND abs(a.altitude_ft - b.altitude_ft) <= 1000",
        weft.within("5 seconds", on="ts", delay="0 seconds"),
        "r.icao24 < s.icao24 and abs(r.lat - s.lat) <= 0.050005::double and abs(r.lon - s.lon) <= 0.050005::double "
        f"and abs(r.altitude_ft - s.altitude_ft) <= 1000 and {_near('5 seconds')}",
        tasks=2, batches=(4,),
    ),
    Query(
        "adsb B", 4_389, _slice(PARIS, "2021-10-07 13:00", "2021-10-07 13:01"), "",
        "a.altitude_ft < b.altitude_ft AND a.speed_kt > b.speed_kt", weft.within("2 seconds", on="ts"),
        f"r.altitude_ft < s.altitude_ft and r.speed_kt > s.speed_kt and {_near('2 seconds')}",
        scheme="matrix", tasks=3, batches=(3,),
    ),
    Query(  # within 1 km and 30 seconds of each other; 0.009 degrees of latitude are 1 km, here 0.0137 of longitude
        "adsb C", 34_850, _slice(PARIS, "2021-10-07 13:00", "2021-10-07 13:03"), "",
        "a.icao24 < b.icao24 AND abs(a.lat - b.lat) <= 0.009005D AND abs(a.lon - b.lon) <= 0.013705D "
        "AND power((a.lat - b.lat) * 111.19D, 2) + power((a.lon - b.lon) * 73.17D, 2) <= 1",
        weft.within("30 seconds", on="ts", delay="0 seconds"),
        "r.icao24 < s.icao24 and power((r.lat - s.lat) * 111.19, 2) + power((r.lon - s.lon) * 73.17, 2) <= 1 "
        f"and {_near('30 seconds')}",
        index="boxes", tasks=2, batches=(3,),
    ),
    Query(  # both are whole hours: the same hour is the same window
        "nycflights A", 24_907, _slice(FLIGHTS, *FEBRUARY), _slice(WEATHER, *FEBRUARY), "l.origin = r.origin",
        weft.tumbling("1 hour", left="hour_ts", right="ts", delay="1 hour"),
        "r.origin = s.origin and r.hour_ts = s.ts", scheme="biclique", index="hash", tasks=3, batches=(3, 3),
    ),
    Query(  # one group of rows that holds them all
        "nycflights B", 6_665, _slice(FLIGHTS, *FEBRUARY), _slice(WEATHER, *FEBRUARY),
        "l.origin = r.origin AND l.dep_delay > r.temp AND l.dep_delay < r.humid "
        "AND r.ts BETWEEN l.ts - INTERVAL '6' HOUR AND l.ts", weft.tumbling_rows(30_000, order="ts"),
        "r.origin = s.origin and r.dep_delay > s.temp and r.dep_delay < s.humid "
        "and s.ts between r.ts - interval '6 hours' and r.ts", scheme="hash", tasks=3, batches=(3, 2),
    ),
    Query(  # the last rows are more than ever lie within 15 minutes
        "nycflights C", 8_821, _slice(FLIGHTS, *FEBRUARY), "",
        "a.id < b.id AND a.dest = b.dest AND b.ts BETWEEN a.ts - INTERVAL '15' MINUTE AND a.ts + INTERVAL '15' MINUTE",
        weft.last(1_000, order="id"), f"r.id < s.id and r.dest = s.dest and {_near('15 minutes')}",
        scheme="contrand", tasks=4, batches=(4,),
    ),
]  # fmt: skip


@pytest.mark.parametrize("queries", [QUERIES[0::2], QUERIES[1::2]], ids=["one half", "the other"])
def test_queries(queries: list[Query], spark: SparkSession, data_dir: Path, tmp_path: Path) -> None:
    """As one query, a union that goes on until the longest of them is used up."""
    read = {query.name: [_read(sql, data_dir) for sql in (query.left, query.right) if sql] for query in queries}
    joins = [
        _joined(query, spark, tmp_path / query.name, read[query.name]).withColumn("q", F.lit(number))
        for number, query in enumerate(queries)
    ]
    written = _run(spark, reduce(DataFrame.unionAll, joins), tmp_path)
    for number, query in enumerate(queries):
        tables = read[query.name]
        expected = _duck(query.duck, tables[0], tables[-1])
        assert expected.num_rows == query.count, query.name  # DuckDB and the README agree
        found = written.filter(pc.equal(written["q"], number))
        found = _turned(found) if query.unordered else found
        assert found.num_rows == query.count, query.name
        assert _sorted(found).equals(_sorted(expected)), query.name
        view = inspect_query(str(tmp_path / query.name / "state"))
        assert view.late_kept == {"left": 0, "right": 0}, query.name
        assert view.last_good == view.last_batch == max(max(one.batches) for one in queries) - 1


def _joined(query: Query, spark: SparkSession, folder: Path, tables: Sequence[pa.Table]) -> DataFrame:
    folder.mkdir()
    frames = [
        _stream(spark, folder / name, _cut(table, parts))
        for name, table, parts in zip(SIDES, tables, query.batches, strict=False)
    ]
    common = {
        "on": query.on, "window": query.window, "scheme": query.scheme, "index": query.index, "tasks": query.tasks,
        "state": str(folder / "state"),
    }  # fmt: skip
    if query.right:
        found = WEFT.join(*frames, **common, select=["l.id AS r", "r.id AS s"])
    else:
        found = WEFT.self_join(*frames, **common, unordered=query.unordered, select=["a.id AS r", "b.id AS s"])
    return cast("DataFrame", found)


def test_everything_is_used() -> None:
    from weft.index import INDEXES
    from weft_lab.schemes import SCHEMES

    assert (
        {"auto", "broadcast", "hash", "matrix", "range", "split"}
        <= {query.scheme for query in QUERIES}
        <= {*SCHEMES, "auto"}
    )
    assert {"auto", "boxes", "hash", "runs", "scan"} <= {query.index for query in QUERIES} <= {*INDEXES, "auto"}
    kinds = {type(query.window).__name__ for query in QUERIES}
    assert kinds == {"Within", "Tumbling", "Last", "TumblingRows", "Unbounded"}


# Out of order by event_ts

ORDERLESS = {
    "trades x quotes": (
        _slice(TRADES, *SECONDS_20, "event_ts is not null"), _slice(QUOTES, *SECONDS_20, "event_ts is not null"),
        "l.inst = r.inst AND l.price >= r.ask", "r.inst = s.inst and r.price >= s.ask", ("100 milliseconds", "0 seconds"),
    ),
    "usdm x cm": (
        _slice(QUOTES, *MINUTE, "inst in ('usdm:BTCUSDT', 'usdm:ETHUSDT')"), _slice(QUOTES, *MINUTE, "inst like 'cm:%'"),
        "l.bid > r.ask", "r.bid > s.ask", ("50 milliseconds", "50 milliseconds"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "delay"),
    [("trades x quotes", 300), ("trades x quotes", 20), ("trades x quotes", 0), ("usdm x cm", 300), ("usdm x cm", 0)],
)
def test_out_of_order(name: str, delay: int, spark: SparkSession, data_dir: Path, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100")  # the counts of all batches are read at the end
    *slices, on, duck, (before, after) = ORDERLESS[name]
    tables = [_read(sql, data_dir) for sql in slices]  # in order of ts: as they arrived
    cuts = _cut_where_late(tables, 5)
    window = weft.within(before=before, after=after, on="event_ts", delay=f"{delay} milliseconds")
    frames = [_stream(spark, tmp_path / side, cut) for side, cut in zip(SIDES, cuts, strict=True)]
    joined = WEFT.join(
        *frames, on=on, window=window, tasks=3, select=["l.id AS r", "r.id AS s"], state=str(tmp_path / "state")
    )
    found = _run(spark, joined, tmp_path)

    duck += f" and s.event_ts between r.event_ts - interval '{before}' and r.event_ts + interval '{after}'"
    everything = _duck(duck, *tables)
    kept, late = _not_late(cuts, delay * 1000)
    expected = _duck(duck, *kept)
    assert _sorted(found).equals(_sorted(expected))
    folder = _query_folder(tmp_path / "state")
    for batch, counts in enumerate(late):
        metrics = read_batch(folder, batch)
        assert metrics is not None and metrics.late == counts, f"batch {batch}"
    total = {side: sum(counts[side] for counts in late) for side in SIDES}
    assert inspect_query(folder).late_kept == total
    if delay == 300:  # more than any row is late
        assert total == {"left": 0, "right": 0}
        assert found.num_rows == everything.num_rows
    else:
        assert sum(total.values()) > 0
    if delay == 0:  # (those that are more than 20 ms late had no partner)
        assert found.num_rows < everything.num_rows


def _cut_where_late(tables: Sequence[pa.Table], parts: int) -> list[list[pa.Table]]:
    """Cut both sides at the same moments of arrival, each just before a row that is very late (to the other side too)."""
    with duckdb.connect() as connection:
        for name, table in zip(("one", "two"), tables, strict=True):
            connection.register(name, table)
        moments = connection.sql(f"""
            with events as (
                select 1 as side, ts, event_ts from one union all select 2 as side, ts, event_ts from two
            ), seen as (
                select ts, event_ts, max(case when side = 1 then event_ts end) over earlier as newest_one,
                    max(case when side = 2 then event_ts end) over earlier as newest_two,
                    (rank() over (order by ts) - 1) * {parts - 1} // count(*) over () as share
                from events window earlier as (order by ts range between unbounded preceding and interval '1 us' preceding)
            ) select arg_max(ts, least(newest_one, newest_two) - event_ts) from seen group by share order by share
        """).fetchall()  # fmt: skip
    cuts = []
    for table in tables:
        times = table.column("ts").to_pylist()
        ends = [*(bisect.bisect_left(times, moment) for (moment,) in moments), len(times)]
        cuts.append([table.slice(start, end - start) for start, end in itertools.pairwise([0, *ends])])
    return cuts


def _not_late(cuts: Sequence[Sequence[pa.Table]], delay: int) -> tuple[list[pa.Table], list[dict[Side, int]]]:
    """Apply the rule with plain Python: late iff below min over both sides of the greatest seen so far, less the delay."""
    newest: list[int | None] = [None, None]
    kept: list[list[pa.Table]] = [[], []]
    late: list[dict[Side, int]] = []
    for parts in itertools.zip_longest(*cuts):
        mark = min(newest) - delay if None not in newest else None  # type: ignore[type-var,operator]  # not None, as just checked
        times = [[] if part is None else part.column("event_ts").cast(pa.int64()).to_pylist() for part in parts]
        on_time = [[mark is None or time >= mark for time in side] for side in times]
        late.append({side: mask.count(False) for side, mask in zip(SIDES, on_time, strict=True)})
        for number, part in enumerate(parts):
            if part is not None:
                kept[number].append(part.filter(pa.array(on_time[number], pa.bool_())))
            newest[number] = max(
                [*times[number], *([newest[number]] if newest[number] is not None else [])], default=None
            )
    return [pa.concat_tables(parts) for parts in kept], late


# Tools


def _read(sql: str, data: Path) -> pa.Table:
    with duckdb.connect() as connection:
        return connection.sql(sql.format(data=data) + " order by ts, id").to_arrow_table()


def _duck(condition: str, left: pa.Table, right: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("one", left)
        connection.register("two", right)
        query = f"select r.id as r, s.id as s from one r, two s where {condition}"
        return connection.sql(query).to_arrow_table().cast(pa.schema({"r": pa.int32(), "s": pa.int32()}))


def _cut(table: pa.Table, parts: int) -> list[pa.Table]:
    """Cut into unequal slices, in order: 1 : 2 : 1 : 2 ..."""
    shares = [1 + number % 2 for number in range(parts)]
    ends = [table.num_rows * sum(shares[: number + 1]) // sum(shares) for number in range(parts)]
    starts = [0, *ends[:-1]]
    return [table.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]


def _stream(spark: SparkSession, folder: Path, parts: Sequence[pa.Table]) -> DataFrame:
    """Write the parts as files, one per batch, and read them as a stream."""
    folder.mkdir()
    for number, part in enumerate(parts):
        file = folder / f"{number:03}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark reads files in order of their age
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _run(spark: SparkSession, joined: DataFrame, folder: Path) -> pa.Table:
    writer = joined.writeStream.format("parquet").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "out"))
    try:
        assert query.awaitTermination(200)
    finally:
        query.stop()
    return spark.read.parquet(str(folder / "out")).toArrow()


def _sorted(table: pa.Table) -> pa.Table:
    return table.select(["r", "s"]).sort_by([("r", "ascending"), ("s", "ascending")]).combine_chunks()


def _turned(pairs: pa.Table) -> pa.Table:
    """Put the lower id first."""
    low, high = (
        pa.compute.min_element_wise(pairs["r"], pairs["s"]), pa.compute.max_element_wise(pairs["r"], pairs["s"])
    )  # fmt: skip
    return pa.table({"r": low, "s": high})


def _query_folder(state: Path) -> Folder:
    (query,) = [path for path in state.iterdir() if path.is_dir()]
    return open_folder(str(query))
