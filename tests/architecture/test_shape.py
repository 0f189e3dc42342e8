"""The shape of the packages is a test: small modules, doors with a list, light imports, arrows that point down."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PACKAGES = ("weft", "weft_lab")
PROJECTS = ("pyproject.toml", "weft_lab/pyproject.toml")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})
LIMIT = 400


def name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def names_bound(tree: ast.Module) -> set[str]:
    """Return what the top level of a module defines or imports."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return bound


def exported(tree: ast.Module) -> list[str] | None:
    """Return the names of a literal `__all__`, None without one."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            assert value is not None
            return list(ast.literal_eval(value))
    return None


def test_no_module_outgrows_its_idea() -> None:
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    too_long = {module: count for module, count in lines.items() if count > LIMIT}
    assert not too_long, f"split these (over {LIMIT} lines): {too_long}"


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_every_package_has_a_door(folder: Path) -> None:
    door = folder / "__init__.py"
    assert door.exists(), f"{name(folder)} has no __init__.py"
    tree = ast.parse(door.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{name(folder)} has no docstring"
    names = exported(tree)
    assert names is not None, f"{name(folder)} has no __all__"
    assert len(names) == len(set(names)), f"{name(folder)}.__all__ says a name twice"
    bound = names_bound(tree)
    if "__getattr__" not in bound:  # a lazy door is checked by the next test
        assert not set(names) - bound, f"{name(folder)}.__all__ promises what it has not: {sorted(set(names) - bound)}"


def test_every_public_name_is_there() -> None:
    import weft

    missing = [public for public in weft.__all__ if not hasattr(weft, public)]
    assert not missing, f"weft.__all__ promises what it has not: {missing}"


def test_a_notebook_completes_public_names_and_nothing_else() -> None:
    import weft

    assert dir(weft) == sorted(weft.__all__)
    there = [hasattr(weft, name) for name in ("local", "observe", "spark", "sketch", "errors", "__version__")]
    assert all(there), "what is not shown is still reached"


def test_importing_weft_imports_little() -> None:
    heavy = ["pyspark", "py4j", "pandas", "duckdb", "polars", "plotly", "typer"]
    code = f"import sys, weft; sys.exit(', '.join(name for name in {heavy} if name in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr.strip(), (
        f"`import weft` imports {done.stderr}; import it on first use"
    )


def test_weft_and_its_laboratory_have_one_version_and_two_wheels() -> None:
    import weft

    product, laboratory = (tomllib.loads((ROOT / file).read_text("utf-8")) for file in PROJECTS)
    version = weft.__version__
    assert product["project"]["version"] == laboratory["project"]["version"] == version
    assert product["project"]["optional-dependencies"]["lab"] == [f"weft-lab=={version}"]
    assert laboratory["project"]["dependencies"] == [f"weft[plot,peers,tpch]=={version}"]
    assert product["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["weft"]


def test_arrows_point_down() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
