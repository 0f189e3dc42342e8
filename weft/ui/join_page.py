"""The join as a page: how it was explained, its window as a drawing, what its state is bound by."""

from __future__ import annotations

import re
from typing import Any

from weft.errors import SpecError
from weft.spec import read_self_join
from weft.spec.options import microseconds
from weft.state import Journal
from weft.types import SIDES, Side
from weft.ui.batches import Batch
from weft.ui.words import SideWords

__all__ = ["join_page", "window_drawn"]

_WITHIN = re.compile(r".*?from (?P<before>.+?) before to (?P<after>.+?) after \w+\..+?(?:, delay (?P<delay>.+))?")
_LAST = re.compile(r"the last (?P<rows>[\d,]+) rows")
_TUMBLING = re.compile(r"tumbling windows of (?P<size>.+?) over .*?(?:, delay (?P<delay>.+))?")
_GROUPS = re.compile(r"tumbling windows of (?P<rows>[\d,]+) rows")


def join_page(
    spec: dict[str, Any], journal: Journal | None, words: dict[Side, SideWords], newest: Batch | None
) -> dict[str, Any]:  # fmt: skip
    """Return what the page of a join says."""
    window = str(spec.get("window", ""))
    one_stream, unordered = read_self_join(str(spec.get("self join", "")))
    explained = dict(journal.explain) if journal is not None else {}
    return {
        "condition": str(spec.get("condition", "")), "window": window, "kind": str(spec.get("how", "inner")),
        "asof": str(spec.get("as of", "")), "self_join": one_stream, "unordered": unordered,
        "schemas": {side: str(spec.get(f"{side} schema", "")) for side in SIDES},
        "explain": [list(part) for part in (journal.explain if journal is not None else ())],
        "bound": explained.get("state", ""), "drawn": window_drawn(window),
        "timed": all(words[side].time >= 0 and words[side].column(words[side].time).type.startswith("timestamp")
                     for side in SIDES),
        "index": str(explained.get("index", "")),
        "refused": newest.refused if newest is not None else 0,
    }  # fmt: skip


def window_drawn(window: str) -> dict[str, Any]:
    """Return the lengths of a window from what `spec.json` says of it.

    >>> window_drawn("r.ts from 10 seconds before to 5 seconds after l.ts, delay 2 seconds")["before"]
    10000000
    >>> window_drawn("the last 1,000 rows of the other side, in order of arrival")
    {'kind': 'last', 'rows': 1000}
    """
    if found := _WITHIN.fullmatch(window):
        lengths = {name: _length(found[name]) for name in ("before", "after")}
        if all(length is not None for length in lengths.values()):
            told = {"texts": [found["before"], found["after"]], "delay_text": found["delay"] or ""}
            return {"kind": "within", **lengths, "delay": _length(found["delay"]), **told}
    if found := _LAST.match(window):
        return {"kind": "last", "rows": _number(found["rows"])}
    if found := _GROUPS.match(window):
        return {"kind": "groups", "rows": _number(found["rows"])}
    if found := _TUMBLING.fullmatch(window):
        return {"kind": "tumbling", "size": found["size"], "delay_text": found["delay"] or ""}
    return {"kind": "unbounded"}


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _length(text: str | None) -> int | None:
    """Return a duration in microseconds, or a plain number; None where the text is neither."""
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    try:
        return microseconds("window", text)
    except SpecError:
        return None
