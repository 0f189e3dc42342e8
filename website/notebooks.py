"""A tutorial as a Jupyter notebook: its text as Markdown cells, its blocks as code cells, made anew by every `make docs`."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import nbformat
from nbformat import v4

__all__ = ["has_notebook", "notebook", "with_link"]

_BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.DOTALL | re.MULTILINE)


def has_notebook(page: Path) -> bool:
    """Tell whether a page has code that a notebook could run."""
    return page.stem != "index" and _BLOCK.search(page.read_text(encoding="utf-8")) is not None


def notebook(page: str) -> str:
    r"""Return a page as the JSON of a notebook.

    >>> cells = nbformat.reads(notebook("# One\n\n```python\n>>> 1 + 1\n2\n```\n"), as_version=4).cells
    >>> [(cell.cell_type, cell.source) for cell in cells]
    [('markdown', '# One'), ('code', '1 + 1')]
    """
    cells, end = [], 0
    for number, block in enumerate(_BLOCK.finditer(page)):
        cells += _text(page[end : block.start()], f"text-{number}")
        cells.append(
            v4.new_code_cell(_code(block[1]), id=f"code-{number}")
        )  # ids that do not change from build to build
        end = block.end()
    cells += _text(page[end:], "text-last")
    book = v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    )
    return str(nbformat.writes(book)) + "\n"


def with_link(page: str, stem: str) -> str:
    """Put a link to the notebook below the title."""
    title, _, rest = page.partition("\n")
    return f"{title}\n\n[Download this page as a notebook]({stem}.ipynb){{ .notebook }}\n{rest}"


def _text(text: str, name: str) -> list[nbformat.NotebookNode]:
    # Links lead to pages of the site, which a downloaded notebook does not have beside it.
    plain = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", _COMMENT.sub("", text)).strip()
    plain = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n*", "", plain, flags=re.MULTILINE).strip()
    return [v4.new_markdown_cell(plain, id=name)] if plain else []


def _code(block: str) -> str:
    if not block.lstrip().startswith(">>>"):
        return block.rstrip()
    return "\n".join(example.source.rstrip() for example in doctest.DocTestParser().get_examples(block))
