"""Options of schemes and indexes that cannot hold are refused by name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError, UnknownName
from weft.index import index_named, named_index
from weft.routing import Adsp, FastJoin, Hash, Scheme, Sta, scheme_named
from weft.routing.documents import Association, document_scheme
from weft_lab.schemes import SCHEMES, SaFit


@pytest.mark.parametrize(
    ("scheme", "option", "value"),
    [
        ("fastjoin", "threshold", "x"), ("fastjoin", "threshold", None), ("fastjoin", "noise", "a"), ("fastjoin", "gain", -1),
        ("fastjoin", "keys", 1.5), ("fastjoin", "split_hot", "yes"), ("contrand", "group", "a"), ("contrand", "group", 1.5),
        ("biclique", "subgroups", 2.5), ("sta", "halve", -5), ("sta", "mode", "Exact"), ("sta", "hot", None), ("sta", "hot", 0),
        ("sta", "choices", "two-choices"), ("sta", "margin", 0.5), ("sta", "checkpoint", "foo"), ("pim", "mode", "Exact"),
        ("pim", "merge", "a"), ("chain", "insert", "All"), ("chain", "ask", "some"), ("adsp", "memory", "2 GB"),
        ("adsp", "memory", float("inf")), ("adsp", "mode", "x"), ("adsp", "pairing", "x"), ("adsp", "exhaustive", "yes"),
        ("adsp", "tries", 0), ("adsp", "size", 2.5), ("adsp", "gain", -1), ("square", "memory", "a"), ("dynamic", "memory", True),
        ("readj", "sigma", "a"), ("readj", "imbalance", 0.5), ("ordered", "enough", "a"), ("range", "imbalance", "a"),
        ("matrix", "rows", 0), ("matrix", "columns", 1.5), ("fastjoin", "calls", 0), ("fastjoin", "phi", "Halved"),
    ],
)  # fmt: skip
def test_options_of_schemes(scheme: str, option: str, value: Any) -> None:
    with pytest.raises(SpecError, match=rf"{option}( is |=)"):
        SCHEMES[scheme](**{option: value})


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("pim-tree(merge_ratio=-1)", "positive"), ("pim-tree(depth=1.5)", "whole number"),
        ("chained(length=2.5)", "whole number"), ("pim-tree(depth=1, depth=2)", "twice"),
    ],
)  # fmt: skip
def test_settings_of_indexes(index: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        named_index(index)


def test_a_name_in_capitals() -> None:
    with pytest.raises(UnknownName, match="did you mean 'pim-tree'"):
        index_named("PIM-Tree")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("fastjoin(threshold=1.3)", FastJoin(threshold=1.3)),
        (" fastjoin ( threshold = 13/10 , split_hot = true )", FastJoin(1.3, split_hot=True)),
        ("safit(phi=arrivals, biclique=False, rounds=none)", SaFit(phi="arrivals", biclique=False)),
        ("sta(hot=auto, choices='two choices', checkpoint=5 seconds)",
         Sta("auto", checkpoint="5 seconds", choices="two choices")),
        ('adsp(memory=4e5, tries=None, pairing="optimal")', Adsp(memory=400_000, tries=None, pairing="optimal")),
        ("hash", Hash()),
    ],
)  # fmt: skip
def test_settings_in_the_names_of_schemes(text: str, made: Scheme) -> None:
    assert scheme_named(text) == made


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fastjoin(treshold=1)",
         r"scheme='fastjoin\(treshold=1\)': fastjoin has no setting 'treshold'.\nIt has: threshold, .*\nHint: did you mean"),
        ("hash(rows=2)", r"hash has no setting 'rows'.\nIt has none.\nHint: write scheme='hash'."),
        ("matrix(rows=1/0)", "rows='1/0'"),
        ("matrix()", "'' is not a setting"),
        ("matrix(2, 2)", "'2' is not a setting.\nSettings go in parentheses .*\nHint: write scheme='fastjoin"),
        ("matrix(rows=2, rows=2)", "'rows' is given twice"), ("slices(even=x)", "even='x'"), ("slices(long=-1)", "long=-1"),
    ],
)  # fmt: skip
def test_settings_that_a_scheme_refuses(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        scheme_named(text)


def test_document_schemes_take_settings_too() -> None:
    assert document_scheme("association(theta=0.3, absorb=implied)") == Association(theta=0.3, absorb="implied")
    with pytest.raises(SpecError, match=r"unseen='nowhere'.\nKnown: everywhere, owner."):
        document_scheme("set-cover(unseen=nowhere)")


def test_an_unknown_scheme_with_settings() -> None:
    with pytest.raises(UnknownName, match=r"no scheme named 'fastjion'.*\n.*\nHint: did you mean 'fastjoin'"):
        scheme_named("fastjion(threshold=2)")


def test_explain_repeats_the_settings() -> None:
    schema = pa.schema({"id": pa.int64()})
    said = weft.local.explain(schema, schema, on="l.id = r.id", scheme="fastjoin(threshold=1.3)", tasks=4).to_dict()
    assert said["scheme"] == "fastjoin over 4 tasks: as requested, fastjoin(threshold=1.3)"
