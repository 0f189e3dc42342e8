"""How far a query has come, in the units of its window: timestamps for time, plain numbers for the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from weft.errors import SpecError
from weft.spec.duration import microseconds
from weft.state import Manifest
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["ClockView", "clock_view"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DELAY = re.compile(r", delay (.+)$")


@dataclass(frozen=True)
class ClockView:
    """Rows seen per side, the greatest timestamp per side, and the watermark: what is older is late."""

    count: dict[Side, int]
    newest: dict[Side, str]
    watermark: str


def clock_view(manifest: Manifest, window: str) -> ClockView:
    """Write the clock of a manifest so that a person can read it; `window` is the window's text in spec.json."""
    newest = manifest.clock["newest"]
    show = _time if re.search(r"second|minute|hour|day", window) else str
    shown = {side: show(newest[side]) if newest[side] > WORD_MIN else "" for side in SIDES}
    found, slower, mark = _DELAY.search(window), min(newest.values()), ""
    if found and slower > WORD_MIN:
        try:
            delay = int(found[1]) if found[1].isdigit() else microseconds("delay", found[1])
            mark = show(slower - delay)
        except SpecError:  # a text of another version
            mark = ""
    return ClockView(dict(manifest.clock["count"]), shown, mark)


def _time(word: int) -> str:
    """Write microseconds since the epoch.

    >>> _time(1_700_000_000_500_000)
    '2023-11-14 22:13:20.500'
    """
    try:
        moment = _EPOCH + timedelta(microseconds=word)
    except OverflowError:
        return str(word)
    text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
    return text.removesuffix("000")
