"""The API reference: every public name of every public module, rendered from its docstring by mkdocstrings.

The lists are the modules' own `__all__`, so a new name has its place the day it is added.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import weft

__all__ = ["PAGES", "Page", "api_pages", "documented"]


@dataclass(frozen=True)
class Page:
    """A page of the reference: its title, what it is about, the names of `weft` on it, and modules of which it has all."""

    title: str
    about: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PAGES = {
    "joins": Page(
        "Joins on Spark",
        "Each returns a plain DataFrame. The condition, the window and the columns are checked when the join is built.",
        (
            "join",
            "self_join",
            "asof_join",
            "natural_join",
            "refused_documents",
            "explain",
            "explain_asof_join",
            "session",
        ),
    ),
    "windows": Page(
        "Windows",
        "Which rows are close enough to pair: see [choosing a window](../../guide/windows.md).",
        ("within", "tumbling", "last", "tumbling_rows", "unbounded"),
    ),
    "local": Page(
        "Joins without Spark: `weft.local`",
        "The same engine over Arrow tables, in one process. "
        "[Testing your joins](../../guide/testing.md) shows how to feed a join batch by batch.",
        ("local",),
        ("weft.local", "weft.local.parallel"),
    ),
    "schemes": Page(
        "Schemes: `weft.schemes`",
        'How a join is spread over tasks. `scheme="auto"` chooses well; '
        "[tuning](../../guide/tuning.md) says when another choice pays off.",
        ("schemes",),
        ("weft.schemes",),
    ),
    "observe": Page(
        "Metrics and state: `weft.observe`",
        "What `weft state show` and the dashboards read, for your own programs. See also [metrics](../metrics.md).",
        ("observe",),
        ("weft.observe",),
    ),
    "errors": Page(
        "Errors: `weft.errors`",
        "Every error says what is wrong, what there is, and what to try. [Errors](../errors.md) explains each kind.",
        ("errors", "WeftError"),
        ("weft.errors",),
    ),
}


def api_pages() -> dict[str, str]:
    """Return the pages of the API reference by their path on the site."""
    placed = {name for page in PAGES.values() for name in page.names}
    left = tuple(name for name in weft.__all__ if name not in placed)
    pages = {**PAGES, **({"more": Page("Further names", "Further public names of `weft`.", left)} if left else {})}
    return {f"reference/api/{stem}.md": _page(page) for stem, page in pages.items()}


def documented() -> dict[str, str]:
    """Return every public name, such as `weft.local.Join`, with the first sentence of its docstring."""
    modules = ("weft", *(module for page in PAGES.values() for module in page.modules))
    names = {f"{module}.{name}" for module in modules for name in importlib.import_module(module).__all__}
    return {name: _summary(name) for name in sorted(names)}


def _page(page: Page) -> str:
    own = [f"weft.{name}" for name in page.names]
    modules = set(page.modules)
    below = [f"{module}.{name}" for module in page.modules for name in importlib.import_module(module).__all__]
    names = [
        name for name in dict.fromkeys([*own, *below]) if not inspect.ismodule(_found(name)) and name not in modules
    ]
    names = [name for name in names if name != "weft.WeftError" or "weft.errors.WeftError" not in names]
    index = "\n".join(f"| [`{name.rpartition('.')[2]}`](#{_home(name)}) | {_summary(name)} |" for name in names)
    entries = "\n\n".join(_entry(name) for name in names)
    return f"# {page.title}\n\n{page.about}\n\n| name | |\n|---|---|\n{index}\n\n{entries}\n"


def _found(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def _entry(name: str) -> str:
    """Ask mkdocstrings for one name, shown as users write it."""
    return f"::: {_home(name)}\n    options:\n      heading: {name}\n      toc_label: {name.rpartition('.')[2]}"


def _home(name: str) -> str:
    """Return where a name is defined: `weft.local.join` is also a module, and griffe would show that."""
    found = _found(name)
    is_code = inspect.isclass(found) or inspect.isroutine(found)
    return f"{found.__module__}.{found.__qualname__}" if is_code else name


def _summary(name: str) -> str:
    """Return the first sentence of a docstring; a value is described by the text that follows it."""
    found = _found(name)
    if not (inspect.ismodule(found) or inspect.isclass(found) or inspect.isroutine(found)):
        return _about_value(name)
    text = inspect.getdoc(found) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.replace("|", "\\|")


def _about_value(name: str) -> str:
    module, _, last = name.rpartition(".")
    tree = ast.parse(inspect.getsource(importlib.import_module(module))).body
    for statement, below in pairwise(tree):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if told and any(isinstance(target, ast.Name) and target.id == last for target in targets):
            return " ".join(str(ast.literal_eval(below.value)).split())  # type: ignore[attr-defined]
    return ""
