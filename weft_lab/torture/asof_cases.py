"""Random as-of joins with their input. Domains are tiny, so that ties, equal distances and rows without a place abound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from weft.local import AsofJoin
from weft.routing import AsofPlan, AsofScheme
from weft.spec import INNER, KINDS
from weft.spec.asof import DIRECTIONS
from weft.state import Pinned
from weft.types import SIDES
from weft_lab.oracle import AsofResult, Batch, Row, asof_joined
from weft_lab.torture.cases import Ids
from weft_lab.torture.draw import Draw

__all__ = ["SCHEMA", "SELECT", "AsofCase", "Further", "an_asof_case", "an_asof_plan", "ids", "table"]

SCHEMA = pa.schema({
    "id": pa.int64(), "t": pa.int64(), "f": pa.float64(), "k": pa.int32(), "s": pa.string(), "v": pa.int64(), "w": pa.float64(),
})  # fmt: skip
SELECT = ("l.id AS x", "r.id AS y")
FLOATS = (0.0, 1.0, 1.5, 2.5, -0.0, 3.0, math.nan, math.inf, -math.inf, None)
SMALL = (0, 1, 2, 3, None)
KEYS = (0, 0, 1, None)
TEXTS = ("a", "b", "longer text", None)
EAGER = AsofScheme(enough=0, hot=0.1, rounds=1)
"""Cuts keys as soon as it has seen a few rows."""


@dataclass(frozen=True)
class Further:
    """A further condition: its SQL, and what it means."""

    sql: str
    both: Callable[[Row, Row], bool] | None = None
    left_only: Callable[[Row], bool] | None = None
    right_only: Callable[[Row], bool] | None = None


def _known(test: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *values: None not in values and test(*values)


FURTHER = (
    Further("l.v >= r.v", lambda a, b: _known(lambda x, y: x >= y)(a["v"], b["v"])),
    Further("l.v + r.v > 3", lambda a, b: _known(lambda x, y: x + y > 3)(a["v"], b["v"])),
    Further("abs(l.v - r.v) <= 1", lambda a, b: _known(lambda x, y: abs(x - y) <= 1)(a["v"], b["v"])),
    Further("l.s < r.s", lambda a, b: _known(lambda x, y: x < y)(a["s"], b["s"])),
    Further("r.v > 1", None, None, lambda b: _known(lambda x: x > 1)(b["v"])),
    Further(
        "l.v <> r.v AND l.v > 0", lambda a, b: _known(lambda x, y: x != y)(a["v"], b["v"]),
        lambda a: _known(lambda x: x > 0)(a["v"]),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class AsofCase:
    """An as-of join and its input; with `delays` it runs by a clock, and left rows leave when their answer is final."""

    asked: dict[str, Any]
    further: Further | None = None
    batches: tuple[Batch, ...] = ()
    delays: tuple[int, int] | None = None

    def expected(self) -> AsofResult:
        """Return what a nested loop finds."""
        known = ("on", "by", "direction", "tolerance", "strict", "ties")
        asked = {name: self.asked[name] for name in known if name in self.asked}
        further = self.further or Further("")
        return asof_joined(
            self.batches, delays=self.delays, left_only=further.left_only, right_only=further.right_only,
            residual=further.both, kind=INNER if self.asked["how"] == "inner" else KINDS["left"], **asked,
        )  # fmt: skip

    def wanted(self) -> tuple[Counter[Ids], dict[str, int]]:
        """Return what must have left with the last batch, and how many rows of each side are late."""
        expected = self.expected()
        return ids(expected.left_by(len(self.batches) - 1)), {side: expected.late[side] for side in SIDES}

    def join(self, **options: Any) -> AsofJoin:
        """Make the local join."""
        left, right = (None, None) if self.delays is None else self.delays
        return AsofJoin(SCHEMA, SCHEMA, select=SELECT, left_delay=left, right_delay=right, **self.asked, **options)

    def options(self, draw: Draw) -> dict[str, Any]:
        """Draw what may be another in every life."""
        return {"scheme": draw.pick((EAGER, AsofScheme()))}

    def tasks(self, draw: Draw, options: dict[str, Any]) -> int:
        """Draw a number of tasks."""
        return draw.integer(1, 5)

    def plan(self, draw: Draw, tasks: int) -> AsofPlan:
        """Draw a plan for the next batch."""
        return an_asof_plan(draw, self.join(tasks=tasks))

    def tables(self, parts: Sequence[Sequence[Row]]) -> list[pa.Table]:
        """Return the map partitions of one side as tables."""
        return [table(part) for part in parts]


def a_row(draw: Draw, number: int, batch: int) -> Row:
    """Make a row; times mostly go on from batch to batch."""
    at = draw.pick((*range(9), None))
    return {
        "id": number, "t": None if at is None else at + 3 * batch, "f": draw.pick(FLOATS), "k": draw.pick(KEYS),
        "s": draw.pick(TEXTS), "v": draw.pick(SMALL), "w": draw.pick(FLOATS),
    }  # fmt: skip


def a_stream(draw: Draw, most: int, size: int) -> tuple[Batch, ...]:
    """Draw up to `most` batches of map partitions of up to `size` rows, which are numbered through."""
    found, number = [], 0
    for batch in range(draw.integer(1, most)):
        sides: list[list[list[Row]]] = [[], []]
        for side in sides:
            for _ in range(draw.integer(0, 2)):
                rows = draw.integer(0, size)
                side.append([a_row(draw, number + k, batch) for k in range(rows)])
                number += rows
        found.append(Batch(*sides))
    return tuple(found)


def an_asof_case(draw: Draw, *, on: str = "t", streams: bool = False, most: int = 4, size: int = 5) -> AsofCase:
    """Draw an as-of join and its input; one of `streams` has delays."""
    asked: dict[str, Any] = {
        "on": on, "by": draw.pick(((), ("k",), ("s",), ("k", "s"))), "direction": draw.pick(DIRECTIONS),
        "tolerance": draw.pick((None, 0, 1, 2, 5)), "strict": draw.flag(), "how": draw.pick(("left", "inner")),
        "ties": draw.pick((None, None, "v", "w")),
    }  # fmt: skip
    further = draw.pick((None, None, *FURTHER))
    delays = (draw.integer(0, 4), draw.integer(0, 4)) if streams else None
    if further is not None:
        asked["where"] = further.sql
    return AsofCase(asked, further, a_stream(draw, most, size), delays)


def an_asof_plan(draw: Draw, join: AsofJoin) -> AsofPlan:
    """Draw a plan that serves a join: keys cut or not, slices of any length."""
    first = join.scheme.initial(join.spec, join.job.tasks)
    assert isinstance(first, AsofPlan) and join.spec.asof is not None
    if join.spec.asof.chooses and join.spec.asof.tolerance is None:  # such a plan cannot cut
        return first
    length = draw.pick((0, 1, 2, 3, 7))
    keys = {draw.pick(_keys(join)) for _ in range(draw.integer(0, 3))} if length and first.left else set[int]()
    return replace(first, length=length if not first.left or keys else 0, hot=tuple(sorted(keys)))


def _keys(join: AsofJoin) -> list[int]:
    """Return the routing keys of rows of every group."""
    every = table({"id": 0, "t": 0, "k": k, "s": s, "v": 2} for k in (0, 1) for s in TEXTS[:3])
    made, _ = join.sources["right"].prepare(every)
    plan = join.scheme.initial(join.spec, 1)
    block, _ = join.run.joiner.router("right", join.sources["right"].inputs, Pinned(plan), 0, 0)._block(made)
    assert isinstance(plan, AsofPlan)
    return sorted({int(word) for word in plan.key("right", block.words)}) or [0]


def table(part: Iterable[Row]) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist([dict(row) for row in part], SCHEMA)


def ids(found: Iterable[tuple[Row, Row | None]]) -> Counter[Ids]:
    """Return the ids of left rows and of the rows they were given, None where there is none."""
    return Counter((one["id"], None if two is None else two["id"]) for one, two in found)
