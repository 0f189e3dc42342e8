"""Tables for notebooks; every text in them is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_table"]

_CELL = "text-align:right;padding:.15em .8em .15em 0"
_TEXT = "text-align:left;padding:.15em .8em .15em 0"


def html_table(names: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
    """Return a table.

    >>> "<b>" in html_table(["<b>"], [["<b>"]])
    False
    """

    def cell(value: object, tag: str) -> str:
        text = f"{value:,}" if isinstance(value, int) else str(value)
        style = _TEXT if isinstance(value, str) and tag == "td" and not text[:1].isdigit() else _CELL
        return f"<{tag} style='{style}'>{html.escape(text)}</{tag}>"

    head = "".join(cell(name, "th") for name in names)
    body = "".join(f"<tr>{''.join(cell(value, 'td') for value in row)}</tr>" for row in rows)
    caption = f"<caption style='text-align:left;font-weight:600'>{html.escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
