"""Small joins with a state folder, half way through: what the state target harms and then goes on with."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import weft
from weft.local import Join, NaturalJoin
from weft_lab.fuzz.meaning import joins, meaning_of

__all__ = ["STREAMS", "Stream", "fresh", "scratch"]

Pairs = list[tuple[int, int]]

BEFORE, AFTER = 3, 2
"""Batches that are joined before the harm, and behind it."""
_ROWS = 12
_SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.int64(), "x": pa.int64(), "note": pa.string()})
_DOCS = pa.schema({"n": pa.int64(), "document": pa.string()})


@cache
def scratch() -> Path:
    """Return a folder for this process; in memory where that is possible."""
    shared = Path("/dev/shm")  # noqa: S108  a private folder is made in it
    made = Path(tempfile.mkdtemp(prefix="weft-fuzz-state-", dir=shared if shared.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@contextmanager
def fresh(stream: Stream, folder: Path) -> Iterator[None]:
    """Copy the state of a stream, and remove the copy in the end."""
    shutil.copytree(stream.folder(other=False), folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Stream(ABC):
    """Two streams, always the same, and the join of them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def folder(self, *, other: bool) -> Path:
        """Return the state after a few batches, made when first asked for; `other` is that of the same join on other rows."""
        path = scratch() / f"{self.name}{'-other' if other else ''}"
        if not path.exists():
            path.mkdir()
            self.join(path, 0, BEFORE, "other" if other else "")
        return path

    @abstractmethod
    def join(self, folder: Path, first: int | None, last: int, seed: str = "") -> tuple[int, Pairs]:
        """Join the batches from `first` (None: where the state says) up to `last`; return the first, and the pairs."""

    @abstractmethod
    def answer(self, first: int) -> Pairs:
        """Return the pairs by nested loop that leave in batch `first` or later."""

    def go_on(self, folder: Path) -> tuple[int, Pairs]:
        """Go on where the state says; return with which batch, and the pairs from there on."""
        return self.join(folder, None, BEFORE + AFTER)


class Rows(Stream):
    """A join of rows."""

    def __init__(self, name: str, on: str, window: weft.spec.Window, **options: Any) -> None:
        super().__init__(name)
        self.on, self.window, self.options = on, window, options

    def join(self, folder: Path, first: int | None, last: int, seed: str = "") -> tuple[int, Pairs]:
        made = Join(_SCHEMA, _SCHEMA, on=self.on, window=self.window, state=str(folder), **self.options)
        begun = made.run.batch if first is None else first
        found: Pairs = []
        for batch in range(begun, last):
            for table in made.feed(_rows("left", batch, seed), _rows("right", batch, seed)):
                found += zip(table["id"].to_pylist(), table["id_right"].to_pylist(), strict=True)
        return begun, sorted(found)

    @cache  # noqa: B019  there are as many streams as this module names
    def answer(self, first: int) -> Pairs:
        sides = [[row for b in range(BEFORE + AFTER) for row in _rows(s, b).to_pylist()] for s in ("left", "right")]
        band = self.on.startswith("abs")
        return sorted(
            (one["id"], two["id"]) for one in sides[0] for two in sides[1]
            if (abs(one["x"] - two["x"]) <= 3 if band else one["x"] == two["x"])
            and abs(one["ts"] - two["ts"]) <= 40 and max(one["id"], two["id"]) >= first * 1000
        )  # fmt: skip


class Documents(Stream):
    """A natural join of documents."""

    def join(self, folder: Path, first: int | None, last: int, seed: str = "") -> tuple[int, Pairs]:
        made = NaturalJoin(
            _DOCS, column="document", id="n", tasks=2, state=str(folder), scheme="association", batch=first
        )
        begun = made.run.batch
        found: Pairs = []
        for batch in range(begun, last):
            for table in made.feed(_docs(batch, seed)):
                found += zip(table["left_id"].to_pylist(), table["right_id"].to_pylist(), strict=True)
        return begun, sorted(found)

    @cache  # noqa: B019
    def answer(self, first: int) -> Pairs:
        rows = [row for batch in range(BEFORE + AFTER) for row in _docs(batch).to_pylist()]
        known = [(row["n"], meaning_of(row["document"].encode(), nulls=False, sets=False) or {}) for row in rows]
        return sorted(
            (i, j) for n, (i, one) in enumerate(known) for j, two in known[n + 1 :] if joins(one, two) and j >= first * 1000
        )  # fmt: skip


@cache
def _rows(side: str, batch: int, seed: str = "") -> pa.Table:
    draw = random.Random(f"{side} {batch} {seed}")
    ts = sorted(batch * 20 + draw.randrange(20) for _ in range(_ROWS))
    x = [draw.randrange(12) for _ in ts]
    ids = [batch * 1000 + number for number in range(_ROWS)]
    return pa.table({"id": ids, "ts": ts, "x": x, "note": [f"{side} {value}" for value in x]}, schema=_SCHEMA)


@cache
def _docs(batch: int, seed: str = "") -> pa.Table:
    draw = random.Random(f"documents {batch} {seed}")
    docs = [{name: draw.randrange(3) for name in draw.sample("abcd", draw.randint(1, 3))} for _ in range(_ROWS)]
    return pa.table({"n": range(batch * 1000, batch * 1000 + _ROWS), "document": map(json.dumps, docs)}, schema=_DOCS)


_WINDOW = weft.within(40, on="ts", delay=5)
STREAMS: tuple[Stream, ...] = (
    Rows("band", "abs(l.x - r.x) <= 3", _WINDOW, tasks=2, scheme="matrix"),
    Rows("equality", "l.x = r.x", _WINDOW, tasks=2),
    Rows("unwindowed", "l.x = r.x AND abs(l.ts - r.ts) <= 40", weft.unbounded(), tasks=1),
    Documents("documents"),
)
