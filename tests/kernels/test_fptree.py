"""The three local joins give what a nested loop over dictionaries gives; the paper's worked examples."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.documents import Coded, DocumentReader
from weft.kernels.documents.attributes import ranked, taken, translated
from weft.kernels.documents.fptree import build_tree, count_partners, find_partners
from weft_lab.kernels.document_joins import hash_join, nested_loop

Doc = dict[str, object]

docs_of = st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 2), max_size=4), max_size=14)
bits = st.integers(0, 2**90 - 1)
wide_of = st.lists(st.tuples(bits, bits), max_size=8).map(
    lambda drawn: [{f"a{n}": has >> n & value >> n & 1 for n in range(90) if has >> n & 1} for has, value in drawn]
)


def coded(docs: list[Doc]) -> Coded:
    return DocumentReader("value").read(pa.array([json.dumps(doc) for doc in docs], pa.string())).coded


def join(a: Doc, b: Doc) -> bool:
    common = a.keys() & b.keys()
    return bool(common) and all(a[key] == b[key] for key in common)


def expected(docs: list[Doc]) -> set[tuple[int, int]]:
    return {(i, j) for i, j in itertools.combinations(range(len(docs)), 2) if join(docs[i], docs[j])}


@given(st.one_of(docs_of, wide_of))
@at_most(300)
@pytest.mark.paper("004-01", "004-18", "004-20", "004-21", "004-32")
def test_all_three_joins_are_the_natural_join(docs: list[Doc]) -> None:
    made = coded(docs)
    rows, order = ranked(made.offsets, made.attrs, made.pairs)
    answer = expected(docs)
    for total, which, stored in (nested_loop(rows, 200), hash_join(rows, len(order.pairs), 200)):
        assert total == len(answer) and set(zip(which.tolist(), stored.tolist(), strict=True)) == answer
    tree = build_tree(rows, len(order.attrs))
    counts = count_partners(tree, rows)
    empty = rows.offsets[1:] == rows.offsets[:-1]
    assert counts.sum() == 2 * len(answer) + (~empty).sum()  # both directions, and each with itself
    in_order = taken(rows, tree.docs.astype(np.int64))
    after = np.arange(len(docs))
    counts = count_partners(tree, in_order, after)
    which, stored = find_partners(tree, in_order, 0, len(docs), int(counts.sum()), after)
    pairs = [tuple(sorted((int(tree.docs[i]), int(j)))) for i, j in zip(which, stored, strict=True)]
    assert len(pairs) == len(set(pairs)) and set(pairs) == answer


@given(docs_of, docs_of)
@at_most(200)
@pytest.mark.paper("004-22")
def test_strangers_probe_a_tree_that_was_built_without_them(held: list[Doc], probing: list[Doc]) -> None:
    made, asked = coded(held), coded(probing)
    rows, order = ranked(made.offsets, made.attrs, made.pairs)
    tree, probes = build_tree(rows, len(order.attrs)), translated(asked.offsets, asked.attrs, asked.pairs, order)
    counts = count_partners(tree, probes)
    which, stored = find_partners(tree, probes, 0, len(probes), int(counts.sum()))
    found = list(zip(which.tolist(), stored.tolist(), strict=True))
    answer = {(i, j) for i, a in enumerate(probing) for j, b in enumerate(held) if join(a, b)}
    assert len(found) == len(answer) and set(found) == answer
    half = len(probes) // 2
    assert len(find_partners(tree, probes, half, len(probes), int(counts[half:].sum()))[0]) == counts[half:].sum()


@pytest.mark.paper("004-14", "004-15", "004-16", "004-17", "004-19")
def test_table_one() -> None:
    docs: list[Doc] = [{"a": 3, "b": 7, "c": 1}, {"a": 3, "b": 8}, {"a": 3, "b": 7}, {"b": 8, "c": 2}]
    made = coded(docs)
    rows, order = ranked(made.offsets, made.attrs, made.pairs)
    names = {int(attr): made.members(0)[k].partition(":")[0] for k, attr in enumerate(made.attrs[:3])}
    assert [names[int(attr)] for attr in order.attrs] == ['"b"', '"a"', '"c"'] and order.everywhere == 1
    tree = build_tree(rows, 3)
    paths = set()
    for node in range(len(tree.end)):
        path, at = [], node
        while at > 0:
            member = next(k for k in range(len(made.pairs)) if made.pairs[k] == order.pairs[tree.pair[at]])
            path.append(bytes(made.text[made.ends[member] : made.ends[member + 1]]).decode().replace('"', ""))
            at = int(tree.parent[at])
        for doc in tree.docs[tree.first[node] : tree.first[node + 1]]:
            paths.add((int(doc) + 1, "-".join(path[::-1])))
    assert paths == {(1, "b:7-a:3-c:1"), (2, "b:8-a:3"), (3, "b:7-a:3"), (4, "b:8-c:2")}
    counts = count_partners(tree, rows)
    _, stored = find_partners(tree, rows, 0, 1, int(counts[0]))
    assert sorted(stored.tolist()) == [0, 2]  # itself and d3 (Fig. 5)
