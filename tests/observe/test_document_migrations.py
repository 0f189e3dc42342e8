"""A migration of documents is reported as one of rows is: what moved, from where, how long it took, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import weft
from weft.documents import DocumentReader
from weft.local import NaturalJoin
from weft.observe import BatchReport, inspect_query
from weft.observe.metrics import BatchMetrics, read_batch
from weft.routing.documents import Association, DocumentPlan
from weft.state import Folder, open_folder
from weft_lab.torture.forced import force_plan

SCHEMA = pa.schema([("n", pa.int64()), ("document", pa.string())])
METRICS = {
    "alive", "arrived", "asked", "gained", "held", "late", "lost", "migrated", "moving", "notes",
    "opened", "pairs", "read", "reason", "refused", "routed", "routed_bytes", "sample", "seconds",
}  # fmt: skip


def documents(docs: Iterable[dict[str, Any]], first: int = 0) -> pa.Table:
    texts = [json.dumps(doc) for doc in docs]
    return pa.table({"n": range(first, first + len(texts)), "document": texts}, schema=SCHEMA)


def fed(join: NaturalJoin, table: pa.Table) -> int:
    return sum(part.num_rows for part in join.feed(table))


def reported(folder: Folder, batch: int) -> BatchMetrics:
    found = read_batch(folder, batch)
    assert found is not None
    return found


def plan_of(tasks: dict[str, int]) -> DocumentPlan:
    """Return a plan by the tasks (as bits) of each document with a single pair."""
    pairs = [int(DocumentReader().read(pa.array([text])).coded.pairs[0]) for text in tasks]
    return DocumentPlan.over(2, dict(zip(pairs, tasks.values(), strict=True)))


def test_rows_and_seconds_of_a_migration_of_documents(tmp_path: Path) -> None:
    """Ten documents say a, five b, three both: all who say a move from task 0 to 1, which has those that say b already."""
    docs = [{"a": 1}] * 10 + [{"b": 1}] * 5 + [{"a": 1, "b": 1}] * 3
    join = NaturalJoin(SCHEMA, column="document", id="n", tasks=2, scheme="association", state=str(tmp_path))
    fed(join, documents([]))
    apart, together = plan_of({'{"a": 1}': 0b01, '{"b": 1}': 0b10}), plan_of({'{"a": 1}': 0b10, '{"b": 1}': 0b10})
    for batch, plan in ((1, apart), (2, apart), (3, together)):
        force_plan(join.store, batch, plan)
        fed(join, documents(docs if batch == 1 else []))
    folder = open_folder(str(tmp_path / "local"))
    one, two = (join.store.read_metrics(task, 3) for task in (0, 1))
    assert one is not None and two is not None
    assert (one["gained"], one["lost"]) == (0, 13)
    assert (two["gained"], two["lost"]) == (10, 0), "those that say both were there"
    found = reported(folder, 3)
    assert found.held == {"left": 18, "right": 0}
    assert found.migration is not None and reported(folder, 2).migration is None
    assert found.migration.rows == 10 and found.migration.change == "2 pairs x 2 -> 2 pairs x 2"
    assert found.migration.seconds == max(each["seconds"]["load"] for each in (one, two)) > 0
    assert f"10 rows moved in {found.migration.seconds:.2f} s" in str(found.migration)
    assert [(batch, event.rows) for batch, event in inspect_query(str(tmp_path / "local")).migrations] == [
        (1, 0),
        (3, 10),
    ]


def ids(join: NaturalJoin, task: int, batch: int) -> set[int]:
    """Return the documents that a task holds after a batch."""
    first, own = join.store.manifest(0, batch), join.store.manifest(task, batch)
    if own is None or first is None or task >= first.plan["tasks"]:
        return set()
    runs = join.store.load(own, DocumentPlan(1), join.job.payload).runs["left"]
    return {number for run in runs for number in run.payload.column("id").to_pylist()}


def test_what_is_reported_is_what_moved(tmp_path: Path) -> None:
    """Users come and go, so partitions change; a restart with fewer tasks moves documents too. Held ids tell who moved."""
    scheme, migrations, size = Association(theta=0.0, delta=1, enough=1, worth=0.0), list[int](), 20
    folder = open_folder(str(tmp_path / "local"))
    for batch in range(9):
        tasks = 4 if batch < 6 else 3
        if batch in (0, 6):
            join = NaturalJoin(SCHEMA, column="document", id="n", tasks=tasks, scheme=scheme, state=str(tmp_path))
        docs = [{"user": batch // 3 * 10 + n % 5, "file": batch * 100 + n % 7} for n in range(size)]
        pairs = fed(join, documents(docs, batch * size))
        found = reported(folder, batch)
        gained = 0
        for task in range(tasks):
            told = join.store.read_metrics(task, batch)
            assert told is not None and set(told) == METRICS
            assert {"load", "state", "watch", "control", "pairs", "build"} == set(told["seconds"])
            old, now = ids(join, task, batch - 1), {n for n in ids(join, task, batch) if n < batch * size}
            assert (told["gained"], told["lost"]) == (len(now - old), len(old - now))
            gained += len(now - old)
        if found.migration is not None:
            migrations.append(batch)
            assert found.migration.rows == gained and found.migration.seconds > 0
            restarted = "restarted with 3 tasks"
            assert found.migration.reason == (restarted if batch == 6 else join.store.reason(batch)) != ""
        assert found.pairs == pairs and sum(found.arrived.values()) == size
        assert found.asked == found.routed >= size and found.routed_bytes > 0
        assert bool(found.moving) == (join.store.reason(batch + 1) != "")
        assert BatchReport.of(batch, 1.0, size, found, None).to_dict()["moving"] is bool(found.moving)
    assert 6 in migrations and len(migrations) >= 3


def test_documents_that_expired_do_not_count_as_moved(tmp_path: Path) -> None:
    """Each task forgets by its own runs, so what has expired may still be with one task and not with another."""
    join = NaturalJoin(SCHEMA, column="document", id="n", tasks=2, window=weft.last(30), state=str(tmp_path))
    says = [("a", "b", "ab", "b", "b")[n % 5] for n in range(140)]
    owners = [{"a": 0, "b": 1}, {"a": 1, "b": 0}]
    moved = []
    for batch in range(7):
        if batch:
            force_plan(join.store, batch, plan_of({f'{{"{name}": 1}}': 1 << owners[batch % 2][name] for name in "ab"}))
        first = 20 * batch
        fed(join, documents([dict.fromkeys(name, 1) for name in says[first : first + 20]], first))
        if batch < 2:
            continue
        for task in (0, 1):
            told = join.store.read_metrics(task, batch)
            assert told is not None
            old, new = (
                {n for n in range(first - 30, first) if any(owners[at % 2][name] == task for name in says[n])}
                for at in (batch - 1, batch)
            )
            assert (told["gained"], told["lost"]) == (len(new - old), len(old - new))
        moved.append(reported(open_folder(str(tmp_path / "local")), batch).migration)
    assert [event.rows for event in moved if event is not None] == [24] * 5, "6 say a, 18 say b, 6 say both and stay"
