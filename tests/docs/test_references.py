"""What the pages refer to exists: links, files of the repository, and modules of Weft and its laboratory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from website.generated import generated_pages

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), ROOT / "examples" / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "weft_lab" / "README.md"]
)
SOURCES = [path for top in ("weft", "weft_lab") for path in ROOT.glob(f"{top}/**/*.py")]
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES}
GENERATED = {ROOT / "docs" / name for name in generated_pages()}
"""Pages of the site that are made from the code."""
NOT_PYTHON = {"weft.pairs", "weft.table.pairs", "weft.schemes", "weft.indexes"}
"""Names of metrics and of entry points."""
PACKAGES = "kernels|index|state|spark|engine|spec|routing|planner|local|observe"


def missing(page: Path) -> Iterator[str]:
    """Yield each reference of a page that leads nowhere."""
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        target = (page.parent / link).resolve()
        if "://" not in link and not target.exists() and target not in GENERATED:
            yield f"link {link}"
    for file in re.findall(r"`([\w./]+\.(?:py|md|txt|toml))`", text):
        named_alone = "/" not in file and any(ROOT.glob(f"weft*/**/{file}"))
        if not named_alone and not (ROOT / file).exists() and not (page.parent / file).exists():
            yield f"file {file}"
    for name in re.findall(r"`((?:weft|weft_lab)(?:\.\w+)+)`", text):
        if name not in NOT_PYTHON and not _known(name):
            yield f"name {name}"
    for name in re.findall(rf"`((?:{PACKAGES})\.[a-z]\w*)`", text):
        if not _known(f"weft.{name}"):
            yield f"name {name}"


def _known(name: str) -> bool:
    """Tell whether a dotted name is a module, or something that its package or module mentions."""
    if name in MODULES:
        return True
    owner, _, last = name.rpartition(".")
    if owner not in MODULES:
        return "." in owner and owner.rpartition(".")[2][0].isupper() and _known(owner)
    file = ROOT / Path(*owner.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return re.search(rf"\b{last}\b", file.read_text(encoding="utf-8")) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_refers_to_what_exists(page: Path) -> None:
    assert list(missing(page)) == []


def test_a_reference_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "[a](gone.md) `weft/gone.py` `weft.gone` `weft.local.Gone` `state.gone` `weft.local.Join.feed` `weft.join`"
    )
    names = ["name weft.gone", "name weft.local.Gone", "name state.gone"]
    assert list(missing(page)) == ["link gone.md", "file weft/gone.py", *names]
