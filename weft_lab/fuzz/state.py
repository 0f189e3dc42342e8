"""State files: harm done to the state of a join, which is then gone on with: exact, or refused.

An input is a little program: which join, and a few edits of its files. Some edits seal a document anew, so that its checksum
is right although its content is not. Nothing but a secret could tell such a forgery from the truth in every case, so there a
wrong pair is no finding; an error other than a WeftError, or no end, is one all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

from weft.errors import WeftError
from weft_lab.fuzz.damage import FORGED, SIZE, Edit, harm
from weft_lab.fuzz.mutations import changed_bytes
from weft_lab.fuzz.streams import STREAMS, Stream, fresh, scratch
from weft_lab.fuzz.target import ANSWERED, REFUSED, Target, Wrong

__all__ = ["TARGET"]

_EDITS = 4
_NUMBER = count()


def _run(data: bytes) -> str:
    stream: Stream = STREAMS[data[0] % len(STREAMS)] if data else STREAMS[0]
    edits = list(_edits(data[1:]))
    folder = (
        scratch() / f"run-{next(_NUMBER)}"
    )  # never the same path twice: what was verified once is not verified again
    with fresh(stream, folder):
        for edit in edits:
            harm(folder, stream.folder(other=True), edit)
        return _go_on(stream, folder, forged=any(edit.way in FORGED for edit in edits))


def _go_on(stream: Stream, folder: Path, *, forged: bool) -> str:
    try:
        first, found = stream.go_on(folder)
    except WeftError:
        return REFUSED
    answer = stream.answer(first)
    if found != answer and not forged:
        more, fewer = sorted(set(found) - set(answer))[:5], sorted(set(answer) - set(found))[:5]
        raise Wrong(
            f"{stream.name} from batch {first}: {more} more and {fewer} fewer, {len(found)} pairs for {len(answer)}"
        )
    return ANSWERED


def _edits(data: bytes) -> Iterator[Edit]:
    for start in range(0, min(len(data), _EDITS * SIZE), SIZE):
        piece = data[start : start + SIZE].ljust(SIZE, b"\0")
        yield Edit(piece[0], piece[1], int.from_bytes(piece[2:4], "little"), piece[4:])


def _mutate(data: bytes, draw: Random) -> bytes:
    if draw.random() < 0.3 or len(data) < 2:
        return bytes([draw.randrange(256)]) + draw.randbytes(SIZE * draw.choice((1, 1, 1, 2, 3)))
    return changed_bytes(data, draw)


def _seeds() -> list[bytes]:
    whole = [bytes([number]) for number in range(len(STREAMS))]
    ways = range(12)
    harmed = [bytes([number, way, way, 40, 0, 1, 2, 3, 4]) for number in range(len(STREAMS)) for way in ways]
    return whole + harmed


TARGET = Target("state", _run, _mutate, _seeds, longest=1 + _EDITS * SIZE)
