"""The walks of ARCHITECTURE.md: every file exists, and none is entered twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Three walks")[2].partition("## Read on")[0]
NAMES = ("A tuple", "A control decision", "A document")
WALKS = {name: TEXT.partition(f"{name}, from ")[2].partition("\n\nA ")[0] for name in NAMES}


@pytest.mark.parametrize("name", WALKS)
def test_no_file_is_entered_twice(name) -> None:
    files = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", WALKS[name])
    assert len(files) > 5
    assert not [file for file in files if not (ROOT / "weft" / f"{file}.py").is_file()]
    assert sorted(set(files)) == sorted(files)


def test_the_page_is_two_pages() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) < 1_200
