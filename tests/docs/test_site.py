"""What a user can write or meet is on the site: names, job keys, options, settings, metrics, errors. Every page is reached."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from pathlib import Path

import nbformat
import pytest
import yaml

import weft
from website import api, commands, job_file, markdown, messages, navigation, notebooks
from website.generated import generated_pages
from weft import errors
from weft.cli.job.model import TABLES, WINDOWS
from weft.cli.job.schema import KEYS, WINDOW_KEYS, WINDOW_KINDS
from weft.observe import BatchMetrics

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
WRITTEN = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def test_every_page_is_reached_by_the_navigation() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    pages = {name for name in [*WRITTEN, *generated_pages()] if name.endswith(".md")}
    reached = list(navigation.named(navigation.expanded(nav, pages)))
    assert sorted(reached) == sorted(pages)


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_a_page_can_be_shown(name: str) -> None:
    """Lists have a blank line above them, and comments end: what MkDocs needs and GitHub does not."""
    assert markdown.for_site(WRITTEN[name].read_text(encoding="utf-8"), f"docs/{name}")


def test_every_public_name_is_in_the_reference() -> None:
    shown = set(re.findall(r"^ +heading: (\S+)$", "\n".join(api.api_pages().values()), re.MULTILINE))
    modules = ["weft", *(module for one in api.PAGES.values() for module in one.modules)]
    public = {f"{module}.{name}" for module in modules for name in importlib.import_module(module).__all__}
    hidden = {f"weft.{name}" for name in ("errors", "local", "observe", "schemes", "WeftError")} | {
        "weft.local.parallel"
    }
    assert public - shown == hidden
    assert [name for name, told in api.documented().items() if not told] == []


def test_every_command_and_option_is_in_the_reference() -> None:
    text = generated_pages()["reference/command-line.md"]
    for name, command in commands.commands().items():
        assert f"## `{name}`" in text
        for one in commands.parameters(command):
            assert one.written in text
            assert one.about, f"{name}: {one.written} has no help"


def test_every_key_of_a_job_file_is_described_and_in_the_reference() -> None:
    assert {table: sorted(keys) for table, keys in KEYS.items()} == {
        table: sorted(keys) for table, keys in TABLES.items()
    }
    assert sorted(WINDOWS) == sorted(WINDOW_KEYS) == sorted(WINDOW_KINDS)
    for kind, fields in WINDOWS.items():
        assert set(fields) <= set(WINDOW_KEYS[kind])
    text = generated_pages()["reference/job-file.md"]
    for path in job_file.job_keys():
        assert f"| `{path.rpartition('.')[2]}` |" in text or path.endswith(".kind")
    assert json.loads(job_file.job_schema())["title"] == "Weft job file"


def test_every_setting_is_in_the_reference() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "weft").rglob("*.py"))
    known = {name.rstrip(".") for name in re.findall(r"spark\.weft\.\w[\w.]*", sources)}
    listed = set(re.findall(r"^\| `(spark\.weft\.[\w.]+)` \|", page("settings"), re.MULTILINE))
    assert known - listed == set()
    assert {name for name in listed if name not in sources} == {name for name in listed if name not in known}
    from weft.spark.session import SETTINGS

    rows = dict(re.findall(r"^\| `(spark\.[\w.]+)` \| `([^`]+)` \|", page("settings"), re.MULTILINE))
    assert {name: rows.get(name) for name in SETTINGS} == SETTINGS


def test_every_metric_is_in_the_reference() -> None:
    from weft.spark.shuttle import COUNTS

    text = page("metrics")
    fields = [field.name for field in dataclasses.fields(BatchMetrics)]
    assert [name for name in (*COUNTS, *fields) if f"`{name}`" not in text] == []


def test_every_error_has_its_paragraph() -> None:
    kinds = [
        name
        for name in errors.__all__
        if isinstance(kind := getattr(errors, name), type) and issubclass(kind, Warning | Exception)
    ]
    headings = re.findall(r"^### (\w+)$", page("errors"), re.MULTILINE)
    assert sorted(kinds) == sorted(headings)


def test_every_message_has_its_paragraph() -> None:
    found = messages.messages()
    assert len(found) > 150
    with pytest.raises(weft.WeftError) as caught:
        weft.last(0)
    what, there_is, hint = str(caught.value).splitlines()
    shape = [
        one for one in found if re.fullmatch(re.escape(one.what).replace("…", ".*"), what) and one.there_is == there_is
    ]
    assert [hint.startswith("Hint: " + one.hint.partition("…")[0]) for one in shape] == [True]
    text = generated_pages()["reference/messages.md"]
    assert text.count("*Try:*") > 100
    assert {one.kind for one in found} <= set(errors.__all__)


def test_a_tutorial_becomes_a_notebook_with_all_of_its_code() -> None:
    tutorials = [path for path in (ROOT / "docs" / "tutorials").glob("*.md") if notebooks.has_notebook(path)]
    assert len(tutorials) >= 6
    for path in tutorials:
        text = path.read_text(encoding="utf-8")
        book = nbformat.reads(notebooks.notebook(text), as_version=4)
        nbformat.validate(book)
        cells = [cell for cell in book.cells if cell.cell_type == "code"]
        assert len(cells) == text.count("\n```python\n")
        for cell in cells:
            compile(cell.source, path.name, "exec")
        assert not any("](" in cell.source for cell in book.cells if cell.cell_type == "markdown")


def test_links_that_leave_the_docs_lead_to_pages_of_the_site() -> None:
    assert markdown.for_site("[a](../ARCHITECTURE.md#x)", "docs/internals.md") == "[a](how/architecture.md#x)\n"
    assert markdown.for_site("[a](docs/guide/kinds.md)", "CHANGELOG.md") == "[a](../guide/kinds.md)\n"
    assert (
        markdown.for_site("<!-- not run: x -->\n```python\n>>> 1\n1\n```", "docs/x.md") == "```pycon\n>>> 1\n1\n```\n"
    )
    assert markdown.for_site("[a](../../examples/x.toml), [b](kinds.md)", "docs/guide/x.md") == "a, [b](kinds.md)\n"
    with pytest.raises(ValueError, match="blank line"):
        markdown.for_site("Two things:\n- one", "docs/x.md")


def test_the_version_is_on_the_site() -> None:
    assert weft.__version__ in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
