"""How the segments of a batch are written: each into a file of its own, or, where each request counts, all into one.

On a disk a file costs little, and is mapped. On an object store the new segments of both sides go into one object, a *pack*, and
as long as a task's state is small into its manifest, which is written anyway. What grows beyond that goes into the next pack.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import pyarrow as pa

from weft.index import Run
from weft.state.contents import keep_copies
from weft.state.folder import Folder
from weft.state.manifest import Manifest
from weft.state.segments import Derived, Segment, segment_of, write_segment
from weft.state.task import TaskState
from weft.types import SIDES, Side

__all__ = ["Written", "write_segments"]

INLINE = 48 << 10
"""Bytes of segments that a manifest holds at most."""
_ALIGNED = 64
"""Arrow's buffers begin at multiples of it, also those of a segment in the middle of a pack."""

Written = tuple[dict[Side, tuple[Segment, ...]], dict[Side, tuple[Segment, ...]]]
"""The entries of runs that match, and of those that wait."""


def write_segments(
    folder: Folder, batch: int, mark: str, state: TaskState, previous: Manifest | None, derived: Mapping[Side, Derived]
) -> Written:  # fmt: skip
    """Write the runs that no earlier batch has written, and return the entries of all of them."""
    old = {} if previous is None else {entry.name: entry for entry in previous.files}
    names = (f"{batch}-{number}-{mark}.arrow" for number in count())
    if folder.packed:
        return _packed(folder, f"{batch}-{mark}.pack", names, state, old, derived)

    def written(side: Side, run: Run) -> Segment:
        return old.get(run.segment) or write_segment(folder, next(names), run, derived[side])

    return _each(state, [written(side, run) for side, run in _runs(state)])


def _runs(state: TaskState) -> Iterator[tuple[Side, Run]]:
    yield from ((side, run) for kind in (state.runs, state.waiting) for side in SIDES for run in kind[side])


def _each(state: TaskState, entries: Sequence[Segment]) -> Written:
    """Sort the entries of `_runs` by kind and side again."""
    left = iter(entries)
    segments = {side: tuple(next(left) for _ in state.runs[side]) for side in SIDES}
    return segments, {side: tuple(next(left) for _ in state.waiting[side]) for side in SIDES}


def _packed(
    folder: Folder, pack: str, names: Iterator[str], state: TaskState, old: Mapping[str, Segment],
    derived: Mapping[Side, Derived],
) -> Written:  # fmt: skip
    entries: list[Segment] = []
    loose: dict[int, pa.Buffer] = {}
    for side, run in _runs(state):
        known = old.get(run.segment)
        if known is None:
            known, loose[len(entries)] = segment_of(next(names), run, derived[side])
        elif known.data:
            loose[len(entries)] = pa.py_buffer(zlib.decompress(b64decode(known.data)))
        entries.append(known)
    if sum(data.size for data in loose.values()) <= INLINE:
        for place, data in loose.items():
            entries[place] = replace(entries[place], data=b64encode(zlib.compress(memoryview(data), 1)).decode())
        return _each(state, entries)
    sink = pa.BufferOutputStream()
    for place, data in loose.items():
        sink.write(b"\0" * (-sink.tell() % _ALIGNED))
        entries[place] = replace(entries[place], pack=pack, at=sink.tell(), data="")
        sink.write(data)
    folder.write(pack, sink.getvalue())
    keep_copies(folder, [(entries[place], data) for place, data in loose.items()])
    return _each(state, entries)
