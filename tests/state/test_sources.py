"""A migration opens what can hold a row that a task gains: a few files for each task, however many tasks there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.state.batches import ON, expected, feed, joined, rows, store
from weft.local import Join
from weft.observe import inspect_query, read_batch
from weft.state import open_folder, read_sealed, write_sealed

EQUAL = "l.x = r.x"
CASES: dict[str, dict[str, Any]] = {
    "hash": {"on": EQUAL, "scheme": "hash"},
    "fastjoin": {"on": EQUAL, "scheme": "fastjoin(biclique=false)"},
    "biclique": {"on": EQUAL, "scheme": "fastjoin"},
    "matrix": {"scheme": "matrix"},
    "split": {"scheme": "split"},
    "range": {"scheme": "range"},
    "adsp": {"scheme": "adsp"},
    "auto": {},
    "outer": {"on": EQUAL, "how": "full", "scheme": "hash"},
}


def _query(path: Path, tasks: int, batch: int, more: dict[str, Any]) -> Join:
    return joined(store(path, on=more.get("on", ON)), batch, tasks=tasks, **more)


def _pairs(join: Join, batches: int) -> list[tuple[int, int]]:
    """Feed batches and return the pairs of ids; those of an outer join have gaps."""
    found: list[tuple[int, int]] = []
    for batch in range(join.run.batch, join.run.batch + batches):
        for table in join.feed(rows("left", batch), rows("right", batch)):
            found += zip(table["id"].to_pylist(), table["id_right"].to_pylist(), strict=True)
    return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("known", [True, False], ids=["bounds", "no bounds"])
def test_pairs_do_not_depend_on_what_is_left_closed(tmp_path: Path, case: str, known: bool) -> None:
    """Also of a state that does not say where the rows of its segments lie: it was written before there were bounds."""
    more = CASES[case]
    whole = _pairs(_query(tmp_path / "whole", 1, 0, more), 9) if "on" in more else sorted(expected(9))
    found = _pairs(_query(tmp_path, 5, 0, more), 3)
    for batch, tasks in ((3, 8), (6, 3)):
        if not known:
            _without_bounds(tmp_path / "query", batch - 1)
        found += _pairs(_query(tmp_path, tasks, batch, more), 3)
    assert sorted(found, key=str) == sorted(whole, key=str)


def _without_bounds(query: Path, batch: int) -> None:
    for task in (path.name for path in query.iterdir() if path.name.isdigit()):
        folder = open_folder(str(query / task))
        if folder.exists(f"{batch}.json"):
            body = read_sealed(folder, f"{batch}.json")
            for kinds in (body["segments"], body.get("waiting", {})):
                for entry in (entry for entries in kinds.values() for entry in entries):
                    assert entry.pop("low") and entry.pop("high")
            write_sealed(folder, f"{batch}.json", body)


@pytest.mark.parametrize("case", ["hash", "fastjoin", "matrix", "split", "range"])
def test_files_opened_grow_with_the_tasks_and_not_with_their_square(tmp_path: Path, case: str) -> None:
    """Half as many tasks more join in, and each opens the manifests and segments of those whose rows it gets."""
    opened = {}
    for tasks in (4, 16):
        path = tmp_path / str(tasks)
        feed(_query(path, tasks, 0, CASES[case]), 4)
        feed(_query(path, tasks * 3 // 2, 4, CASES[case]), 4)
        moves = [event for _, event in inspect_query(str(path / "query")).migrations]
        most = max(moves, key=lambda event: event.rows)
        assert most.rows and most.bytes
        opened[tasks] = most.files
    assert opened[16] <= 6 * opened[4], opened


def test_a_migration_says_what_it_read(tmp_path: Path) -> None:
    feed(_query(tmp_path, 2, 0, CASES["hash"]), 2)
    feed(_query(tmp_path, 3, 2, CASES["hash"]), 1)
    done = read_batch(open_folder(str(tmp_path / "query")), 2)
    assert done is not None and done.migration is not None
    assert f"{done.migration.files} files opened" in str(done.migration)
    told = json.loads((tmp_path / "query" / "2" / "2.metrics.json").read_text(encoding="utf-8"))["body"]
    assert told["opened"] >= 1 and told["read"] > 0 and told["gained"] > 0
