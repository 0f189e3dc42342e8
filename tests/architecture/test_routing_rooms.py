"""`weft.routing` and its rooms are used through their `__init__`: no one outside looks into their modules."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUTING = ROOT / "weft" / "routing"


def test_routing_is_used_through_its_doors() -> None:
    rooms = {f"weft.routing.{folder.parent.name}" for folder in ROUTING.glob("*/__init__.py")}
    assert {"weft.routing.adsp", "weft.routing.documents", "weft.routing.fastjoin", "weft.routing.sta"} <= rooms
    files = [
        path
        for top in ("weft", "weft_lab", "tests")
        for path in (ROOT / top).rglob("*.py")
        if ROUTING not in path.parents
    ]
    found = [(path, module) for path in files for module in _imported(path) if module.startswith("weft.routing.")]
    assert len(found) > 20, "the search has gone blind"
    inside = [f"{path.relative_to(ROOT)}: {module}" for path, module in found if module not in rooms]
    assert not inside, f"import from the package instead: {inside}"


def test_a_room_of_routing_imports_no_sibling_room_from_inside() -> None:
    modules = sorted(ROUTING.glob("*/*.py"))
    assert len(modules) > 20, "the search has gone blind"
    for path in modules:
        own = f"weft.routing.{path.parent.name}."
        rooms = tuple(f"weft.routing.{room.name}." for room in ROUTING.iterdir() if (room / "__init__.py").exists())
        bad = [module for module in _imported(path) if module.startswith(rooms) and not module.startswith(own)]
        assert not bad, f"{path.relative_to(ROOT)} imports {bad}"


def _imported(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return modules + [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
