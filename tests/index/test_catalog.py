"""Indexes by name: Weft's own, those of installed packages, and what is said of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError, UnknownName
from weft.index import GROUP, INDEXES, Runs, index_named, known_indexes, named_index
from weft.spec import names


class Mine(Runs):
    """An index of another package."""

    name = "mine"


@pytest.fixture
def offered(monkeypatch):
    """Let this module offer indexes."""
    points = [EntryPoint(name, f"{__name__}:{what}", GROUP) for name, what in OFFERED.items()]
    monkeypatch.setattr(names, "entry_points", lambda group: points if group == GROUP else [])
    monkeypatch.setattr(EntryPoint, "load", lambda point: globals()[point.attr])
    names._found.cache_clear()
    yield
    names._found.cache_clear()


OFFERED = {"mine": "Mine", "runs": "Mine", "other": "Mine", "nothing": "OFFERED"}


def test_an_index_of_another_package_joins_like_our_own(offered) -> None:
    assert index_named("mine") is Mine and named_index("mine") == (Mine, {})
    assert "mine" in known_indexes()
    table = pa.table({"x": [1, 2, 3]})
    pairs = [weft.local.join(table, table, on="l.x < r.x", index=index).num_rows for index in ("mine", "runs")]
    assert pairs == [3, 3]


def test_our_own_names_come_first(offered) -> None:
    assert index_named("runs") is Runs


@pytest.mark.parametrize("name", ["other", "nothing"])
def test_an_entry_point_that_is_no_index_of_that_name_says_so(offered, name) -> None:
    with pytest.raises(
        SpecError, match=f"(?s)The entry point '{name}' of 'weft.indexes'.*derives from.*name = '{name}'"
    ):
        index_named(name)


def test_the_laboratory_is_installed_beside_weft() -> None:
    """Its indexes are in the conformance tests because they are entry points, as anyone's would be."""
    theirs = {"bplustree", "chained", "css-tree", "im-tree", "round-robin"}
    assert theirs <= set(known_indexes()) and not theirs & set(INDEXES)


def test_an_unknown_name_is_told_all_names() -> None:
    with pytest.raises(UnknownName, match=r"Known: boxes, bplustree, .*, runs, .*\nHint: did you mean 'css-tree'"):
        index_named("css-tre")
