"""Documents into pairs: the fast reader says what the general one says, and nothing stops it."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.documents import Coded, DocumentReader, coded_members, members_of
from weft.documents.general import Refusal, spelled_number
from weft.errors import SpecError
from weft.kernels.documents.json_text import LEVELS

numbers = st.one_of(
    st.integers(-(10**24), 10**24), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, 10, 100]),
)  # fmt: skip
scalars = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=6), st.sampled_from(["é", "\ud800", '\n\\"/', "𝄞"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from('ab.é"'), inner, max_size=3)),
    max_leaves=6,
)
objects = st.dictionaries(st.one_of(st.sampled_from("abc"), st.text(max_size=3)), values, max_size=5)


def written(value: Any, blanks: bool, ascii_only: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1 if blanks else None)
    return text.encode("utf-8", "surrogatepass")


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["null", "1", '"x"', '{"c":null}'])), max_size=6),
    st.booleans(),
)
@at_most(100)
def test_members_of_one_name_read_alike(pairs: list[tuple[str, str]], nulls: bool) -> None:
    text = "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    read = DocumentReader("value" if nulls else "absent").read(pa.array([text]))
    assert read.coded.members(0) == members_of(text, nulls=nulls)


@given(objects, st.booleans(), st.booleans(), st.booleans(), st.booleans())
@at_most(300)
def test_the_fast_reader_reads_as_the_general_one(
    value: dict[str, Any], blanks: bool, ascii_only: bool, nulls: bool, sets: bool
) -> None:
    raw = written(value, blanks, ascii_only)
    reader = DocumentReader("value" if nulls else "absent", "sets" if sets else "whole")
    read = reader.read(pa.array([raw], pa.binary()))
    try:
        expected = members_of(raw.decode(), nulls=nulls, sets=sets)
    except UnicodeDecodeError:  # lone surrogates written as bytes are no UTF-8
        assert read.counts() == {"not UTF-8": 1}
        return
    assert read.coded.members(0) == expected
    again = coded_members([[member.encode() for member in expected]])
    assert (again.attrs == read.coded.attrs).all() and (again.pairs == read.coded.pairs).all()


@given(st.lists(st.sampled_from(list('{}[]",:10.eE-+ntru\\ x"a"')), max_size=14))
@at_most(400)
def test_garbage_is_refused_exactly_when_python_refuses_it(tokens: list[str]) -> None:
    text = "{" + "".join(tokens)
    read = DocumentReader().read(pa.array([text]))
    try:
        expected: list[str] | None = members_of(text)
    except ValueError:
        expected = None
    assert (len(read.refused) == 1) == (expected is None), text
    assert read.coded.members(0) == (expected or [])


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 3), st.sampled_from(["e0", "E+00", ""]))
def test_numbers_compare_by_decimal_value(number: Decimal, zeros: int, power: str) -> None:
    text = f"{number:f}" if abs(number.adjusted()) < 40 else f"{number:e}"
    if "e" not in text.lower():
        text = (text if "." in text else text + ".") + "0" * (zeros + 1) + power
    read = DocumentReader().read(pa.array([f'{{"a":{text}}}']))
    assert read.coded.members(0) == [f'"a":{spelled_number(text)}']
    assert Decimal(spelled_number(text)) == Decimal(text)


def test_equal_values_have_equal_words_and_different_ones_do_not() -> None:
    texts = ['{"a":1}', '{"a":1.0}', '{"a":10e-1}', '{"a":"1"}', '{"a":true}', '{"b":1}', '{"\\u0061":1}']
    pairs = DocumentReader().read(pa.array(texts)).coded.pairs
    assert [int(p == pairs[0]) for p in pairs] == [1, 1, 1, 0, 0, 0, 1]
    large = DocumentReader().read(pa.array(['{"a":9007199254740993}', '{"a":9007199254740992}'])).coded.pairs
    assert large[0] != large[1]


def test_lines_that_are_no_objects_are_counted_with_their_reason() -> None:
    rows = [b'{"a":1}', b"", b"  ", b"[1]", b'"x"', b"nonsense", b'{"a":1', b'{"a":\xff}', b'{"a":"\xff"}', b'{"a":NaN}',
            b'{"a":1}{', b'{"a":01}', b'{"a":1e9999999999}', None, b'{"a":"\x01"}']  # fmt: skip
    read = DocumentReader().read(pa.array(rows, pa.binary()))
    assert read.refused.tolist() == list(range(1, len(rows)))
    assert read.counts() == {"empty": 3, "not an object": 2, "not JSON": 7, "not UTF-8": 1,
                             "a number's exponent has more than 9 digits": 1}  # fmt: skip
    assert read.coded.sizes.tolist() == [1] + [0] * (len(rows) - 1)


@pytest.mark.parametrize("levels", [LEVELS, LEVELS + 1])
@pytest.mark.parametrize("kind", ["objects", "arrays", "odd"])
def test_nesting_ends_at_a_stated_level(levels: int, kind: str) -> None:
    inner = {
        "objects": '{"a":' * levels + "1" + "}" * levels, "arrays": '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}",
        "odd": '{"a":' + "[" * (levels - 2) + "{}" + "]" * (levels - 2) + "}",
    }[kind]  # fmt: skip
    read = DocumentReader().read(pa.array([inner, '{"x":1}']))
    assert read.reasons == (() if levels == LEVELS else (f"nested deeper than {LEVELS} levels",))
    assert read.coded.members(1) == ['"x":1']


def test_a_huge_document_is_read() -> None:
    text = json.dumps({f"key{n}": "x" * 1000 for n in range(10_000)} | {"list": [1e20] * 100_000})
    assert len(text) > 10_000_000
    read = DocumentReader().read(pa.array([text, '{"x":1}']))
    assert read.coded.sizes.tolist() == [10_001, 1] and not len(read.refused)


def test_of_equal_paths_the_last_counts() -> None:
    read = DocumentReader().read(
        pa.array(['{"a":1,"b":2,"a":3,"c":{"d":1},"c.d":2}', '{"a":{"b":1},"a":{"c":2}}', '{"a":1,"a":null}'])
    )
    assert read.coded.members(0) == ['"b":2', '"a":3', '"c.d":2']
    assert read.coded.members(1) == ['"a.b":1', '"a.c":2']  # paths are compared, not objects
    many = DocumentReader().read(pa.array([json.dumps({f"k{n}": n for n in range(40)})[:-1] + ',"k7":0}']))
    assert many.coded.sizes.tolist() == [40] and many.coded.members(0)[-1] == '"k7":0'


def test_null_and_arrays_are_options() -> None:
    text = pa.array(['{"a":null,"b":[2,1,2]}', '{"b":[1,2]}'])
    plain, other = DocumentReader().read(text).coded, DocumentReader("value", "sets").read(text).coded
    assert plain.members(0) == ['"b":[2,1,2]'] and other.members(0) == ['"a":null', '"b":[1,2]']
    assert other.pairs[1] == other.pairs[2]
    with pytest.raises(SpecError, match="nulls="):
        DocumentReader(nulls="maybe")


def test_structs_and_maps_read_as_their_text_would() -> None:
    rows: list[dict[str, Any] | None] = [
        {"a": 1, "b": {"c": 'x"\\\n', "d": None}, "e": [1.5, None], "f": 0.1, "g": float("nan")},
        {"a": None, "b": None, "e": [], "f": 1e300, "g": 2.0},
        None,
    ]
    struct = pa.array(rows, pa.struct({"a": pa.int64(), "b": pa.struct({"c": pa.string(), "d": pa.int8()}),
                                       "e": pa.list_(pa.float64()), "f": pa.float64(), "g": pa.float64()}))  # fmt: skip
    plain = [
        None
        if row is None
        else json.dumps({k: "NaN" if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()})
        for row in rows
    ]
    for nulls in ("absent", "value"):
        found, expected = DocumentReader(nulls).read(struct), DocumentReader(nulls).read(pa.array(plain))
        assert [found.coded.members(i) for i in range(3)] == [expected.coded.members(i) for i in range(3)]
    assert found.reasons == ("empty",)
    maps = pa.array([[("k", "v"), ("é", None)], [], None, [("x.y", "1")]], pa.map_(pa.string(), pa.string()))
    read = DocumentReader("value").read(maps.slice(0, 4))
    assert [read.coded.members(i) for i in range(4)] == [['"k":"v"', '"é":null'], [], [], ['"x.y":"1"']]
    assert DocumentReader().read(maps.slice(3)).coded.members(0) == ['"x.y":"1"']
    pairs = pa.array([{"a": [1, 2]}, {"a": None}], pa.struct({"a": pa.list_(pa.int8(), 2)}))
    assert DocumentReader().read(pairs).coded.members(0) == ['"a":[1,2]']
    with pytest.raises(SpecError, match="column of documents"):
        DocumentReader().read(pa.array([1]))


@given(st.lists(objects, max_size=6), st.data())
def test_taking_and_appending_documents(docs: list[dict[str, Any]], data: st.DataObject) -> None:
    texts = pa.array([written(doc, False, True) for doc in docs], pa.binary())
    coded = DocumentReader().read(texts).coded
    rows = np.array(data.draw(st.lists(st.integers(0, max(0, len(docs) - 1)), max_size=8 if docs else 0)), np.int64)
    taken = coded.take(rows)
    assert [taken.members(i) for i in range(len(rows))] == [coded.members(int(row)) for row in rows]
    table = coded.to_table()
    for again in (Coded.of_table(table), Coded.of_table(pa.concat_tables([table.slice(0, 2), table.slice(2)]))):
        assert [again.members(i) for i in range(len(docs))] == [coded.members(i) for i in range(len(docs))]
    both = Coded.concat([coded, taken])
    assert (both.pairs == np.concatenate([coded.pairs, taken.pairs])).all() and len(both) == len(docs) + len(rows)


def test_general_reader_refuses_what_is_no_object() -> None:
    with pytest.raises(Refusal, match="not an object"):
        members_of("[1]")
