"""Whatever happens to a file of the state, the next batch raises an error that names it, and `inspect_query` knows it too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.state.batches import ON, expected, feed, joined, rows, store
from weft.errors import StateError, StateMismatch
from weft.observe import inspect_query
from weft.state import Manifest
from weft.types import SIDES

BATCHES = 4
Harm = Callable[[Path], None]


def _replace(file: Path, content: bytes) -> None:
    """Put another file in its place: the pages of the old one may still be mapped."""
    aside = file.with_name(".aside")
    aside.write_bytes(content)
    aside.rename(file)


def _truncate(length: int) -> Harm:
    return lambda file: _replace(file, file.read_bytes()[:length])


def _half(file: Path) -> None:
    _replace(file, file.read_bytes()[: file.stat().st_size // 2])


def _flip(share: float) -> Harm:
    def harm(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[min(int(len(content) * share), len(content) - 1)] ^= 0x04
        _replace(file, bytes(content))

    return harm


def _foreign_arrow(file: Path) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [1, 2, 3]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    _replace(file, sink.getvalue().to_pybytes())


def _foreign_same_size(file: Path) -> None:
    _replace(file, b"x" * file.stat().st_size)


def _longer(file: Path) -> None:
    _replace(file, file.read_bytes() + b"\0")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _like(other: str) -> Harm:
    """Put another file of the same query in its place, itself whole."""
    return lambda file: _replace(file, (file.parents[1] / other).read_bytes())


HARMS: dict[str, Harm] = {
    "missing": Path.unlink,
    "empty": _truncate(0),
    "cut to one byte": _truncate(1),
    "cut in half": _half,
    "last byte cut": _truncate(-1),
    "longer": _longer,
    "flip at 0 %": _flip(0.0),
    "flip at 1 %": _flip(0.01),
    "flip at 30 %": _flip(0.3),
    "flip at 50 %": _flip(0.5),
    "flip at 77 %": _flip(0.77),
    "flip at 100 %": _flip(1.0),
    "text": lambda file: _replace(file, b"to whom it may concern\n"),
    "json": lambda file: _replace(file, b'{"plan": {}}'),
    "arrow": _foreign_arrow,
    "same size": _foreign_same_size,
    "a folder": _folder,
    "the spec": _like("spec.json"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state after a few batches: two tasks, segments on both sides."""
    path = tmp_path_factory.mktemp("whole")
    feed(joined(store(path), scheme="matrix"), BATCHES)
    return path


@pytest.fixture
def query(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "state")
    return tmp_path / "state" / "query"


def _manifest(query: Path, task: int, batch: int = BATCHES - 1) -> Manifest:
    found = store(query.parent).manifest(task, batch)
    assert found is not None
    return found


def _go_on(query: Path) -> None:
    feed(joined(store(query.parent), BATCHES, scheme="matrix"), 1)


def _segments(query: Path, batch: int) -> set[str]:
    return {
        f"{task}/{entry.name}" for task in (0, 1) for side in SIDES for entry in _manifest(query, task, batch).segments[side]
    }  # fmt: skip


def test_whole_state_goes_on(query: Path) -> None:
    found = feed(joined(store(query.parent), BATCHES, scheme="matrix"), 2)
    assert found == expected(BATCHES + 2, first=BATCHES)
    assert inspect_query(str(query)).last_good == BATCHES + 1


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", ["left segment", "right segment", "manifest of task 0", "manifest of task 1", "plan"])
def test_harm(name: str, harm: str, query: Path) -> None:
    task = 1
    if name.endswith("segment"):
        entry = _manifest(query, task).segments["left" if name.startswith("left") else "right"][-1]
        file = query / str(task) / entry.name
    elif name == "plan":
        file = query / "plans" / f"{BATCHES}.json"
    else:
        file = query / name[-1] / f"{BATCHES - 1}.json"
    relative = str(file.relative_to(query))
    good = [
        batch for batch in range(BATCHES - 1) if not name.endswith("segment") or relative not in _segments(query, batch)
    ]
    HARMS[harm](file)
    view = inspect_query(str(query))
    assert [damage.file for damage in view.damage] == [str(file)]
    assert view.last_good == (good[-1] if good else None)
    with pytest.raises(StateError) as caught:
        _go_on(query)
    assert str(file) in str(caught.value)
    assert "Hint:" in str(caught.value)
    after = inspect_query(str(query))  # another task may have finished the batch: it is no good one all the same
    assert str(file) in [damage.file for damage in after.damage]
    assert after.last_good == view.last_good


@pytest.mark.parametrize(
    ("file", "by"),
    [
        (f"0/{BATCHES - 1}.json", f"1/{BATCHES - 1}.json"),
        (f"1/{BATCHES - 1}.json", f"0/{BATCHES - 1}.json"),
        (f"1/{BATCHES - 1}.json", f"1/{BATCHES - 2}.json"),
        (f"1/{BATCHES - 1}.json", f"1/{BATCHES - 1}.metrics.json"),
        (f"1/{BATCHES - 1}.json", f"plans/{BATCHES}.json"),
        (f"plans/{BATCHES}.json", f"0/{BATCHES - 1}.json"),
        (f"plans/{BATCHES}.json", f"0/{BATCHES - 1}.metrics.json"),
        (f"plans/{BATCHES}.json", f"plans/{BATCHES - 1}.json"),
    ],
)
def test_a_whole_document_in_the_wrong_place(file: str, by: str, query: Path) -> None:
    _like(by)(query / file)
    with pytest.raises(StateError) as caught:
        _go_on(query)
    assert str(query / file) in str(caught.value)


def test_a_segment_of_another_task(query: Path) -> None:
    held = [_manifest(query, task).segments for task in (0, 1)]  # a matrix keeps one side on both tasks, the other once
    pairs = [(held[0][side][-1], held[1][side][-1]) for side in SIDES]
    mine, theirs = next((a.name, b.name) for a, b in pairs if a.checksum != b.checksum)
    _like(f"1/{theirs}")(query / "0" / mine)
    with pytest.raises(StateError, match=rf"0/{mine} is damaged"):
        _go_on(query)


def test_a_manifest_of_another_join(query: Path, tmp_path: Path) -> None:
    on = "abs(l.x - r.x) <= 2"
    feed(joined(store(tmp_path / "other", on=on), on=on, scheme="matrix"), BATCHES)
    _replace(query / "1" / "3.json", (tmp_path / "other" / "query" / "1" / "3.json").read_bytes())
    with pytest.raises(StateError, match=r"1/3\.json does not belong here: its history differs"):
        _go_on(query)


def test_what_the_next_batch_does_not_need_may_be_lost(query: Path) -> None:
    """Older versions, metrics, files written aside by a killed task: no error, no loss."""
    for path in (
        query / "0" / "0.json",
        query / "1" / "1.json",
        query / "plans" / "1.json",
        query / "1" / "3.metrics.json",
    ):
        path.unlink()
    (query / "0" / ".4-0.arrow.123-abc").write_bytes(b"half")
    (query / "1" / "4-0.arrow").write_bytes(b"torn by a killed task that had no time to rename")
    found = feed(joined(store(query.parent), BATCHES, scheme="matrix"), 1)
    assert found == expected(BATCHES + 1, first=BATCHES)


def test_all_is_gone(query: Path) -> None:
    shutil.rmtree(query)
    with pytest.raises(StateError, match=rf"{BATCHES}\.json is missing"):
        _go_on(query)


def test_a_replay_over_what_it_left_before(query: Path) -> None:
    """The batch that was interrupted runs again: same pairs, same bytes."""

    def content() -> dict[str, bytes]:
        kept = (path for path in query.rglob("*") if path.is_file() and "metrics" not in path.name)
        return {str(path.relative_to(query)): path.read_bytes() for path in kept}

    once = feed(joined(store(query.parent), BATCHES, scheme="matrix"), 1)
    before = content()
    again = feed(joined(store(query.parent), BATCHES, scheme="matrix"), 1)
    assert once == again
    assert before == content()


CHANGES: dict[str, tuple[dict[str, Any], str, str]] = {
    "predicate": ({"on": "abs(l.x - r.x) <= 4"}, "condition", "<= 4"),
    "operator": ({"on": "l.x < r.x"}, "condition", "<"),
    "window": ({"window": weft.within(41, on="ts", delay=5)}, "window", "41"),
    "delay": ({"window": weft.within(40, on="ts", delay=6)}, "window", "6"),
    "kind of window": ({"window": weft.last(40)}, "window", "last 40"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_join_is_refused(change: str, query: Path) -> None:
    more, what, now = CHANGES[change]
    options: dict[str, Any] = {"on": ON, "scheme": "matrix", **more}
    fingerprint = joined(None, **options).spec.fingerprint()
    state = store(query.parent)
    state.fingerprint = fingerprint
    made = joined(state, BATCHES, **options)
    with pytest.raises(StateMismatch, match="belongs to another join") as caught:
        feed(made, 1)
    text = str(caught.value)
    assert str(query) in text
    assert f"{what}: was " in text
    assert now in text.split("What changed:")[1]
    assert "new checkpoint" in text


def test_another_schema_is_refused(query: Path) -> None:
    from weft.local import Join
    from weft.state import StateStore

    wider = rows("left", 0).append_column("more", pa.array([1.5] * 40))
    options = {"on": ON, "window": weft.within(40, on="ts", delay=5), "tasks": 2, "scheme": "matrix"}
    fingerprint = Join(wider.schema, rows("right", 0).schema, **options).spec.fingerprint()  # type: ignore[arg-type]
    state = StateStore(str(query.parent), "query", fingerprint)
    made = Join(wider.schema, rows("right", 0).schema, state=state, **options)  # type: ignore[arg-type]
    made.run.batch = BATCHES
    with pytest.raises(StateMismatch, match=r"left schema: was .*more double"):
        list(made.feed(wider, rows("right", BATCHES)))


def test_the_spec_follows_a_first_batch_that_is_replayed_with_another_join(tmp_path: Path) -> None:
    """The first batch died; the user corrected the condition and started again from the same checkpoint."""
    feed(joined(store(tmp_path, on="l.x < r.x"), on="l.x < r.x"), 1)
    feed(joined(store(tmp_path)), 1)
    assert "<= 3" in inspect_query(str(tmp_path / "query")).condition
