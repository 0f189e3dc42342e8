"""The content of segments: where it lies, how it is written, and how it is read and verified.

On a disk each segment is a file, which costs little, and is mapped. On an object store the new segments of both sides go into
one object, a *pack*, and as long as a task's state is small into its manifest, which is written anyway. What grows beyond that
goes into the next pack. What has to be fetched is fetched together, and copied to this machine: of a pack the part that is
needed, of several files several at once.
"""

from __future__ import annotations

import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

import pyarrow as pa

from weft.errors import StateError
from weft.index import Run
from weft.state.cache import Cache, private_cache
from weft.state.folder import Folder
from weft.state.segments import Derived, Segment, read_run, segment_of, write_segment
from weft.state.task import Manifest, TaskState
from weft.types import SIDES, Side

__all__ = ["Written", "content_of", "keep_copies", "read_segment", "read_segments", "write_segments"]

_AGAIN = 3
"""How often what comes damaged from a service is fetched: it may have been cut on its way."""


def read_segment(folder: Folder, segment: Segment, payload: pa.Schema) -> Run:
    """Return the run of a segment."""
    return read_segments(folder, [(segment, payload)])[0]


def read_segments(folder: Folder, segments: Iterable[tuple[Segment, pa.Schema]]) -> list[Run]:
    """Return the runs of segments, each with the schema of its payload."""
    asked = list(segments)
    remote = [] if folder.local else [segment for segment, _ in asked if not segment.data]
    fetched = _remote(folder, remote) if remote else {}
    runs = []
    for segment, payload in asked:
        where = folder.where(segment.file) if segment.file else f"{folder}, segment {segment.name},"
        data = _inlined(segment, where) if segment.data else fetched.get(segment.name)
        runs.append(read_run(where, segment, _mapped(folder, segment, where) if data is None else data, payload))
    return runs


def content_of(folder: Folder, segment: Segment) -> pa.Buffer:
    """Return the content of a segment as it lies in the folder, whatever copies there are; it is not verified."""
    if segment.data:
        return pa.py_buffer(zlib.decompress(b64decode(segment.data)))
    if segment.pack:
        return folder.read_part(segment.pack, segment.at, segment.bytes)
    return folder.read(segment.name)


def _inlined(segment: Segment, where: str) -> pa.Buffer:
    try:
        data = pa.py_buffer(zlib.decompress(b64decode(segment.data, validate=True)))
    except (ValueError, zlib.error):
        data = pa.py_buffer(b"")
    if why := segment.damage(data):
        raise StateError.torn(where, why)
    return data


def _mapped(folder: Folder, segment: Segment, where: str) -> pa.Buffer:
    """Return a file on this machine, verified once per process and file."""
    stamp = _stamp(where)  # before it is mapped: a file put in its place since is another one
    data = folder.read(segment.file)
    if why := _damage(segment, data, where, stamp):
        raise StateError.torn(where, why)
    return data


_Stamp = tuple[int, int, int]
_VERIFIED: dict[tuple[str, str], _Stamp] = {}


def _stamp(file: str) -> _Stamp | None:
    """Return what tells a file from every other that was ever in its place, whatever the clock said when it was written."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _damage(segment: Segment, data: pa.Buffer, file: str, stamp: _Stamp | None) -> str:
    """Tell what is wrong with the content, "" if nothing; of a local file that has not changed, only once."""
    key = file, segment.checksum
    if stamp is not None and _VERIFIED.get(key) == stamp and data.size == segment.bytes:
        return ""
    why = segment.damage(data)
    if len(_VERIFIED) > 100_000:
        _VERIFIED.clear()
    if stamp is not None and not why:
        _VERIFIED[key] = stamp
    return why


# Copies of what is remote


def _name(segment: Segment) -> str:
    return f"{segment.checksum}-{segment.bytes}.arrow"


def _remote(folder: Folder, segments: Sequence[Segment]) -> dict[str, pa.Buffer]:
    """Return the content of remote segments by name, from this machine's disk; what is missing or damaged there is fetched."""
    if not folder.care.cache:
        return _fetched(folder, segments)
    with private_cache() as cache:
        found = {segment.name: data for segment in segments if (data := _copy(cache, segment)) is not None}
    missing = [segment for segment in segments if segment.name not in found]
    if missing:
        found |= _fetched(folder, missing)
        keep_copies(folder, [(segment, found[segment.name]) for segment in missing])
    return found


def _copy(cache: Cache, segment: Segment) -> pa.Buffer | None:
    here = f"{cache.path}/{_name(segment)}"
    stamp = _stamp(here)
    data = cache.mapped(_name(segment))
    if data is None or _damage(segment, data, here, stamp):
        return None
    cache.touch(_name(segment))
    return data


def keep_copies(folder: Folder, contents: Iterable[tuple[Segment, pa.Buffer]]) -> None:
    """Keep what was fetched, or has just been written; a disk without room costs the copies, not the join."""
    if folder.care.cache:
        with private_cache() as cache:
            for segment, data in contents:
                cache.keep(_name(segment), data)
            cache.sweep(folder.care.cache)


def _fetched(folder: Folder, segments: Sequence[Segment]) -> dict[str, pa.Buffer]:
    files: dict[str, list[Segment]] = {}
    for segment in segments:
        files.setdefault(segment.file, []).append(segment)
    found = folder.together([partial(_fetch, folder, name, there) for name, there in files.items()])
    return {segment.name: data for one in found for segment, data in one}


def _fetch(folder: Folder, name: str, segments: Sequence[Segment]) -> list[tuple[Segment, pa.Buffer]]:
    """Fetch what lies in one file, with one request."""
    start = min(segment.at for segment in segments)
    end = max(segment.at + segment.bytes for segment in segments)
    why = ""
    for _ in range(_AGAIN):
        data = folder.read_part(name, start, end - start) if segments[0].pack else folder.read(name)
        parts = [(segment, _part(data, segment, start)) for segment in segments]
        why = next((told for segment, part in parts if (told := segment.damage(part))), "")
        if not why:
            return parts
    raise StateError.torn(folder.where(name), why)


def _part(data: pa.Buffer, segment: Segment, start: int) -> pa.Buffer:
    if not segment.pack:
        return data
    offset = min(segment.at - start, data.size)
    return data.slice(offset, min(segment.bytes, data.size - offset))


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
