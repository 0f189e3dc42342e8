"""A package is used through its `__init__`: no module outside it, and none of its sibling rooms, looks into its modules."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARIES = ("weft.kernels", "weft.spec")
"""Made of modules that are named where they are used: a kernel is known by its file, and so is a rule of the specification."""
OPTIONAL = {"weft.demo.plot"}
"""Needs an extra (plotly), so its package cannot import it."""

PACKAGES = {".".join(door.parent.relative_to(ROOT).parts) for door in (ROOT / "weft").rglob("__init__.py")}


def test_packages_are_used_through_their_doors() -> None:
    found = [(module, name) for module, path in _modules() for name in _imported(path)]
    assert len(found) > 500, "the search has gone blind"
    inside = [f"{module}: {name}" for module, name in found if _looks_inside(module, name)]
    assert not inside, f"import from the package instead: {inside}"


def test_a_look_inside_is_seen() -> None:
    assert _looks_inside("weft.cli.run_job", "weft.spark.build")
    assert _looks_inside("weft.local.join", "weft.local.expr.cast")
    assert not _looks_inside("weft.cli.run_job", "weft.spark")
    assert not _looks_inside("weft.local.expr.logic", "weft.local.expr.cast")
    assert not _looks_inside("weft.local.expr.logic", "weft.local.checks")


def _looks_inside(module: str, name: str) -> bool:
    """Tell whether a module imports one that is inside a package which is not around it."""
    home = name.rpartition(".")[0]
    if name in PACKAGES | OPTIONAL or home in ("", "weft") or name.startswith(LIBRARIES):
        return False
    return not module.startswith(f"{home}.")


def _modules() -> list[tuple[str, Path]]:
    paths = (ROOT / "weft").rglob("*.py")
    return [(".".join(path.relative_to(ROOT).with_suffix("").parts), path) for path in paths]


def _imported(path: Path) -> list[str]:
    """Return the modules of Weft that a module imports, or imports from."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return [name for name in names if name.startswith("weft.")]
