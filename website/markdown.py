"""From Markdown as the repository shows it to Markdown as MkDocs reads it.

The pages are read in both places, so they use what both understand. Four things differ: links out of docs/, comments,
prompts of doctests, and lists without a blank line above them, which are refused here rather than repaired.
"""

from __future__ import annotations

import posixpath
import re

__all__ = ["ORIGINS", "for_site", "list_without_blank"]

ORIGINS = {
    "how/architecture.md": "ARCHITECTURE.md",
    "how/changelog.md": "CHANGELOG.md",
    "how/contributing.md": "CONTRIBUTING.md",
}
"""Pages of the site that stand at the top of the repository."""

_SITE_PAGES = {origin: name for name, origin in ORIGINS.items()} | {
    "README.md": "index.md",
    "docs/papers": "papers/ids.md",
}
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")
_WHOLE_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_FENCE = re.compile(r"^( *)```")


def for_site(text: str, origin: str) -> str:
    """Return a page of the repository (`origin`, its path there) as a page of the site."""
    name = _site_page(origin) or origin
    out, code, comment = list[str](), False, False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not code and not comment and line.lstrip().startswith("<!--"):
            comment = True
        if comment:
            comment = "-->" not in line
            continue
        if _FENCE.match(line):
            code = not code
            prompts = code and line.strip() == "```python" and lines[number + 1].lstrip().startswith(">>>")
            out.append(line.replace("python", "pycon") if prompts else line)
        elif code:
            out.append(line)
        elif list_without_blank(lines[number - 1] if number else "", line):
            raise ValueError(f"{origin}, line {number + 1}: a list needs a blank line above it")
        else:
            kept = _WHOLE_LINK.sub(lambda found: found[0] if _on_site(found[2], origin) else found[1], line)
            out.append(_LINK.sub(lambda found: _moved(found[1], origin, name) + (found[2] or ""), kept))
    return "\n".join(out) + "\n"


def list_without_blank(above: str, line: str) -> bool:
    """Tell whether a list begins right below a paragraph: GitHub shows a list there, MkDocs does not.

    >>> list_without_blank("Three things:", "- one"), list_without_blank("- one", "- two")
    (True, False)
    """
    item = r"(?:[-*+]|\d+\.) "
    return bool(re.match(item, line)) and bool(above.strip()) and not re.match(rf"\s*{item}|\s{{2,}}|#|<", above)


def _on_site(link: str, origin: str) -> bool:
    """Tell whether a link leads anywhere on the site: files of the repository that it does not have are named only."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return True
    return _site_page(posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))) is not None


def _moved(link: str, origin: str, name: str) -> str:
    """Return a relative link of the repository as one of the site."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    page = _site_page(target)
    return link if page is None else posixpath.relpath(page, posixpath.dirname(name) or ".")


def _site_page(path: str) -> str | None:
    """Return where a file of the repository is on the site, None if it is not."""
    if path in _SITE_PAGES:
        return _SITE_PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None
