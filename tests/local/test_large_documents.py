"""Documents of many keys: the work follows their size, and what would not is refused and counted.

The sizes are such that work which goes with the square of them runs into the timeout by far.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.local.test_natural import Careless, check, joins
from weft.documents import DocumentReader, members_of
from weft.documents.general import Refusal
from weft.kernels.documents.unite import _NESTED
from weft.local import NaturalJoin, natural_join
from weft.routing.documents import DocumentPlan, expansion_for, note_documents

MANY = 400_000

SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "the same": lambda who: {f"k{n}": n for n in range(MANY)},
    "half the same": lambda who: {f"k{n}" if n % 2 else f"d{who}_{n}": n for n in range(MANY)},
    "one the same": lambda who: {"k": 1} | {f"d{who}_{n}": n for n in range(MANY)},
}


@pytest.mark.timeout(100)
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_join_is_linear_in_the_keys_of_a_document(shape: str) -> None:
    docs = [SHAPES[shape](who) for who in range(2)]
    result = natural_join(pa.table({"document": [json.dumps(doc) for doc in docs]}))
    assert result.num_rows == 1
    assert len(result["shared"][0]) == len(docs[0].keys() & docs[1].keys())
    assert json.loads(result["merged"][0].as_py()) == docs[0] | docs[1]


@pytest.mark.timeout(60)
def test_reading_is_linear_in_the_nulls_of_a_document() -> None:
    text = json.dumps({f"k{n}": None if n % 2 else n for n in range(1_000_000)})
    assert DocumentReader().read(pa.array([text])).coded.sizes.tolist() == [500_000]


@pytest.mark.parametrize("reader", [DocumentReader(), Careless()], ids=["words", "colliding words"])
def test_large_documents_join_as_small_ones_do(reader: DocumentReader) -> None:
    assert 40 * 40 < _NESTED < 100 * 100
    draw = random.Random(7)
    docs = [
        {f"k{n}": n % 3 if draw.random() < 0.995 else "other" for n in range(2 * size) if draw.random() < 0.5}
        for size in (40, 100)
        for _ in range(20)
    ]
    table = pa.table({"n": range(len(docs)), "document": [json.dumps(doc) for doc in docs]})
    join = NaturalJoin(table.schema, column="document", id="n", tasks=2)
    for source in join.sources.values():
        source.reader = reader
    result = pa.concat_tables(join.feed(table))
    answer = {(i, j) for j in range(len(docs)) for i in range(j) if joins(docs[i], docs[j])}
    assert 0 < len(answer) < len(docs) * (len(docs) - 1) // 2
    check(result, answer, docs, docs)


@pytest.mark.parametrize(
    "name", [lambda i, j: f"user_{i}_{j}", lambda i, j: f"d0_{i}_{j}", lambda i, j: f"{i:04}{j:04}"]
)
def test_names_that_differ_in_digits_have_different_words(name: Callable[[int, int], str]) -> None:
    texts = [json.dumps({name(i, j): j for j in range(4_000)}) for i in range(100)]
    coded = DocumentReader().read(pa.array(texts)).coded
    assert len(np.unique(coded.attrs)) == len(np.unique(coded.pairs)) == 400_000


WHY = "its pairs repeat long names and take more than 64 times its size"


def test_names_that_would_take_the_square_of_a_document_are_refused_and_counted() -> None:
    long = json.dumps({"x" * 65_536: {f"k{n}": n for n in range(2_000)}})
    odd = json.dumps({"x" * 65_536: {f"k{n}": [{"a": n}] for n in range(2_000)}})
    fair = json.dumps({"x" * 300: {f"k{n}": n for n in range(2_000)}})
    read = DocumentReader().read(pa.array([long, fair, odd]))
    assert read.refused.tolist() == [0, 2]
    assert read.counts() == {WHY: 2}
    assert read.coded.sizes.tolist() == [0, 2_000, 0]
    with pytest.raises(Refusal, match=WHY):
        members_of(long)


def test_documents_that_are_all_alike_are_expanded_by_a_few_attributes() -> None:
    pairs = np.tile(np.arange(2_000), 20)
    expansion = expansion_for(np.arange(21) * 2_000, pairs, pairs, 8)
    assert 1 < len(expansion) <= 16


def test_what_a_task_notes_is_bounded_whatever_a_document_holds() -> None:
    sizes = np.array([100_000, 20] * 8)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    pairs = np.arange(offsets[-1])
    notes = note_documents(
        DocumentPlan(2), 0, (offsets, pairs, pairs), np.full((1, 16), 3, np.int64), np.zeros(16, np.uint32), {}
    )
    assert notes["documents"] == 16
    assert len(notes["sample"][1]) == sum(notes["sample"][0]) <= 8_192
