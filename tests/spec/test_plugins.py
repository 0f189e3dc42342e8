"""What other packages offer is found by name, and loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from weft.spec import names


@pytest.fixture
def offered(monkeypatch) -> Iterator[list[str]]:
    """Offer two things by entry points; return the groups that were looked up."""
    points = [EntryPoint("path", "os:path", "weft.tests"), EntryPoint("gone", "no_such_module:thing", "weft.tests")]
    asked: list[str] = []

    def entry_points(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [point for point in points if point.group == group]

    monkeypatch.setattr(names, "entry_points", entry_points)
    names._found.cache_clear()
    yield asked
    names._found.cache_clear()


def test_a_name_is_loaded_when_it_is_asked_for(offered) -> None:
    import os

    assert names.installed("weft.tests") == ["gone", "path"]
    assert names.load("weft.tests", "path") is os.path
    assert names.load("weft.tests", "other") is None
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        names.load("weft.tests", "gone")


def test_packages_are_looked_at_once_per_group(offered) -> None:
    for _ in range(3):
        names.installed("weft.tests")
        assert names.load("weft.none", "path") is None
    assert offered == ["weft.tests", "weft.none"]
