"""MkDocs calls these while it builds the site (`hooks:` in mkdocs.yml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import markdown, navigation, notebooks, outside
from website.generated import generated_pages

ROOT = Path(__file__).parents[1]


def on_config(config: MkDocsConfig) -> None:
    """Let `folder/*` in the navigation stand for the pages of a folder that it does not name."""
    from weft import __version__

    config.site_name = f"Weft {__version__}"
    present = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    nav: Any = config.nav
    made = [name for name in generated_pages() if name.endswith(".md")]
    config.nav = navigation.expanded(nav, [*present, *made])


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Add the pages that are made from the code, and a notebook for every tutorial."""
    for name, content in generated_pages().items():
        files.append(File.generated(config, name, content=content))
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        if notebooks.has_notebook(page):
            name = f"tutorials/{page.stem}.ipynb"
            files.append(File.generated(config, name, content=notebooks.notebook(page.read_text(encoding="utf-8"))))


def on_page_markdown(text: str, *, page: Page, **_: Any) -> str:
    """Turn Markdown as the repository shows it into Markdown as MkDocs reads it."""
    name = page.file.src_uri
    origin = markdown.ORIGINS.get(name, f"docs/{name}")
    source = ROOT / origin
    if name.startswith("tutorials/") and notebooks.has_notebook(source):
        text = notebooks.with_link(text, source.stem)
    return markdown.for_site(text, origin)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Stop if a page would fetch anything from elsewhere."""
    found = outside.fetched(Path(config.site_dir))
    if found:
        raise PluginError("Pages fetch what the site does not serve:\n" + "\n".join(found))
