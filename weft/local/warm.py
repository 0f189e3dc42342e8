"""Which joins run to have all kernels compiled.

Numba compiles a kernel for the types of its arguments, so there is no list of kernels to compile: joins of every kind are the
list. A kind of join that still compiles after `weft warm` is missing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from weft.kernels import checksum
from weft.local.warm_joins import join_documents, join_rows, join_threads, merge_any
from weft.routing import Adsp, FastJoin, Ordered, Slices, Sta
from weft.routing.documents import Association
from weft.spec import last, tumbling, tumbling_rows, within

__all__ = ["STEPS", "Step"]


@dataclass(frozen=True)
class Step:
    """Some joins that have kernels in common."""

    name: str
    joins: tuple[Callable[[], object], ...]


_TIME = within("200 seconds", on="ts", delay="5 seconds")
_SLIDES = within("3 hours", on="ts", delay="5 seconds")
_BAND = "abs(l.f - r.f) <= 1"
_TWO = "l.f > r.f AND l.g < r.g"
_FASTJOIN = FastJoin(enough=0.0, threshold=1.0, noise=0.0, gain=0.0, split_hot=True, biclique=False)
_INDEXES = ("scan", "crossed", "bplustree", "css-tree", "chained", "im-tree", "pim-tree", "round-robin", "hotcold")

STEPS = (
    Step("two inequalities", (
        partial(join_rows, on=_TWO, window=_TIME), partial(join_rows, on=_TWO, window=_TIME, tasks=4),
        partial(join_rows, on=_TWO, window=_TIME, tasks=3, scheme=Slices(rounds=1, long=0.0, even=9.0)),
        partial(join_rows, on=_TWO, window=last(60)),
        partial(join_rows, on="l.g > r.h AND l.f < r.f", window=_SLIDES, rows=2500, batches=14), merge_any,
    )),
    Step("equality", (
        partial(join_rows, on="l.k = r.k"),
        partial(join_rows, on="l.k = r.k AND l.f < r.f", window=_TIME, tasks=4),
        partial(join_rows, on="l.k = r.k", window=last(60, order="ts"), tasks=3, index="hash"),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme=_FASTJOIN),
        partial(join_rows, on="l.k = r.k AND abs(l.f - r.f) <= 0.01", rows=2500),
    )),
    Step("band", (
        partial(join_rows, on=_BAND), partial(join_rows, on=_BAND, window=_TIME, tasks=4),
        partial(join_rows, on=_BAND, window=last(60), tasks=2),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200)),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200, order="ts")),
        partial(join_rows, on="abs(l.k - r.k) <= 1", window=last(200, order="ts"), tasks=2),
        partial(join_rows, on="abs(l.w - r.w) <= 1", window=_TIME),
        partial(join_rows, on="abs(l.id - r.id) <= 1 AND l.w < r.w"),
        partial(join_rows, on="abs(l.f - r.f) <= 0.01", rows=2500), partial(join_rows, on="l.w = r.w", rows=2500),
        partial(join_rows, on=_BAND, window=_TIME, tasks=4, scheme=Ordered(imbalance=1.0, enough=0, patience=1, size=8)),
    )),
    Step("inequality", (
        partial(join_rows, on="l.f < r.f", window=last(40, order="ts"), tasks=3),
        partial(join_rows, on="l.w >= r.w", window=last(40)),
        partial(join_rows, on="l.k <> r.k AND l.s LIKE 'n%'", window=last(10)),
    )),
    Step("interval", (
        partial(join_rows, on="l.k BETWEEN r.low AND r.high", window=tumbling("50 seconds", on="ts"), tasks=2),
        partial(join_rows, on="r.f BETWEEN l.low AND l.high", window=_TIME),
    )),
    Step("text", (
        partial(join_rows, on="l.s = r.s", window=tumbling_rows(100), tasks=2),
        partial(join_rows, on="l.s < r.s", window=last(20)),
    )),
    Step("self join", (
        partial(join_rows, on="abs(a.f - b.f) <= 1", window=_TIME, aliases=("a", "b"), tasks=2),
        partial(join_rows, on="a.f < b.f AND a.g > b.g", window=last(40), aliases=("a", "b"), unordered=True),
    )),
    Step("schemes", (
        partial(join_rows, on=_BAND, window=_TIME, tasks=4, scheme=Adsp(patience=1, size=8)),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme=Sta(hot="auto", top=2, margin=1, worth=0)),
        partial(join_rows, on="l.k = r.k", window=_TIME, tasks=4, scheme="fastjoin"),
    )),
    Step("documents", (
        partial(join_documents, window=tumbling_rows(100)),
        partial(join_documents, window=_TIME, tasks=3, arrays="sets", scheme=Association(enough=1, worth=0)),
        partial(join_documents, two=True, window=tumbling("50 seconds", on="ts"), tasks=3),
        partial(join_documents, two=True, tasks=2),
    )),
    *(
        Step(name, (
            partial(join_rows, on=_BAND, window=last(100), index=name),
            partial(join_rows, on=_TWO, window=_TIME, index=name),
        ))
        for name in _INDEXES
    ),
    Step("threads", (
        partial(join_threads, on="abs(l.x - r.x) <= 1 AND l.f < r.f", window=last(100)),
        partial(join_threads, on="abs(l.f - r.f) <= 0.01 AND l.x <> r.x", window=within(100, on="t")),
        partial(join_threads, on="abs(l.f - r.f) <= 0.01", window=last(100)),
        partial(join_threads, on="l.f > r.f AND l.x <> r.x", window=last(20)),
        partial(join_threads, on="abs(a.f - b.f) <= 0.01 AND a.x <> b.x", window=last(100)),
    )),
    Step("state elsewhere", (partial(checksum, memoryview(bytearray(64))),)),
)  # fmt: skip
"""What `weft warm` runs, in order."""
