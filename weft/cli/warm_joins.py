"""Which joins run to have all kernels compiled, over a little made-up data; their pairs interest nobody.

Numba compiles a kernel for the types of its arguments, so there is no list of kernels to compile: joins of every kind are the
list. A kind of join that still compiles after `weft warm` is missing here.

What Arrow has received nobody may write to, and Numba compiles anew for that. So tables are fed as they were made, into memory,
and as Spark sends them, through messages, into a state folder.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from weft.engine import Found, Intake, Joiner, Lookup, Shipment, TableLookup, pack_delivery, unpack
from weft.engine.asof import AsofLookup
from weft.kernels import checksum
from weft.kernels.merge import Sorted, merge_all
from weft.local import AsofJoin, Join, LocalRun, NaturalJoin, asof_join
from weft.local.parallel import ParallelJoin
from weft.routing import Adsp, AsofScheme, FastJoin, Ordered, Slices, Sta
from weft.routing.documents import Association
from weft.spec import Window, last, tumbling, tumbling_rows, within
from weft.spec.join_spec import asof_table_spec
from weft.state import TableShelf
from weft.types import Side

__all__ = [
    "STEPS", "WarmStep", "join_asof", "join_documents", "join_rows", "join_threads", "look_up", "look_up_nearest", "merge_any",
]  # fmt: skip

Way = Literal["made", "sent", "cut"]
"""How tables arrive: made here; sent in a message that nobody may write to; or in one cut into slices, and put together."""


def join_rows(*, rows: int = 300, batches: int = 6, **options: Any) -> None:
    """Run a join: made tables in memory, sent ones on disk; from 2,048 rows a batch on, what is on disk is merged later."""
    one, two = options.get("aliases", ("l", "r"))
    ways: tuple[Way, ...] = ("made", "sent")
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="weft-warm-") as folder:
            left, right = (_tables(seed, batches, rows, way) for seed in (1, 2))
            state = folder if way == "sent" else None
            join = Join(
                left[0].schema, left[0].schema, select=[f"{one}.id AS x", f"{two}.id AS y"], state=state, **options
            )
            if way == "sent":
                join.run = _SentRun(join.run.joiner, join.run.sources, join.store)
            for batch in range(batches):
                half = left[batch].num_rows // 2  # two map partitions
                parts = [left[batch].slice(0, half), left[batch].slice(half)]
                _drain(join.feed(parts, () if join.spec.self_join else [right[batch]]))


def look_up(*, on: str, rows: int = 300) -> None:
    """Look rows up in a table that was written and mapped, as they are made and as they are sent."""
    ways: tuple[Way, ...] = ("made", "sent")
    for way, how in product(ways, ("left", "left_semi")):
        ((table,), (stream,)) = (_tables(seed, 1, rows, way) for seed in (1, 2))
        join = Join(stream.schema, table.schema, on=on, how=how)
        _looked_up(Lookup(join.spec, "left", join.job.payload), join.run.sources, stream, table)


def look_up_nearest(*, on: str = "ts", **options: Any) -> None:
    """Look the nearest rows up in a table that was written and mapped, as they are made and as they are sent."""
    ways: tuple[Way, ...] = ("made", "sent")
    for way in ways:
        ((table,), (stream,)) = (_tables(seed, 1, 300, way) for seed in (1, 2))
        join = AsofJoin(stream.schema, table.schema, on=on, **options)
        look_up = AsofLookup(asof_table_spec(join.spec), join.job.payload, join.accept)
        _looked_up(look_up, join.run.sources, stream, table)


def _looked_up(asked: TableLookup, sources: Mapping[Side, Intake], stream: pa.Table, table: pa.Table) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-warm-") as folder:
        shelf, prepared = TableShelf(folder), sources["right"].prepare(table)[0]
        made = asked.run_of(sources["right"].inputs, prepared)
        run = shelf.read(shelf.write("table", "0-0.arrow", made), asked.payload["right"])
        for rows_asked in (sources["left"].prepare(part)[0] for part in (stream, stream.slice(0, 9))):
            for _ in asked.pairs(asked.index(run), run, sources["left"].inputs, rows_asked):
                pass


def join_documents(*, two: bool = False, **options: Any) -> None:
    """Run a natural join of one stream or of two: made tables in memory, sent ones on disk."""
    ways: tuple[Way, ...] = ("made", "sent", "cut")
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="weft-warm-") as folder:
            left, right = ([_texts(10 * seed + batch, way) for batch in range(4)] for seed in (1, 2))
            schema, state = left[0].schema, None if way == "made" else folder
            join = NaturalJoin(schema, schema if two else None, column="document", state=state, **options)
            if way != "made":
                join.run = _SentRun(join.run.joiner, join.run.sources, join.store)
                join.run.cut = way == "cut"
            for one, other in zip(left, right, strict=True):
                _drain(join.feed(one, other if two else None))


def join_asof(*, on: str = "ts", **options: Any) -> None:
    """Run an as-of join: made tables at once and in batches, sent ones through a state folder."""
    ways: tuple[Way, ...] = ("made", "sent", "cut")
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="weft-warm-") as folder:
            left, right = (_tables(seed, 4, 100, "made" if way == "made" else "sent") for seed in (1, 2))
            select = ["l.id AS x", "r.id AS y"]
            _drain(iter([asof_join(left[0], right[0], on=on, select=select, **options)]))
            delay = "5 seconds" if on == "ts" else None
            state = None if way == "made" else folder
            scheme = AsofScheme(enough=0, hot=0.2)
            join = AsofJoin(
                left[0].schema, right[0].schema, on=on, select=select, delay=delay, tasks=2, state=state, scheme=scheme,
                **options,
            )  # fmt: skip
            if way != "made":
                join.run = _SentRun(join.run.joiner, join.run.sources, join.store)
                join.run.cut = way == "cut"
            for one, two in zip(left, right, strict=True):
                half = one.num_rows // 2
                _drain(join.feed([one.slice(half), one.slice(0, half)], [two]))
            _drain(join.finish())


def join_threads(*, on: str, window: Window) -> None:
    """Run a join by two threads."""
    schema = pa.schema({"x": pa.int64(), "f": pa.float64(), "t": pa.int64()})
    alone, draw = "a." in on, np.random.default_rng(7)
    join = ParallelJoin(schema, None if alone else schema, on=on, window=window, threads=2)
    for batch in range(3):
        columns = {"x": draw.integers(0, 400, 400), "f": _wide(draw, 400), "t": np.arange(400) + batch * 400}
        table = pa.table(columns, schema=schema)
        _drain(join.feed(table, None if alone else table))
    join.close()


def merge_any() -> None:
    """Merge runs that were read, to which nobody may write, with runs that were made: which meet is up to their sizes."""
    key, made = np.arange(4), np.arange(4, dtype=np.int32)
    read = np.frombuffer(made.tobytes(), np.int32)
    for one, two in product((made, read), repeat=2):
        for keys in ((key,), (key, key)):
            merge_all([Sorted(keys, one), Sorted(keys, two, 4)])


def _drain(found: Iterator[pa.Table]) -> None:
    for _ in found:
        pass


class _SentRun(LocalRun[Found]):
    """A run whose deliveries travel as bytes, whole or `cut`."""

    cut = False

    def _route(self, tables: Any) -> dict[int, list[Shipment]]:
        routed = super()._route(tables)
        return {task: [_sent(one, self.joiner, self.cut) for one in inbox] for task, inbox in routed.items()}


def _sent(one: Shipment, joiner: Joiner[Any], cut: bool) -> Shipment:
    """Send a message; in one that was cut and put together bytes can be written."""
    if one.delivery is None:
        return one
    sink = pa.BufferOutputStream()
    pack_delivery(sink, joiner.light(one.delivery), one.partition, one.piece, joiner.job.derived[one.side])
    data = sink.getvalue().to_pybytes()
    return joiner.whole(unpack(pa.py_buffer(np.frombuffer(data, np.uint8).copy() if cut else data)))


def _received(table: pa.Table) -> pa.Table:
    """Return a table as it arrives from Spark."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue().to_pybytes()).read_all()


def _tables(seed: int, batches: int, rows: int, way: Way) -> Sequence[pa.Table]:
    """Return batches of rows: keys of which one is hot, doubles near each other and of all sizes, intervals, text, times.

    Hardly a `g` is above an `h`. Batches are of several sizes, for what is small is merged first.
    """
    draw, found, first = np.random.default_rng(seed), list[pa.Table](), 0
    for batch in range(batches):
        n = rows * (1, 1, 3, 2)[batch % 4]
        key = np.where(draw.random(n) < 0.2, 7, draw.integers(0, rows, n))
        number = np.arange(first, first + n)
        first += n
        found.append(pa.table({
            "id": number, "k": key, "f": draw.random(n) * n, "g": draw.random(n), "h": draw.random(n) + 0.98,
            "w": _wide(draw, n), "low": key - 1, "high": key + 1, "s": [f"name {one}" for one in key],
            "ts": pa.array(number * 1_000_000, pa.timestamp("us")),
        }))  # fmt: skip
    return found if way == "made" else [_received(table) for table in found]


def _wide(draw: np.random.Generator, rows: int) -> Any:
    """Return doubles of all sizes: their words do not fit beside a row number."""
    return draw.normal(size=rows) * 10.0 ** draw.integers(-200, 200, rows)


def _texts(seed: int, way: Way) -> pa.Table:
    """Return documents, a few of them no documents, with numbers, arrays and escapes of every kind."""
    draw = np.random.default_rng(seed)
    odd = [
        '{"up": true, "user": 1, "n": 1e400, "u": "\\u00e9\\n"}', "nonsense",
        '{"up": false, "user": 2, "n": 0.10, "a": [3, 1.50, "x", null, true, {"b": []}]}',
    ]  # fmt: skip
    made = [
        json.dumps({"up": n % 2 == 0, "user": n % 4, f"a{draw.integers(6)}": int(draw.integers(3)), "in": {"k": 1.5}})
        for n in range(100)
    ]
    number = np.arange(len(made + odd)) + seed % 10 * len(made + odd)
    table = pa.table({"document": made + odd, "ts": pa.array(number * 1_000_000, pa.timestamp("us"))})
    return table if way == "made" else _received(table)


@dataclass(frozen=True)
class WarmStep:
    """Some joins that have kernels in common."""

    name: str
    joins: tuple[Callable[[], object], ...]


_TIME = within("200 seconds", on="ts", delay="5 seconds")
_SLIDES = within("3 hours", on="ts", delay="5 seconds")
_BAND = "abs(l.f - r.f) <= 1"
_TWO = "l.f > r.f AND l.g < r.g"
_FASTJOIN = FastJoin(enough=0.0, threshold=1.0, noise=0.0, gain=0.0, split_hot=True, biclique=False)
_INDEXES = ("scan", "boxes", "crossed", "peaks", "pim-tree", "hotcold")

STEPS = (
    WarmStep("two inequalities", (
        partial(join_rows, on=_TWO, window=_TIME), partial(join_rows, on=_TWO, window=_TIME, tasks=4),
    )),
    WarmStep("two inequalities, later batches", (
        partial(join_rows, on=_TWO, window=_TIME, tasks=3, scheme=Slices(rounds=1, long=0.0, even=9.0)),
        partial(join_rows, on=_TWO, window=last(60)),
        partial(join_rows, on="l.g > r.h AND l.f < r.f", window=_SLIDES, rows=2500, batches=14), merge_any,
    )),
    WarmStep("equality", (
        partial(join_rows, on="l.k = r.k"),
        partial(join_rows, on="l.k = r.k AND l.f < r.f", window=_TIME, tasks=4),
        partial(join_rows, on="l.k = r.k", window=last(60, order="ts"), tasks=3, index="hash"),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme=_FASTJOIN),
        partial(join_rows, on="l.k = r.k AND abs(l.f - r.f) <= 0.01", rows=2500),
    )),
    WarmStep("band", (
        partial(join_rows, on=_BAND), partial(join_rows, on=_BAND, window=_TIME, tasks=4),
        partial(join_rows, on=_BAND, window=last(60), tasks=2),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200)),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200, order="ts")),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200, order="ts"), tasks=2),
        partial(join_rows, on="abs(l.w - r.w) <= 1", window=_TIME),
        partial(join_rows, on="abs(l.id - r.id) <= 1 AND l.w < r.w"),
        partial(join_rows, on="abs(l.f - r.f) <= 0.01", rows=2500), partial(join_rows, on="l.w = r.w", rows=2500),
        partial(join_rows, on="abs(l.f - r.f) <= 90 AND abs(l.k - r.k) <= 1", rows=900, batches=2),
        partial(join_rows, on=_BAND, window=_TIME, tasks=4, scheme=Ordered(imbalance=1.0, enough=0, patience=1, size=8)),
    )),
    WarmStep("inequality", (
        partial(join_rows, on="l.f < r.f", window=last(40, order="ts"), tasks=3),
        partial(join_rows, on="l.w >= r.w", window=last(40)),
        partial(join_rows, on="l.k <> r.k AND l.s LIKE 'n%'", window=last(10)),
    )),
    WarmStep("interval", (
        partial(join_rows, on="l.k BETWEEN r.low AND r.high", window=tumbling("50 seconds", on="ts"), tasks=2),
        partial(join_rows, on="r.f BETWEEN l.low AND l.high", window=_TIME),
    )),
    WarmStep("text", (
        partial(join_rows, on="l.s = r.s", window=tumbling_rows(100), tasks=2),
        partial(join_rows, on="l.s < r.s", window=last(20)),
    )),
    WarmStep("self join", (
        partial(join_rows, on="abs(a.f - b.f) <= 1", window=_TIME, aliases=("a", "b"), tasks=2),
        partial(join_rows, on="a.f < b.f AND a.g > b.g", window=last(40), aliases=("a", "b"), unordered=True),
    )),
    WarmStep("as of", (
        partial(join_asof, by="k"), partial(join_asof, by=["s", "k"], direction="nearest", tolerance="9 seconds", ties="k"),
        partial(join_asof, direction="forward", strict=True, tolerance="9 seconds", where="l.f > r.g AND l.s LIKE 'n%'"),
        partial(join_asof, on="f", by="k", direction="nearest", tolerance=2.5, where="l.k + 0 = r.k"),
    )),
    WarmStep("schemes", (
        partial(join_rows, on=_BAND, window=_TIME, tasks=4, scheme=Adsp(patience=1, size=8)),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme=Sta(hot="auto", top=2, margin=1, worth=0)),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme="fastjoin"),
    )),
    WarmStep("documents", (
        partial(join_documents, window=tumbling_rows(100)),
        partial(join_documents, window=_TIME, tasks=3, arrays="sets", scheme=Association(enough=1, worth=0)),
        partial(join_documents, two=True, window=tumbling("50 seconds", on="ts"), tasks=3),
        partial(join_documents, two=True, tasks=2),
    )),
    *(
        WarmStep(name, (
            partial(join_rows, on=_BAND, window=last(100), index=name),
            partial(join_rows, on=_TWO, window=_TIME, index=name),
        ))
        for name in _INDEXES
    ),
    WarmStep("tables", tuple(
        partial(look_up, on=on)
        for on in (
            "l.k BETWEEN r.low AND r.high", "l.k = r.k", "l.k = r.k AND l.f >= r.g AND l.f < r.w", "l.f > r.f AND l.g < r.g",
            "l.s = r.s", "abs(l.f - r.f) <= 1", "l.k <> r.k AND l.f < r.f", "l.f BETWEEN r.g AND r.w AND l.h > r.h",
        )
    )),
    WarmStep("nearest rows of tables", (
        partial(look_up_nearest, by="k"), partial(look_up_nearest, by=["s", "k"], direction="nearest", ties="k"),
        partial(look_up_nearest, direction="forward", strict=True, tolerance="9 seconds", where="l.f > r.g AND l.s LIKE 'n%'"),
        partial(look_up_nearest, on="f", by="s", direction="nearest", tolerance=2.5, where="l.k + 0 = r.k"),
    )),
    WarmStep("threads", (
        partial(join_threads, on="abs(l.x - r.x) <= 1 AND l.f < r.f", window=last(100)),
        partial(join_threads, on="abs(l.f - r.f) <= 0.01 AND l.x <> r.x", window=within(100, on="t")),
        partial(join_threads, on="abs(l.f - r.f) <= 0.01", window=last(100)),
        partial(join_threads, on="l.f > r.f AND l.x <> r.x", window=last(20)),
        partial(join_threads, on="abs(a.f - b.f) <= 0.01 AND a.x <> b.x", window=last(100)),
    )),
    WarmStep("state elsewhere", (partial(checksum, memoryview(bytearray(64))),)),
)  # fmt: skip
"""What `weft warm` runs, in order."""
