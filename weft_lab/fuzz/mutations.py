"""Mutations that know nothing of a language: bytes and characters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

__all__ = ["changed_bytes", "changed_text"]


def changed_bytes(data: bytes, draw: Random) -> bytes:
    """Flip, cut, insert or repeat a few bytes."""
    if not data:
        return draw.randbytes(4)
    at = draw.randrange(len(data))
    end = min(len(data), at + draw.choice([1, 1, 2, 4, 16]))
    way = draw.randrange(5)
    if way == 0:
        return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    if way == 1:
        return data[:at] + data[end:]
    if way == 2:
        return data[:at] + draw.randbytes(draw.randint(1, 4)) + data[at:]
    if way == 3:
        return data[:end] + data[at:end] * draw.randint(1, 3) + data[end:]
    return data[:at] + bytes([draw.choice(b"\x00\x7f\x80\xff 09aZ\"'\\")]) + data[at + 1 :]


def changed_text(text: str, draw: Random, words: Sequence[str]) -> str:
    """Cut, insert, repeat or replace a stretch of characters; what is inserted are `words` of the language."""
    at = draw.randint(0, len(text))
    end = min(len(text), at + draw.choice([0, 1, 1, 3, 8]))
    way = draw.randrange(4)
    if way == 0:
        return text[:at] + text[end:]
    if way == 1:
        return text[:at] + draw.choice(words) + text[end:]
    if way == 2:
        return text[:end] + text[at:end] * draw.randint(1, 3) + text[end:]
    other = draw.randint(0, len(text))
    return text[:at] + text[other : other + draw.choice([1, 4, 12])] + text[end:]
