"""`weft.local.natural_join` against a nested loop over dictionaries: every window, scheme, slicing; each pair once."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import at_most
from weft.documents import DocumentReader, Read
from weft.errors import SpecError, StateError, UnknownColumn
from weft.local import NaturalJoin, natural_join
from weft.routing.documents import Association, Auto, DocumentScheme
from weft_lab.schemes import Disjoint, Everywhere, SetCover

Doc = dict[str, Any]
Pair = tuple[int, int]

EAGER: list[DocumentScheme] = [
    Association(theta=0.0, delta=1, enough=1), Association(theta=0.0, delta=2, enough=1, absorb="implied", unseen="owner"),
    Association(theta=0.0, delta=1, enough=1, alone=True),
    Disjoint(theta=0.0, delta=1, enough=1), SetCover(theta=0.0, delta=1, enough=1), Everywhere(),
]  # fmt: skip
WINDOWS: dict[str, Any] = {
    "all": weft.unbounded(), "tumbling": weft.tumbling(4, on="ts"), "rows": weft.tumbling_rows(3),
    "within": weft.within(2, on="ts"), "last": weft.last(2),
}  # fmt: skip
values = st.one_of(st.booleans(), st.integers(0, 1), st.sampled_from(["x", None]))
docs_of = st.lists(
    st.one_of(
        st.dictionaries(st.sampled_from("abcd"), values, max_size=3),
        st.booleans().map(lambda b: {"ok": b}),  # Boolean only
        st.tuples(st.booleans(), st.integers(0, 2)).map(lambda t: {"ok": t[0], "new": t[1]}),
    ),
    max_size=9,
)


def plain(doc: Doc) -> Doc:
    return {key: (type(value) is bool, value) for key, value in doc.items() if value is not None}


def joins(a: Doc, b: Doc) -> bool:
    one, two = plain(a), plain(b)
    common = one.keys() & two.keys()
    return bool(common) and all(one[key] == two[key] for key in common)


def table(docs: list[Doc], times: list[int], base: int = 0) -> pa.Table:
    return pa.table({
        "n": pa.array(range(base, base + len(docs)), pa.int64()),
        "document": pa.array([json.dumps(doc) for doc in docs], pa.string()),
        "ts": pa.array(times, pa.int64()),
    })  # fmt: skip


def near(window: str, a: Pair, b: Pair) -> bool:
    """Tell whether two (seq, time) of one stream are near."""
    if window == "all":
        return True
    if window == "tumbling":
        return a[1] // 4 == b[1] // 4
    if window == "rows":
        return a[0] // 3 == b[0] // 3
    return abs(a[1] - b[1]) <= 2 if window == "within" else abs(a[0] - b[0]) <= 2


def check(result: pa.Table, answer: set[Pair], left: list[Doc], right: list[Doc]) -> None:
    found = list(zip(result["left_id"].to_pylist(), result["right_id"].to_pylist(), strict=True))
    assert len(found) == len(set(found)), "a pair twice"
    assert set(found) == answer
    for row in result.to_pylist():
        a, b = left[row["left_id"]], right[row["right_id"]]
        assert sorted(row["shared"]) == sorted(plain(a).keys() & plain(b).keys())
        assert plain(json.loads(row["merged"])) == plain(a) | plain(b)


@given(docs_of, st.lists(st.integers(0, 9), min_size=9, max_size=9), st.sampled_from(sorted(WINDOWS)),
       st.sampled_from(EAGER), st.integers(1, 4), st.integers(1, 9))  # fmt: skip
@at_most(120)
@pytest.mark.paper("004-01", "004-21", "004-23", "004-25")
def test_one_stream(
    docs: list[Doc], times: list[int], window: str, scheme: DocumentScheme, tasks: int, batch: int
) -> None:
    stream = table(docs, times[: len(docs)])
    result = natural_join(stream, id="n", window=WINDOWS[window], scheme=scheme, tasks=tasks, batch=batch)
    answer = {
        (i, j)
        for i, j in itertools.combinations(range(len(docs)), 2)
        if joins(docs[i], docs[j]) and near(window, (i, times[i]), (j, times[j]))
    }
    check(result, answer, docs, docs)


@given(docs_of, docs_of, st.lists(st.integers(0, 9), min_size=18, max_size=18), st.sampled_from(sorted(WINDOWS)),
       st.sampled_from(EAGER), st.integers(1, 4), st.integers(1, 9))  # fmt: skip
@at_most(100)
@pytest.mark.paper("004-01", "004-25")
def test_two_streams(
    left: list[Doc], right: list[Doc], times: list[int], window: str, scheme: DocumentScheme, tasks: int, batch: int
) -> None:
    rows = min(len(left), len(right))  # both sides of equal length, so that counting by batches is plain
    left, right = left[:rows], right[:rows]
    one, two = table(left, times[:rows]), table(right, times[9 : 9 + rows])
    result = natural_join(one, two, id="n", window=WINDOWS[window], scheme=scheme, tasks=tasks, batch=batch)
    answer = {
        (i, j)
        for i, j in itertools.product(range(len(left)), range(len(right)))
        if joins(left[i], right[j]) and _two(window, i, j, times, batch, len(left))
    }
    check(result, answer, left, right)


def _two(window: str, i: int, j: int, times: list[int], batch: int, rows: int) -> bool:
    if window != "last":
        return near(window, (i, times[i]), (j, times[9 + j]))
    i_opp, j_opp = min((i // batch + 1) * batch, rows), j // batch * batch  # right before left within a batch
    return i_opp - 2 <= j < i_opp or j_opp - 2 <= i < j_opp


class Careless(DocumentReader):
    """A reader whose words have few bits left, so that different names and different values collide all the time."""

    def read(self, column: Any) -> Read:
        done = super().read(column)
        coded = replace(done.coded, attrs=done.coded.attrs & 1, pairs=done.coded.pairs & 3)
        return replace(done, coded=coded)


@given(docs_of, st.lists(st.integers(0, 9), min_size=9, max_size=9), st.sampled_from(sorted(WINDOWS)),
       st.sampled_from([*EAGER, Auto(theta=0.0, enough=1)]), st.integers(1, 3), st.integers(1, 9), st.booleans())  # fmt: skip
@at_most(120)
def test_colliding_words_change_nothing(
    docs: list[Doc], times: list[int], window: str, scheme: DocumentScheme, tasks: int, batch: int, two: bool
) -> None:
    stream = table(docs, times[: len(docs)])
    other = stream.schema if two else None
    made = NaturalJoin(
        stream.schema, other, column="document", id="n", tasks=tasks, scheme=scheme, window=WINDOWS[window]
    )
    for source in made.sources.values():
        source.reader = Careless()
    chunks = [made.schema.empty_table()]
    for start in range(0, len(docs), batch):
        part = stream.slice(start, batch)
        chunks += made.feed(part, part if two else None)
    numbers = range(len(docs))
    answer = {
        (i, j)
        for i, j in (itertools.product(numbers, repeat=2) if two else itertools.combinations(numbers, 2))
        if joins(docs[i], docs[j]) and _near_streams(window, i, j, times, batch, len(docs), two)
    }
    check(pa.concat_tables(chunks), answer, docs, docs)


def _near_streams(window: str, i: int, j: int, times: list[int], batch: int, rows: int, two: bool) -> bool:
    if two and window == "last":
        return _two(window, i, j, times, batch, rows)
    return near(window, (i, times[i]), (j, times[j]))


def test_partitions_change_and_every_pair_still_comes_once() -> None:
    docs: list[Doc] = []
    for phase in range(4):  # users and files change altogether from phase to phase
        docs += [
            {"user": phase * 10 + n % 5, "file": phase * 100 + n % 7} if n % 3 else {"user": n % 5} for n in range(60)
        ]
    made = NaturalJoin(
        table([], []).schema, column="document", id="n", window=weft.last(40), scheme="association", tasks=4
    )
    chunks, repartitioned = [made.schema.empty_table()], 0
    for start in range(0, len(docs), 20):
        chunks += made.feed(table(docs[start : start + 20], [0] * 20, start))
        metrics = made.metrics()
        repartitioned += metrics["repartitioned"]
        assert 0 < metrics["build seconds"] <= metrics["join seconds"]
        assert 1 <= metrics["replication"] <= 4 and 0.25 <= metrics["max load"] <= 1 and 0 <= metrics["gini"] < 1
    answer = {(i, j) for i, j in itertools.combinations(range(len(docs)), 2) if j - i <= 40 and joins(docs[i], docs[j])}
    check(pa.concat_tables(chunks), answer, docs, docs)
    assert repartitioned >= 2


def test_a_restart_goes_on_from_the_state_folder(tmp_path: Path) -> None:
    docs: list[Doc] = [{"user": n % 4, "ok": n % 2 == 0, "x": n % 3} for n in range(60)]
    chunks: list[pa.Table] = []
    for first in (0, 2):  # a new process for every two batches
        made = NaturalJoin(
            table([], []).schema, column="document", id="n", tasks=3, state=str(tmp_path), batch=first, scheme=EAGER[0]
        )
        for batch in (first, first + 1):
            chunks += made.feed(table(docs[batch * 15 : batch * 15 + 15], [0] * 15, batch * 15))
    answer = {(i, j) for i, j in itertools.combinations(range(60), 2) if joins(docs[i], docs[j])}
    check(pa.concat_tables(chunks), answer, docs, docs)
    other = NaturalJoin(
        table([], []).schema, column="document", id="n", tasks=3, state=str(tmp_path), batch=4, nulls="value"
    )
    with pytest.raises(weft.errors.StateMismatch):
        list(other.feed(table(docs[:5], [0] * 5)))


def test_late_documents_are_dropped_and_windows_forget() -> None:
    window = weft.within(5, on="ts", delay=0)
    made = NaturalJoin(table([], []).schema, column="document", id="n", window=window)
    docs: list[Doc] = [{"a": 1}] * 3
    found = [
        list(made.feed(table([doc], [ts], n))) for n, (doc, ts) in enumerate(zip(docs, (100, 200, 50), strict=True))
    ]
    assert found == [[], [], []]
    held = made.store.read_metrics(0, 2)
    assert held is not None and held["late"]["left"] == 1 and held["held"]["left"] == 1  # 100 went, 50 was late


def test_refused_lines_are_counted_and_collected_and_names_are_unescaped() -> None:
    lines = ['{"é\\"k": 1}', "nonsense", '{"é\\"k": 1.0, "z": [1]}', "[]", ""]
    made = NaturalJoin(pa.schema([("document", pa.string())]), column="document", collect=True)
    (result,) = made.feed(pa.table({"document": lines}))
    assert result.to_pylist() == [{"left_id": 0, "right_id": 2, "shared": ['é"k'], "merged": '{"é\\"k":1,"z":[1]}'}]
    assert made.refused == {"not JSON": 1, "not an object": 1, "empty": 1}
    assert [row["id"] for row in made.rejected] == [1, 3, 4]


def test_wrong_arguments_say_what_there_is() -> None:
    docs = table([{}], [0])
    with pytest.raises(UnknownColumn, match="document"):
        natural_join(docs, column="text")
    with pytest.raises(SpecError, match="pyarrow"):
        natural_join([1])  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="tasks="):
        natural_join(docs, tasks=0)
    with pytest.raises(SpecError, match="batch="):
        natural_join(docs, batch=0)


def test_a_null_behind_a_value_of_the_same_name_takes_it_away() -> None:
    """Whether the fast reader reads the document or the general one, which objects inside arrays call for."""
    for more in ("", ', "z": [{"x": 1}]'):
        docs = pa.table({"document": ['{"a": 1, "a": null' + more + "}", '{"a": null, "a": 1}', '{"a": 1}']})
        assert natural_join(docs).select(["left_id", "right_id"]).to_pylist() == [{"left_id": 1, "right_id": 2}]


def test_structs_say_what_json_cannot() -> None:
    """Not a number, infinities and bytes are values like others, spelled as Spark's to_json spells them."""
    numbers = [float("inf"), float("-inf"), float("nan"), float("nan")]
    found = natural_join(pa.table({"document": pa.array([{"a": x, "b": 1} for x in numbers])}), nulls="value")
    assert found.to_pylist() == [{"left_id": 2, "right_id": 3, "shared": ["a", "b"], "merged": '{"a":"NaN","b":1}'}]
    found = natural_join(pa.table({"document": pa.array([{"y": b"\xff"}, {"y": b"\xff"}, {"y": b"\xfe"}])}))
    assert found.to_pylist() == [{"left_id": 0, "right_id": 1, "shared": ["y"], "merged": '{"y":"/w=="}'}]


def test_a_state_folder_is_gone_on_with(tmp_path) -> None:
    """Also the numbers that stand for ids, and what is not JSON counts as a document of the stream."""
    docs = pa.table({"document": ['{"a": 1}', "nonsense"]})
    rows = []
    for _ in range(2):
        made = NaturalJoin(docs.schema, column="document", state=str(tmp_path))
        rows.append([row for part in made.feed(docs) for row in part.to_pylist()])
        assert made.metrics()["refused"] == 1
    assert not rows[0]
    assert [(row["left_id"], row["right_id"]) for row in rows[1]] == [(0, 2)]


def test_what_is_fed_is_checked() -> None:
    docs = pa.table({"document": ['{"a": 1}']})
    made = NaturalJoin(docs.schema, column="document")
    with pytest.raises(SpecError, match="fed on the right"):
        list(made.feed(docs, docs))
    with pytest.raises(SpecError, match="does not have the columns"):
        list(made.feed(pa.table({"text": ["{}"]})))


def test_a_task_folder_of_another_stream_is_refused(tmp_path: Path) -> None:
    """Without a window documents have no words of their own, and the history must tell two streams apart all the same."""
    for name, users in (("own", 3), ("other", 4)):
        made = NaturalJoin(table([], []).schema, column="document", id="n", tasks=2, state=str(tmp_path / name))
        list(made.feed(table([{"user": n % users, "x": n} for n in range(12)], [0] * 12)))
    shutil.rmtree(tmp_path / "own" / "local" / "1")
    shutil.copytree(tmp_path / "other" / "local" / "1", tmp_path / "own" / "local" / "1")
    made = NaturalJoin(
        table([], []).schema, column="document", id="n", tasks=2, state=str(tmp_path / "own"), batch=1
    )  # fmt: skip
    with pytest.raises(StateError, match="its history differs"):
        list(made.feed(table([{"user": 1}], [0], 12)))
