"""What a local join refuses, it refuses in three parts: what is wrong, what there is, what to try."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError, StateMismatch, WeftError
from weft.local import Join

X = pa.schema({"x": pa.int64()})
LEFT, RIGHT = pa.table({"x": [5, 6]}), pa.table({"x": [4, 4]})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"on": None}, "on=None"),
        ({"window": "10 seconds"}, "window='10 seconds'"),
        ({"suffix": None}, "suffix=None"),
        ({"tasks": 10**6}, "at most 10,000"),
        ({"index": None}, "no index named None"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(WeftError, match=says) as error:
        weft.local.join(LEFT, RIGHT, **{"on": "l.x > r.x", **arguments})
    assert "Hint: " in str(error.value)


@pytest.mark.parametrize(
    ("window", "says"),
    [
        (lambda: weft.within(5, on=3), "column 3"),  # type: ignore[arg-type]
        (lambda: weft.last(10**30), r"2\*\*62"),
        (lambda: weft.tumbling_rows(2**63), r"2\*\*62"),
        (lambda: weft.tumbling(2**64, on="x"), "too long"),
        (lambda: weft.tumbling(0, on="x"), "at least 1"),
        (lambda: weft.within("0.1 us", on="x"), "not a whole number of microseconds"),
        (lambda: weft.within("100000000000000 days", on="x"), "too long"),
    ],
)
def test_windows_beyond_all_bounds(window: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        window()


def test_tables_that_do_not_fit() -> None:
    join = Join(X, X, on="l.x > r.x")
    with pytest.raises(SpecError, match="Declared: x int64"):
        list(join.feed(pa.table({"y": [1]}), RIGHT))
    with pytest.raises(SpecError, match="is a NoneType"):
        list(join.feed(None, RIGHT))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="fed on the right"):
        list(Join(X, X, on="a.x > b.x", aliases=("a", "b")).feed(LEFT, RIGHT))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Join([LEFT], X, on="l.x > r.x"), r"left side is a list(.|\n)*Hint: .* give the schema of a table"),
        (lambda: weft.local.explain(None, X, on="l.x > r.x"), "left side is a NoneType"),
        (lambda: weft.local.self_join(LEFT, on="a.x > b.x", unordered="yes"), "unordered='yes'"),  # type: ignore[arg-type]
        (lambda: Join(X, X, on="l.x > r.x", state=5), "state=5"),  # type: ignore[arg-type]
        (lambda: Join(X, X, on="l.x > r.x", state="/proc/weft"), "/proc/weft cannot be written"),
        (lambda: weft.local.natural_join(LEFT, column="x", window="10 s"), "window='10 s'"),  # type: ignore[arg-type]
        (lambda: Join(X, X, on="l.x > r.x", window=weft.within("1 s", on="x")), "Hint: write plain numbers"),
    ],
)
def test_arguments_are_looked_at_when_they_are_given(call: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says) as error:
        call()
    assert "\nHint: " in str(error.value)


def test_nanoseconds_are_exact_or_refused() -> None:
    whole, fine = (pa.table({"t": pa.array(values, pa.timestamp("ns"))}) for values in ([1000, 2000], [1, 2]))
    assert weft.local.join(whole, whole, on="l.t = r.t").num_rows == 2
    with pytest.raises(SpecError, match="finer than a microsecond"):
        weft.local.join(fine, fine, on="l.t = r.t")


def test_a_folder_is_gone_on_with(tmp_path: Path) -> None:
    found = [
        sum(table.num_rows for table in Join(X, X, on="l.x > r.x", state=str(tmp_path)).feed(LEFT, RIGHT))
        for _ in range(2)
    ]
    assert found == [4, 12]
    with pytest.raises(StateMismatch, match=r"l\.x >= r\.x"):
        Join(X, X, on="l.x >= r.x", state=str(tmp_path))
