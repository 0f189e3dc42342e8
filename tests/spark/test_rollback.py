"""State is lost: the query says which batch is the last whole one, goes back to it, and the sink ends with each pair once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from typer.testing import CliRunner

import weft
from tests.s3 import serving
from tests.spark.streams import Desk
from tests.state.batches import ON, WINDOW, expected, rows
from weft.cli.app import app
from weft.errors import SpecError, StateError, StateLost
from weft.observe import Rollback, inspect_query, open_state, plan_rollback, roll_back
from weft.state import known_checkpoint, known_sink, note_checkpoint, open_folder
from weft.types import SIDES

BATCHES = 12  # one more than the sink's log puts into one file


@dataclass(frozen=True)
class Query:
    """A query that has joined some batches and stopped."""

    desk: Desk

    @property
    def state(self) -> str:
        return str(self.desk.folder / "state")

    @property
    def folder(self) -> Path:
        (found,) = (path for path in Path(self.state).iterdir() if path.name != "tables")
        return found

    @property
    def checkpoint(self) -> Path:
        return self.desk.folder / "out-checkpoint"

    def frame(self):
        left, right = (self.desk.spark.readStream.schema(_schema(self.desk)).option("maxFilesPerTrigger", 1).parquet(
            str(self.desk.folder / side)) for side in SIDES)  # fmt: skip
        return weft.join(
            left, right, on=ON, window=WINDOW, tasks=2, state=self.desk.state, select=["l.id AS a", "r.id AS b"]
        )

    def pairs(self) -> list[tuple[int, int]]:
        return sorted((row["a"], row["b"]) for row in self.desk.read("out", self.frame()).to_pylist())

    def go_on(self) -> list[tuple[int, int]]:
        """Give the query two more batches, and return all pairs of its sink."""
        for number in (BATCHES, BATCHES + 1):
            for side in SIDES:
                self.desk.add(side, number, rows(side, number))
        self.desk.run(self.frame())
        return self.pairs()

    def plan(self, to: int | None = None, **more: Any) -> Rollback:
        return plan_rollback(open_state(self.state), self.folder.name, to, **more)

    def lose(self, first: int, *emptied: Path) -> None:
        """Delete the segments that one task wrote in a batch and all later ones, and empty other files."""
        _empty(*emptied)
        lost = [file for file in (self.folder / "1").glob("*.arrow") if int(file.name.partition("-")[0]) >= first]
        assert len(lost) >= BATCHES - first
        for file in lost:
            file.unlink()


def _schema(desk: Desk):
    return desk.spark.read.parquet(str(desk.folder / "left")).schema


_STOPPED: list[Query] = []
"""The query of these tests, run once."""


@pytest.fixture
def query(spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    """Give a test the query as it stopped; paths stand in Spark's files, so it is always in the same place."""
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100")
    if not _STOPPED:
        desk = Desk(spark, tmp_path_factory.mktemp("rollback") / "desk")
        for side in SIDES:
            desk.stream(side, [rows(side, batch) for batch in range(BATCHES)])
        desk.run(Query(desk).frame())
        shutil.copytree(desk.folder, desk.folder.parent / "copy")
        _STOPPED.append(Query(desk))
    yield _STOPPED[0]
    folder = _STOPPED[0].desk.folder
    shutil.rmtree(folder)
    shutil.copytree(folder.parent / "copy", folder)


def _back(query: Query, to: int | None = None, **more: Any) -> Rollback:
    plan = query.plan(to, **more)
    roll_back(open_state(query.state), plan, datetime.now(timezone.utc), timedelta())
    return plan


def _empty(*files: Path) -> None:
    for file in files:
        file.write_bytes(b"")


LOST: dict[str, tuple[Callable[[Query], None], int]] = {
    "the newest manifest": (lambda one: _empty(one.folder / "0" / "11.json"), 10),
    "segments of four batches": (lambda one: one.lose(8), 7),
    "both": (lambda one: one.lose(10, one.folder / "1" / "11.json"), 9),
    "Spark's files as well": (
        lambda one: _empty(
            one.folder / "0" / "11.json",
            *(one.checkpoint / name for name in ("offsets/11", "commits/11", "commits/10", "sources/1/11")),
        ), 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("lost", LOST)
def test_a_query_that_lost_state_goes_back_and_on(query: Query, lost: str) -> None:
    harm, good = LOST[lost]
    harm(query)
    if "Spark" not in lost:  # else Spark says so before Weft can
        with pytest.raises(StateLost, match=rf"Batch {good} is the last one that is whole\.\n.*--to {good}"):
            query.go_on()
    plan = _back(query)
    assert plan.to == good
    view = inspect_query(str(query.folder))
    assert (view.last_good, view.last_batch, view.damage) == (good, good, ())
    assert query.go_on() == expected(BATCHES + 2)
    view = inspect_query(str(query.folder))
    assert view.last_good == view.last_batch and not view.damage


def test_what_goes_is_kept_and_nothing_is_changed_by_a_dry_run(query: Query) -> None:
    query.lose(8)

    def content() -> dict[str, bytes]:
        below = query.desk.folder
        return {str(path.relative_to(below)): path.read_bytes() for path in below.rglob("*") if path.is_file()}

    before, call = content(), ["state", "rollback", query.state, query.folder.name[:6]]
    seen = CliRunner().invoke(app, [*call, "--dry-run", "--json"])
    assert seen.exit_code == 0 and content() == before
    told = json.loads(seen.stdout)
    assert (told["to"], told["newest"], told["runs_again"], told["planned_anew"]) == (7, 11, [8], [9, 10, 11])
    refused = CliRunner().invoke(app, [*call, "--yes"])
    assert refused.exit_code == 1 and "may be running" in refused.output and content() == before
    asked = CliRunner().invoke(app, [*call, "--idle", "0"])
    assert asked.exit_code == 2 and "not confirmed" in asked.output and content() == before
    done = CliRunner().invoke(app, [*call, "--idle", "0", "--yes", "--json"])
    assert done.exit_code == 0, done.output
    copies = Path(json.loads(done.stdout)["backup"])
    after, kept = content(), json.loads((copies / "rollback.json").read_text(encoding="utf-8"))["copies"]
    gone = {name for name in before.keys() - after.keys() if not name.endswith(".crc")}
    assert gone == {str(Path(file).relative_to(query.desk.folder)) for file in kept.values()} and gone
    for copy, file in kept.items():
        assert (copies / copy).read_bytes() == before[str(Path(file).relative_to(query.desk.folder))]
    assert query.go_on() == expected(BATCHES + 2)


@pytest.mark.parametrize(
    ("to", "why"),
    [(99, "no state of it is kept"), (10, r"\.arrow: it is missing"), (-1, "no state of it is kept")],
)
def test_a_batch_that_cannot_be_gone_back_to_is_refused(query: Query, to: int, why: str) -> None:
    query.lose(8)
    with pytest.raises(SpecError, match=f"cannot go back to batch {to}.*{why}") as refused:
        query.plan(to)
    assert "write --to 7" in str(refused.value)


def test_a_batch_that_the_checkpoint_no_longer_has_is_refused(query: Query) -> None:
    for number in range(6):
        (query.checkpoint / "offsets" / str(number)).unlink()
    with pytest.raises(
        SpecError, match=r"cannot go back to batch 5: .*offsets/5, or what it refers to in sources, is missing"
    ):
        query.plan(5)
    assert query.plan(6).to == 6


def test_a_whole_query_may_go_back_too(query: Query) -> None:
    assert _back(query, 5).to == 5
    assert query.go_on() == expected(BATCHES + 2)


def test_a_sink_that_may_skip_batches_is_asked_about(query: Query) -> None:
    folder = open_folder(str(query.folder))
    known, sink = known_checkpoint(folder), known_sink(folder)
    assert known is not None and sink.startswith("FileSink[")
    note_checkpoint(folder, known, "ForeachBatchSink")
    with pytest.raises(SpecError, match="not known whether the sink takes batches again: it is ForeachBatchSink"):
        query.plan(7)
    assert query.plan(11).newest == 11, "nothing runs again"
    assert query.plan(7, repeats=True).to == query.plan(7, sink=str(query.desk.folder / "out")).to == 7


def test_the_checkpoint_of_another_query_is_refused(query: Query, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"another"}', encoding="utf-8")
    with pytest.raises(StateError, match=r"is not the checkpoint of query .*\nIt belongs to query another"):
        query.plan(checkpoint=str(tmp_path))
    with pytest.raises(StateError, match="It has no readable metadata file"):
        query.plan(checkpoint=str(tmp_path / "none"))


def test_a_driver_that_still_runs_is_refused_after_the_rollback(query: Query) -> None:
    """Its next batch finds neither its manifest nor the right to write one."""
    from weft.state import Holder, read_sealed

    held = read_sealed(open_folder(str(query.folder)), "owner.json")
    _back(query, 9)
    with pytest.raises(StateError, match="Another run of this query has taken over"):
        Holder(held["run"], held["join"]).check(open_folder(str(query.folder)))


def test_checkpoint_and_state_on_an_object_store(query: Query, tmp_path: Path) -> None:
    """The same files go as on a disk, wherever they lie."""
    query.lose(8)
    with serving(tmp_path) as s3:
        for name in ("out-checkpoint", "out"):
            there = open_folder(s3.uri(name, direct=True))
            fs.copy_files(str(query.desk.folder / name), there.path, destination_filesystem=there.system)
        checkpoint, sink = (s3.uri(name, direct=True) for name in ("out-checkpoint", "out"))
        plan = _back(query, checkpoint=checkpoint, sink=sink)
        left = [key for key in s3.files() if "weft-rollback" not in key and ".crc" not in key]
        assert plan.to == 7 and any("weft-rollback" in key for key in s3.files())
    shutil.copytree(query.desk.folder.parent / "copy" / "state", query.state, dirs_exist_ok=True)
    query.lose(8)
    _back(query)
    wanted = [
        path.relative_to(query.desk.folder).as_posix()
        for name in ("out-checkpoint", "out")
        for path in (query.desk.folder / name).rglob("*")
        if path.is_file() and "weft-rollback" not in str(path) and path.suffix != ".crc"
    ]
    assert left == sorted(wanted)


def test_versions_of_sparks_own_operators_go_back_too(spark, tmp_path: Path) -> None:
    """A count behind the join has a state of its own: after going back and on, it is as if nothing had been lost."""
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100")
    desk = Desk(spark, tmp_path)
    for side in SIDES:
        desk.stream(side, [rows(side, batch) for batch in range(6)])
    one = Query(desk)

    def counted():
        return one.frame().dropDuplicates(["a"])

    desk.run(counted())
    plan = _back(one, 3)
    assert any(move.copy.startswith("state/") for move in plan.moves)
    desk.run(counted())
    found = [row["a"] for row in desk.read("out", counted()).to_pylist()]
    assert sorted(found) == sorted({a for a, _ in expected(6)})
