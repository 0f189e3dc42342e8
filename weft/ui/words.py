"""Words as people know them: the integers inside a plan are times, numbers and texts of the user's columns.

What a word stands for follows from `spec.json`: the key that it was made from, how, and the type of its column. A hash says
nothing of its text; `weft.ui.hot_keys` looks that up in the state.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np

from weft.kernels.words import float_of
from weft.types import WORD_MAX, WORD_MIN, Side

__all__ = ["Column", "SideWords", "side_words"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PLAIN = re.compile(r"(?:\w+\.)?(?:`((?:[^`]|``)+)`|(\w+))")
_WHOLE = re.compile(r"(u?int\d*|bigint|smallint|tinyint|long|short|byte|integer)$")
_FLOAT = re.compile(r"(float|double|real|halffloat)\d*$")


@dataclass(frozen=True)
class Column:
    """One word column of a side: what its words are made from. `place` is its column in the segments, -1 if it has none."""

    name: str
    encode: str = "value"
    type: str = ""
    place: int = -1

    @property
    def hashed(self) -> bool:
        """Tell whether a word says nothing of its value."""
        return self.encode == "hash"

    def text(self, word: int) -> str:
        """Write a word as its value, as far as the word tells.

        >>> Column("x", type="double").text(4607182418800017408), Column("ts", type="timestamp").text(1_700_000_000_500_000)
        ('1', '2023-11-14 22:13:20.500')
        """
        if word in (WORD_MIN, WORD_MAX):
            return "−∞" if word == WORD_MIN else "∞"
        if self.hashed:
            return f"#{word & (1 << 64) - 1:016x}"[:9]
        if self.encode == "prefix":
            raw = ((word ^ WORD_MIN) & (1 << 64) - 1).to_bytes(8, "big").rstrip(b"\0")
            return raw.decode("utf-8", "replace") + ("…" if len(raw) == 8 else "")
        return self._value(word)

    def _value(self, word: int) -> str:
        kind = self.type.lower()
        if _FLOAT.match(kind):
            return f"{float(float_of(np.array([word], np.int64))[0]):.6g}"
        if kind.startswith("timestamp"):
            return moment(word)
        if kind.startswith("date"):
            return _day(word)
        if kind.startswith("decimal"):
            scale = re.search(r",\s*(-?\d+)\)", kind)
            return str(Decimal(word).scaleb(-int(scale[1]))) if scale else str(word)
        if kind in ("boolean", "bool"):
            return "true" if word else "false"
        return f"{word:,}" if _WHOLE.match(kind) and abs(word) >= 10_000 else str(word)


def moment(word: int) -> str:
    """Write microseconds since the epoch, in UTC."""
    try:
        found = _EPOCH + timedelta(microseconds=word)
    except OverflowError:
        return str(word)
    return found.strftime("%Y-%m-%d %H:%M:%S.%f").removesuffix("000").removesuffix(".000")


def _day(word: int) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=word)).isoformat()
    except OverflowError:
        return str(word)


@dataclass(frozen=True)
class SideWords:
    """The word columns of a side, keys first, and which of them is the time of a row, -1 if none is."""

    columns: tuple[Column, ...]
    time: int = -1

    def column(self, number: int) -> Column:
        """Return a word column; one that nobody describes is a number."""
        return self.columns[number] if 0 <= number < len(self.columns) else Column("row number")


def side_words(spec: dict[str, Any], side: Side) -> SideWords:
    """Return the word columns of a side, as `spec.json` describes them; none where it cannot be read."""
    try:
        said = json.loads(spec["words"])[0 if side == "left" else 1]
        kept = _fields(str(said["schema"] or spec.get(f"{side} schema", "")))
        keys = [_column(str(key["text"]), str(key["encode"]), kept) for key in said["keys"]]
        time = said.get("time")
    except (KeyError, IndexError, TypeError, ValueError):
        return SideWords(())
    window, timed = str(spec.get("window", "")), -1
    if isinstance(time, int):
        timed = time
        duration = re.search(r"second|minute|hour|day|week|milli|micro", window)
        keys += [Column("")] * (time - len(keys)) + [Column("time", type="timestamp" if duration else "bigint")]
    return SideWords(tuple(keys), timed)


def _column(text: str, encode: str, kept: list[tuple[str, str]]) -> Column:
    found = _PLAIN.fullmatch(text)
    if found is None:
        return Column(text, encode)
    name = found[2] if found[1] is None else found[1].replace("``", "`")
    place = next((at for at, (one, _) in enumerate(kept) if one.lower() == name.lower()), -1)
    return Column(name, encode, kept[place][1] if place >= 0 else "", place)


def _fields(schema: str) -> list[tuple[str, str]]:
    """Take `id bigint, at struct<a:int,b:int>` apart; a type holds no blank outside its brackets, a name may.

    >>> _fields("id bigint, my name string, d decimal(9, 2), ts timestamp[us, tz=UTC]")[1:]
    [('my name', 'string'), ('d', 'decimal(9, 2)'), ('ts', 'timestamp[us, tz=UTC]')]
    """
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(schema):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append(schema[start:at])
            start = at + 1
    found = []
    for part in (*parts, schema[start:]):
        text, open_ = part.strip(), min((part.strip().find(mark) for mark in "<([" if mark in part), default=-1)
        cut = text.rfind(" ", 0, open_ if open_ > 0 else len(text))
        found.append((text[:cut], text[cut + 1 :]) if cut > 0 else (text, ""))
    return found
