"""Options of schemes and indexes that cannot hold are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from weft.errors import SpecError, UnknownName
from weft.index import index_named, named_index
from weft.routing import SCHEMES


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
        ("matrix", "rows", 0), ("matrix", "columns", 1.5), ("fastjoin", "calls", 0), ("fastjoin", "select", "GreedyFit"),
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
