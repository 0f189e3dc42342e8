"""`make papers`: which items of the papers have a test or a benchmark, and which have not.

An item is shown by `@pytest.mark.paper("002-13")` anywhere under tests/ (also as `pytestmark` or in `pytest.param`), and by
`paper("002-13")` or `PAPER = ("002-13", ...)` in weft_lab/. Sources are parsed, never imported.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

__all__ = ["IDS", "ROOT", "Item", "items", "report", "shown", "uses"]

ROOT = Path(__file__).parents[2]
IDS = Path(__file__).with_name("ids.txt")
PAPERS = {
    "X": "Cross-cutting",
    "000": "STA",
    "001": "A-DSP",
    "002": "PIM-Tree",
    "003": "FastJoin",
    "004": "Schema-free",
    "Y": "Shared parts",
}


@dataclass(frozen=True)
class Item:
    """One line of ids.txt."""

    id: str
    mark: str
    title: str

    @property
    def paper(self) -> str:
        """Return the paper's number, or X and Y for what several share."""
        return self.id[0] if self.id[0] in "XY" else self.id.partition("-")[0]


def items(path: Path = IDS) -> list[Item]:
    """Read the list of ids, in its order."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [Item(*line.split(None, 2)) for line in lines if line and not line.startswith("#")]


def uses(source: str) -> Iterator[tuple[str, int]]:
    """Yield each id that a source text claims to show, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) == "paper":
            yield from _strings(node.args)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_name(target) == "PAPER" for target in targets):
                yield from _strings([node.value])


def shown(root: Path = ROOT) -> dict[str, list[str]]:
    """Return, for each id in use, the places `file:line` that show it."""
    places: dict[str, list[str]] = defaultdict(list)
    for folder in ("tests", "weft_lab"):
        for path in sorted((root / folder).rglob("*.py")):
            for used, line in uses(path.read_text(encoding="utf-8")):
                places[used].append(f"{path.relative_to(root)}:{line}")
    return dict(places)


def report(listed: list[Item], places: dict[str, list[str]], *, missing_only: bool = False) -> str:
    """Return the table of counts, then every item under its paper."""
    counts, details = [f"{'paper':<20}{'items':>7}{'shown':>7}{'open':>7}"], []
    for paper, group in groupby(listed, key=lambda item: item.paper):
        members = list(group)
        title = f"{paper} {PAPERS[paper]}"
        counts.append(_count(title, members, places))
        details += ["", title]
        for item in members:
            where = places.get(item.id, [])
            if where and missing_only:
                continue
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            there = f"{where[0]}{more}" if where else ""
            details.append(f"  {'+' if where else '.'} {item.id:<7}{item.mark} {item.title:<50}{there}".rstrip())
    counts.append(_count("all", listed, places))
    return "\n".join(counts + details)


def _count(title: str, members: list[Item], places: dict[str, list[str]]) -> str:
    have = sum(item.id in places for item in members)
    return f"{title:<20}{len(members):>7}{have:>7}{len(members) - have:>7}"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _strings(nodes: list[ast.expr]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        for leaf in ast.walk(node):
            if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                yield leaf.value, leaf.lineno


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description="Which items of the papers have a test or a benchmark.")
    parser.add_argument("--missing", action="store_true", help="list only the items that have none")
    parser.add_argument("--json", action="store_true", help="print {id: [places]} for every id")
    asked = parser.parse_args()
    listed, places = items(), shown()
    if asked.json:
        print(json.dumps({item.id: places.get(item.id, []) for item in listed}, indent=1))
    else:
        print(report(listed, places, missing_only=asked.missing))


if __name__ == "__main__":
    main()
