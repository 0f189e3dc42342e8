"""Every ```python block of README.md and of the site runs: a page is one program, in an empty directory.

A block after `<!-- not run: reason -->` is skipped. A block of `>>>` lines is a doctest: its output is compared.
Blocks that say `BROKER` meet a Kafka broker there, and are skipped where none can be had.
Pages meet the shared Spark session: `getOrCreate()` and `weft.session()` find it, and `stop()` leaves it alive.
"""

from __future__ import annotations

import doctest
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*).*$")
SKIP = re.compile(r"<!--\s*not run:\s*\S.*-->")


@dataclass(frozen=True)
class Code:
    """One block: its text and the line its first line has in the page."""

    text: str
    line: int


def blocks(page: str) -> Iterator[Code]:
    """Yield the python blocks that are meant to run, in order."""
    language, indent, start, above, body = "", "", 0, "", list[str]()
    inside = False
    for number, line in enumerate(page.splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and not inside:
            inside, language, indent, start, body = True, fence["language"], fence["indent"], number + 1, []
        elif inside and line.strip() == "```":
            if language == "python" and not SKIP.search(above):
                yield Code("\n".join(body) + "\n", start)
            inside, above = False, ""
        elif inside:
            body.append(line.removeprefix(indent))
        elif line.strip():
            above = line


def run(page: Path, namespace: dict[str, Any]) -> None:
    """Run the blocks of a page one after another; an error shows the page's own line."""
    for code in blocks(page.read_text(encoding="utf-8")):
        if code.text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code.text, namespace, page.name, str(page), code.line - 1)
            flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
            said: list[str] = []
            result = doctest.DocTestRunner(optionflags=flags).run(test, clear_globs=False, out=said.append)
            assert not result.failed, "".join(said)
            namespace.update(test.globs)
        else:
            program = compile("\n" * (code.line - 1) + code.text, str(page), "exec")
            exec(program, namespace)


def needs_spark(page: Path) -> bool:
    return any("spark" in code.text.lower() for code in blocks(page.read_text(encoding="utf-8")))


def needs_kafka(page: Path) -> bool:
    return any("BROKER" in code.text for code in blocks(page.read_text(encoding="utf-8")))


def marks(page: Path) -> list[pytest.MarkDecorator]:
    needed = ((needs_spark, pytest.mark.spark), (needs_kafka, pytest.mark.kafka))
    return [mark for needs, mark in needed if needs(page)]


def parameters() -> list[Any]:
    """Return a test per page that has code, in the lanes of what it needs."""
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks(page))
        for page in PAGES
        if any(blocks(page.read_text(encoding="utf-8")))
    ]


def test_there_are_pages_and_they_have_code() -> None:
    ran = {test.id for test in parameters()}
    assert {"README.md", "CONTRIBUTING.md"} <= ran
    assert len([page for page in ran if page.startswith("docs/guide/")]) >= 5
    assert len([page for page in ran if page.startswith("docs/tutorials/")]) >= 6


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", parameters())
def test_the_page_runs(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace: dict[str, Any] = {"__name__": "__page__"}
    if not needs_spark(page):
        monkeypatch.chdir(tmp_path)
        run(page, namespace)
        return
    if needs_kafka(page):
        namespace["BROKER"] = request.getfixturevalue("kafka").address
    session = request.getfixturevalue("connect" if page.stem == "connect" else "spark")
    home: Path = request.getfixturevalue("spark_home")
    monkeypatch.setattr(type(session), "stop", lambda _: None)  # the page may end its session, not ours
    monkeypatch.chdir(home)  # relative paths mean the same to Python and to the JVM
    before = set(home.iterdir())
    try:
        run(page, namespace)
    finally:
        for query in session.streams.active:
            query.stop()
        for path in set(home.iterdir()) - before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_blocks_are_found_skipped_and_numbered() -> None:
    page = """# Title
```python
a = 1
```
<!-- not run: needs a cluster -->

```python
b = a
```
```bash
make demo
```
- item
  ```python
  c = a
  ```
"""
    assert list(blocks(page)) == [Code("a = 1\n", 3), Code("c = a\n", 15)]


def test_a_page_is_one_namespace_and_errors_name_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\na = 1\n```\n\n```python\n>>> a + 1\n2\n>>> b = 5\n```\n```python\nassert b == 5\n1 / 0\n```\n"
    )
    with pytest.raises(ZeroDivisionError) as caught:
        run(page, {})
    assert caught.traceback[-1].lineno == 11  # counted from zero


def test_a_wrong_output_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        run(page, {})
