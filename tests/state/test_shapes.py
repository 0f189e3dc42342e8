"""A document with a right checksum and a wrong content is refused by its name, wherever in it a value has another type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.state.batches import feed, joined, store
from weft.errors import StateError
from weft.local import Join
from weft.spec.shapes import fits
from weft.state import open_folder, write_sealed

WRONG: tuple[Any, ...] = (None, "x", [], {}, 1.5, 2**64, True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole")
    feed(joined(store(path), scheme="matrix"), 2)
    return path


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value; not of what a scheme notes for itself, which has a shape of its own."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        if key != "notes":
            yield (*path, key)
            yield from places(one, (*path, key))


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(body))
    held = copy
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value
    return copy


def kind(value: Any) -> str:
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize("name", ["0/1.json", "1/1.json", "plans/2.json"])
def test_a_value_of_another_type_is_refused(name: str, whole: Path) -> None:
    folder = open_folder(str(whole)) / "query"
    where, file = folder / name.partition("/")[0], name.partition("/")[2]
    body = json.loads((whole / "query" / name).read_bytes())["body"]
    read, tried, passed = store(whole), 0, set()
    for path in places(body):
        held = body
        for key in path:
            held = held[key]
        for value in (one for one in WRONG if kind(one) != kind(held) or one == 2**64):
            write_sealed(where, file, changed(body, path, value))
            tried += 1
            with suppress(StateError):
                read.read_pinned(2) if name.startswith("plans") else read.manifest(int(name[0]), 1)
                passed.add(path[0])
    write_sealed(where, file, body)
    assert tried > 40
    # The plan of a manifest is read where it is needed; the reason and the history of a pinned plan are told or compared as text.
    assert passed <= ({"reason", "history"} if name.startswith("plans") else {"plan"})


def test_a_plan_of_no_tasks_or_of_a_billion(whole: Path) -> None:
    folder = open_folder(str(whole)) / "query" / "plans"
    body = json.loads((whole / "query" / "plans" / "2.json").read_bytes())["body"]
    for tasks in (0, -1, 10**9):
        write_sealed(folder, "2.json", changed(body, ("plan", "tasks"), tasks))
        with pytest.raises(StateError, match=f"it has {tasks} tasks"):
            store(whole).read_pinned(2)
    write_sealed(folder, "2.json", body)


def test_lists_pass_for_tuples_and_unknown_annotations_for_anything() -> None:
    assert fits([[1, 2], [3, 4]], tuple[tuple[int, int], ...]) and not fits([[1]], tuple[tuple[int, int], ...])
    assert fits(1, float) and not fits(True, int) and not fits("1", int) and fits(object(), Any)


def test_intervals_as_wide_as_all_words_are_kept(tmp_path) -> None:
    """The width of an interval of doubles of both signs does not fit into a word."""
    table = pa.table({"id": [0, 1], "lo": [-1.0e300, -2.0], "hi": [1.0e300, 2.0], "x": [0.0, 5.0]})
    options: dict[str, Any] = {
        "on": "l.x BETWEEN r.lo AND r.hi",
        "select": ["l.id AS x", "r.id AS y"],
        "state": str(tmp_path),
    }
    first = Join(table.schema, table.schema, **options)
    assert [row for part in first.feed(table.slice(0, 0), table) for row in part.to_pylist()] == []
    again = Join(table.schema, table.schema, **options)
    found = {(row["x"], row["y"]) for part in again.feed(table, table.slice(0, 0)) for row in part.to_pylist()}
    assert found == {(0, 0), (0, 1), (1, 0)}
