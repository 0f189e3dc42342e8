"""Partitions of documents: whatever the table, documents with a common pair meet; the paper's examples; the control loop."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.documents import Coded, DocumentReader
from weft.errors import UnknownName
from weft.routing import TaskStats, plan_from_json
from weft.routing.documents import (
    Association,
    Auto,
    DocumentPlan,
    DocumentScheme,
    Sample,
    association_groups,
    document_scheme,
    equivalence_groups,
    expansion_for,
    filled,
    merged_groups,
    note_documents,
    tasks_of,
)
from weft_lab.schemes import DOCUMENT_SCHEMES, Disjoint, SetCover, disjoint_groups

Doc = dict[str, Any]
docs_of = st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), max_size=4), max_size=10)
SCHEMES = [scheme for kind in DOCUMENT_SCHEMES.values() for scheme in kind.examples()]


def coded(docs: list[Doc]) -> Coded:
    return DocumentReader().read(pa.array([json.dumps(doc) for doc in docs], pa.string())).coded


def parts(made: Coded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return made.offsets, made.attrs, made.pairs


def sample(docs: list[Doc]) -> tuple[Sample, dict[int, str]]:
    made = coded(docs)
    names = [member.replace('"', "") for row in range(len(docs)) for member in made.members(row)]
    return Sample.of(*parts(made)), {int(pair): name for pair, name in zip(made.pairs, names, strict=True)}


def named(groups: list[frozenset[int]], names: dict[int, str]) -> set[frozenset[str]]:
    return {frozenset(names[pair] for pair in group) for group in groups}


@given(docs_of, docs_of, st.integers(1, 70), st.sampled_from(SCHEMES), st.booleans())
@at_most(150)
@pytest.mark.paper("004-02", "004-25", "004-29", "004-33")
def test_documents_with_a_common_pair_meet(
    seen: list[Doc], later: list[Doc], tasks: int, scheme: DocumentScheme, owner: bool
) -> None:
    made = coded(seen)
    plan = scheme.create([parts(made.take(np.arange(n, len(seen), 2))) for n in (0, 1)], tasks)
    if owner:
        plan = DocumentPlan.over(tasks, plan.table(), plan.expansion, spread=True, alone=plan.alone)
    plan = plan_from_json(json.loads(json.dumps(plan.to_json())))  # type: ignore[assignment]
    for used in (plan, plan.adapt(max(1, tasks // 2)), plan.adapt(tasks + 1)):
        assert isinstance(used, DocumentPlan)
        check_meet(used, seen + later)


def check_meet(plan: DocumentPlan, docs: list[Doc]) -> None:
    """Check that documents that join have a task in common, and that every document with a pair goes somewhere."""
    sent = tasks_of(plan.route(*parts(coded(docs)))[0], plan.tasks)
    for (i, a), (j, b) in itertools.combinations(enumerate(docs), 2):
        if a.keys() & b.keys() and all(a[key] == b[key] for key in a.keys() & b.keys()):
            assert (sent[:, i] & sent[:, j]).any()
    assert all(sent[:, n].any() == bool(doc) for n, doc in enumerate(docs))


FIGURE_1: list[Doc] = [
    {"User": "A", "Severity": "Warning"}, {"User": "A", "Severity": "Error", "MsgId": 2}, {"User": "A", "MsgId": 2},
    {"User": "A", "IP": "10.2.145.212"}, {"User": "B", "Severity": "Critical", "MsgId": 1}, {"User": "B", "MsgId": 1},
    {"User": "B", "Severity": "Warning"},
]  # fmt: skip


@pytest.mark.paper("004-04", "004-34")
def test_figure_1_is_assigned_as_the_paper_says() -> None:
    """Documents with the pairs that section III names; d7 has pairs of both partitions."""
    made = coded(FIGURE_1)
    _, names = sample(FIGURE_1)
    first = {"User:A", "Severity:Warning", "Severity:Error", "MsgId:2", "IP:10.2.145.212"}
    table = {pair: 1 if name in first else 2 for pair, name in names.items()}
    plan = DocumentPlan.over(2, table)
    sent = tasks_of(plan.route(*parts(made))[0], 2)
    assert [np.flatnonzero(row).tolist() for row in sent] == [[0, 1, 2, 3, 6], [4, 5, 6]]
    assert (sent.sum(axis=1) / sent.sum()).tolist() == [0.625, 0.375]
    assert plan.quality(*parts(made)).replication == 8 / 7


@pytest.mark.paper("004-05", "004-06", "004-07", "004-10", "004-11", "004-12")
def test_figure_3() -> None:
    docs: list[Doc] = [{"A": 2, "B": 3, "C": 7}, {"A": 2, "B": 3, "C": 7, "D": 4}, {"B": 3}, {"D": 4}, {"E": 1}]
    made, names = sample(docs)
    equal = named(
        [frozenset(int(made.coded[1][code]) for code in codes) for _, codes in equivalence_groups(made)], names
    )
    assert equal == {frozenset({"A:2", "C:7"}), frozenset({"B:3"}), frozenset({"D:4"}), frozenset({"E:1"})}
    groups = {frozenset({"A:2", "B:3", "C:7"}), frozenset({"D:4"}), frozenset({"E:1"})}
    assert named(association_groups(made, "implied"), names) == groups == named(association_groups(made), names)


@pytest.mark.paper("004-12")
def test_the_directions_differ() -> None:
    docs: list[Doc] = [{"a": 1, "b": 1}, {"a": 1, "c": 1}]
    made, names = sample(docs)
    assert named(association_groups(made, "implying"), names) == {frozenset({"a:1", "b:1", "c:1"})}
    assert frozenset({"c:1"}) in named(association_groups(made, "implied"), names) or frozenset({"b:1"}) in named(
        association_groups(made, "implied"), names
    )


@given(docs_of, st.sampled_from(["implying", "implied"]))
@pytest.mark.paper("004-06", "004-07")
def test_groups_are_a_partition_of_the_pairs_and_gathered_by_implication(docs: list[Doc], absorb: str) -> None:
    made, _ = sample(docs)
    groups = association_groups(made, absorb)
    assert sorted(pair for group in groups for pair in group) == sorted(set(made.words.tolist()))
    having = {int(w): set(rows.tolist()) for w, rows in zip(made.coded[1], made.documents, strict=True)}
    for group in groups:
        sets = [having[pair] for pair in group]
        lead = max(sets, key=len) if absorb == "implying" else min(sets, key=len)
        assert all(s <= lead if absorb == "implying" else lead <= s for s in sets)


@given(st.lists(st.lists(st.frozensets(st.integers(0, 6), min_size=1, max_size=4), max_size=4), max_size=3))
@pytest.mark.paper("004-09")
def test_the_merger_leaves_each_pair_in_one_group(local: list[list[frozenset[int]]]) -> None:
    groups = merged_groups(local)
    pairs = [pair for group in groups for pair in group]
    assert len(pairs) == len(set(pairs)) and set(pairs) == {p for groups in local for group in groups for p in group}


@pytest.mark.paper("004-08", "004-13")
def test_the_heaviest_groups_open_the_partitions() -> None:
    docs: list[Doc] = [{"a": 1}] * 5 + [{"a": 2}] * 4 + [{"a": 3}] * 2 + [{"a": 4}]
    made, names = sample(docs)
    table = filled(association_groups(made), [made], 2)
    assert {names[pair]: task for pair, task in table.items()} == {"a:1": 1, "a:2": 2, "a:3": 2, "a:4": 1}


@pytest.mark.paper("004-31")
def test_disjoint_sets_send_every_known_document_once() -> None:
    docs: list[Doc] = [{"a": n % 4, "b": n % 2} for n in range(12)] + [{"c": n} for n in range(5)]
    made, names = sample(docs)
    assert {"a:0", "a:2", "b:0"} in [set(group) for group in named(disjoint_groups([made]), names)]
    assert Disjoint(expand=False).create([parts(coded(docs))], 3).replication == 1.0


@pytest.mark.paper("004-30", "004-42")
def test_set_cover_covers_every_document_somewhere() -> None:
    docs: list[Doc] = [{"a": n % 5, "b": n % 3, "c": n % 7} for n in range(40)]
    plan = SetCover(expand=False).create([parts(coded(docs))], 4)
    table, made = plan.table(), coded(docs)
    for start, end in itertools.pairwise(made.offsets):
        common = [table[int(pair)] for pair in made.pairs[start:end]]
        assert common[0] & common[1] & common[2]  # one partition has all of the document's pairs
    assert plan.replication > 3.5  # close to the worst case


@pytest.mark.paper("004-28", "004-29")
def test_a_boolean_in_all_documents_is_expanded() -> None:
    docs: list[Doc] = [
        {"ok": bool(n % 2), "user": n % 3, "x": n} if n % 4 else {"ok": bool(n % 2), "user": n % 3} for n in range(24)
    ]
    made = coded(docs)
    names = dict(
        zip(made.attrs.tolist(), [m.partition(":")[0] for r in range(24) for m in made.members(r)], strict=True)
    )
    assert [names[attr] for attr in expansion_for(*parts(made), 6)] == ['"ok"', '"user"']
    assert [names[attr] for attr in expansion_for(*parts(made), 7)] == ['"ok"', '"user"', '"x"']
    assert expansion_for(*parts(made), 2) == ()
    plan = Disjoint().create([parts(made)], 6)
    assert plan.quality(*parts(made)).load < 0.5 < Disjoint(expand=False).create([parts(made)], 6).load
    lacking = coded([{"ok": True}])
    assert tasks_of(plan.route(*parts(lacking))[0], 6).all()  # p_na * m copies


def test_an_attribute_of_all_documents_can_route_alone() -> None:
    docs: list[Doc] = [{"user": n % 9, "ok": n % 2 == 0, "file": n % 7} for n in range(90)]
    made, tasks = parts(coded(docs)), 4
    alone, paper = Association(alone=True).create([made], tasks), Association().create([made], tasks)
    assert alone.replication == 1.0 < paper.replication
    lacking = parts(coded([{"file": 3}, {"ok": True}]))
    assert tasks_of(alone.route(*lacking)[0], tasks).all()
    assert Auto().create([made], tasks).alone  # it loads the fullest task less
    scattered: list[Doc] = [{f"k{n % 9}": n % 5, f"j{n % 9}": n % 5} for n in range(90)]
    assert not Auto().create([parts(coded(scattered))], tasks).alone


def noted(
    scheme: DocumentScheme, plan: DocumentPlan, docs: list[Doc], before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    made = coded(docs)
    bits, u = plan.route(*parts(made))[0], np.arange(len(docs), dtype=np.uint32) * 7919
    sent, notes = tasks_of(bits, plan.tasks), []
    for task in range(plan.tasks):
        rows = np.flatnonzero(sent[task])
        note = note_documents(plan, task, parts(made.take(rows)), bits[:, rows], u[rows], before[task])
        notes.append(json.loads(json.dumps(note)))
    assert sum(note["documents"] for note in notes) == sum(bool(doc) for doc in docs)
    assert sum(note["sent"] for note in notes) == sent.sum()
    return notes


def controlled(scheme: DocumentScheme, plan: DocumentPlan, notes: list[dict[str, Any]]) -> tuple[DocumentPlan, str]:
    none: Any = {"left": 0, "right": 0}
    made, reason = scheme.control(
        None, plan, [TaskStats(none, none, none, {"left": (), "right": ()}, n) for n in notes]
    )
    assert isinstance(made, DocumentPlan)
    return made, reason


@pytest.mark.paper("004-03", "004-24", "004-26", "004-27")
def test_partitions_are_made_updated_and_made_anew() -> None:
    scheme = Association(delta=3)
    plan = scheme.initial(None, 3)
    assert isinstance(plan, DocumentPlan)
    nothing: list[dict[str, Any]] = [{}, {}, {}]
    docs: list[Doc] = [{"user": n % 6, "file": n % 6 * 10} for n in range(60)]
    plan, reason = controlled(scheme, plan, noted(scheme, plan, docs, nothing))
    assert reason.startswith("first partitions, from 60") and plan.replication == 1.0
    twice: list[Doc] = [*docs, {"user": 1, "ip": 5}, {"user": 1, "ip": 5}]
    notes = noted(scheme, plan, twice, nothing)
    same, reason = controlled(scheme, plan, notes)
    assert (same, reason) == (plan, "")  # two times is not enough
    notes = noted(scheme, plan, [*docs, {"user": 1, "ip": 5}], notes)
    updated, reason = controlled(scheme, plan, notes)
    assert reason == "1 new pair has occurred 3 times"
    strange = parts(coded([{"user": 1, "ip": 5}]))
    assert tasks_of(plan.route(*strange)[0], 3).all() and tasks_of(updated.route(*strange)[0], 3).sum() == 1
    other: list[Doc] = [{"user": n % 6 + 100, "file": n % 6 * 10 + 1000} for n in range(60)]
    again, reason = controlled(scheme, updated, noted(scheme, updated, other, nothing))
    assert "new partitions" in reason and again.quality(*parts(coded(other))).replication == 1.0


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_every_scheme_adapts_and_documents_meet_under_every_plan(scheme: DocumentScheme) -> None:
    """Batches whose users and files move on; statistics of one batch make the plan of the next but one."""
    plan = following = scheme.initial(None, 4)
    assert isinstance(plan, DocumentPlan) and isinstance(following, DocumentPlan)
    docs: list[Doc] = []
    notes: list[dict[str, Any]] = []
    changes = 0
    for batch in range(5):
        fresh: list[Doc] = [
            {"user": n % 6 + 3 * batch, "file": n % 5 + 3 * batch, f"x{n % 2}": batch} for n in range(24)
        ]
        docs += fresh
        plan = following
        check_meet(plan, docs)
        following, reason = controlled(scheme, plan, notes) if notes else (plan, "")
        assert bool(reason) == (following != plan)
        changes += following != plan
        notes = noted(scheme, plan, fresh, notes or [{}] * plan.tasks)
    assert bool(changes) == scheme.adapts


def test_schemes_by_name() -> None:
    assert sorted(DOCUMENT_SCHEMES) == ["association", "auto", "disjoint", "everywhere", "set-cover"]
    assert document_scheme("auto") == Auto() and document_scheme("set-cover") == SetCover()
    with pytest.raises(UnknownName, match="everywhere"):
        document_scheme("nonsense")
