"""Both front ends make the same spec of the same condition."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.connect_session import MODE
from tests.planner.test_choose import CASES
from tests.spark.test_conditions import BETWEEN, DDL, LISTS, NESTED, NULLS, TRIED
from weft.spark.catalyst import CatalystFront
from weft.spark.connect import ConnectFront
from weft.spec import Compare, Condition

COLUMN = re.compile(r"[lr]\.(?:`[^`]+`|\w+)")
GOLDEN = [on for on, *_ in CASES.values()]
MIXED = [
    "l.a = r.id", "l.a < r.x", "l.x = r.s", "l.id = r.s", "l.f <= r.x", "l.f = r.f", "l.dec = r.a", "l.dec < r.wide",
    "l.d = r.ts", "l.d < r.ntz", "l.ts < r.ts AND l.d > r.d", "l.b = r.b", "l.bin < r.bin", "l.s < r.s", "l.s != r.s",
    "abs(l.a - r.id) <= 2", "abs(l.x - r.x) < 0.5", "abs(l.f - r.f) <= 1", "abs(l.dec - r.dec) <= 0.25",
    "abs(l.dec - r.a) <= 1.5", "l.id - r.id <= 3", "l.x - r.x < 2", "l.x - r.x >= 2", "3 >= r.id - l.id", "r.id - l.id > -2",
    "abs(datediff(l.d, r.d)) <= 3", "l.ts - r.ts <= INTERVAL 5 SECONDS", "abs(l.id - r.id) <= 1 AND l.a = r.a AND l.x > 1",
    "l.x > r.x AND r.id < 7 AND l.s LIKE 'a%'", "NOT l.a = r.a", "NOT (l.a < r.a)",
    "(l.a = r.a AND (l.x > r.x AND (l.id <> r.id OR l.a = 1)))", "l.a + 1 = r.a * 2", "upper(l.s) = lower(r.s)",
]  # fmt: skip
MORE = ", f float, dec decimal(10,2), wide decimal(30,4), ntz timestamp_ntz, b boolean, bin binary"

SHORT = [*GOLDEN, *MIXED[::3], *BETWEEN[::4], *NULLS[::6]]
ALL = [*GOLDEN, *MIXED, *BETWEEN, *NULLS, *LISTS, *TRIED, *NESTED]


def told(condition: Condition) -> dict[str, Any]:
    """Return what a condition comes to, without the words of either front end."""

    def compare(item: Compare) -> tuple[Any, ...]:
        keys = [(tuple(COLUMN.findall(key.text)), key.encode) for key in (item.left, item.right)]
        return (*keys, item.op, item.lo, item.hi, item.weak, item.step)

    rest = {part: bool(getattr(condition, part)) for part in ("residual", "left_only", "right_only")}
    return {"compares": [compare(item) for item in condition.compares], **rest}


def specs(classic: SparkSession, connect: SparkSession, conditions: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    differ = {}
    for on in conditions:
        ddl = "id long, x double, y double, s string, ts timestamp" if on in GOLDEN else DDL + MORE
        found = []
        for session, front, mode in ((classic, CatalystFront(), None), (connect, ConnectFront(), "1")):
            if mode is None:
                monkeypatch.delenv(MODE, raising=False)
            else:
                monkeypatch.setenv(MODE, mode)
            left, right = session.createDataFrame([], ddl), session.createDataFrame([], ddl)
            analyzed: Any = front.analyze(left, right, on, None, "_right", ("l", "r"))
            found.append({**told(analyzed.condition), "payload": analyzed.payload})
        if found[0] != found[1]:
            differ[on] = found
    if os.environ.get("WEFT_SHOW"):
        for on, (one, two) in differ.items():
            print(
                on, "\n  catalyst", one["compares"], one["residual"], "\n  sqlglot ", two["compares"], two["residual"]
            )
    assert not differ


def test_the_same_condition_gives_the_same_spec(spark, connect, monkeypatch) -> None:
    specs(spark, connect, SHORT, monkeypatch)


@pytest.mark.long
def test_every_condition_gives_the_same_spec(spark, connect, monkeypatch) -> None:
    specs(spark, connect, ALL, monkeypatch)
