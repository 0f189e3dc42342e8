"""The list of paper items is complete, docs/papers/ids.md explains each, and nothing refers to an unknown item."""

from __future__ import annotations

import re
from collections import Counter

from tests.papers.report import ROOT, Item, items, report, shown, uses

PAGE = ROOT / "docs" / "papers" / "ids.md"
LINE = re.compile(r"^- ([XY]\d\d|00[0-4]-\d\d) \[(.)\] \S.*\.$", re.MULTILINE)
USED = re.compile(r"(?<![\w-])([XY]\d\d|00[0-4]-\d\d)(?![\w-])")
SIZES = {"X": 7, "000": 69, "001": 51, "002": 43, "003": 34, "004": 44, "Y": 10}


def test_every_paper_is_listed_without_gap_or_double() -> None:
    numbers: dict[str, list[int]] = {paper: [] for paper in SIZES}
    for item in items():
        numbers[item.paper].append(int(item.id[-2:]))
    assert numbers == {paper: list(range(1, size + 1)) for paper, size in SIZES.items()}


def test_titles_are_short_and_marks_known() -> None:
    assert [item for item in items() if len(item.title.split()) > 8 or item.mark not in "ADPBMCSFN!T-"] == []


def test_every_id_in_a_marker_is_listed() -> None:
    unknown = {used: places for used, places in shown().items() if used not in {item.id for item in items()}}
    assert not unknown, f"not in tests/papers/ids.txt: {unknown}"


def test_ids_are_found_in_every_form() -> None:
    source = """
import pytest
pytestmark = [pytest.mark.paper("000-01"), pytest.mark.slow]
PAPER = ("000-02", "000-03")

@pytest.mark.paper("000-04", "000-05")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.paper("000-06"))])
def test_x(x): ...

class Claim:
    PAPER: tuple[str, ...] = ("000-07",)

paper("000-08")
print("000-09")
"""
    assert Counter(used for used, _ in uses(source)) == Counter(f"000-0{n}" for n in range(1, 9))


def test_the_report_counts_what_is_shown_and_what_is_open() -> None:
    listed = [Item("X01", "A", "one"), Item("002-01", "D", "two"), Item("002-02", "D", "three")]
    text = report(listed, {"002-02": ["tests/test_a.py:3", "tests/test_b.py:9"]})
    assert "002 PIM-Tree              2      1      1" in text
    assert "all                       3      1      2" in text
    assert "  + 002-02 D three" in text
    assert "tests/test_a.py:3 and 1 more" in text
    assert "002-02" not in report(listed, {"002-02": ["tests/test_a.py:3"]}, missing_only=True)


def test_the_page_explains_every_item_in_one_line() -> None:
    lines = LINE.findall(PAGE.read_text(encoding="utf-8"))
    assert lines == [(item.id, item.mark) for item in items()]


def test_every_id_that_is_used_has_its_line() -> None:
    explained = {item for item, _ in LINE.findall(PAGE.read_text(encoding="utf-8"))}
    sources = [path for top in ("weft", "weft_lab", "tests", "docs") for path in (ROOT / top).rglob("*")]
    used = {
        found: path
        for path in sources
        if path.suffix in {".py", ".md"}
        for found in USED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(used) > 200, "the search has gone blind"
    unknown = {found: str(path) for found, path in used.items() if found not in explained}
    assert not unknown, f"not in docs/papers/ids.md: {unknown}"
