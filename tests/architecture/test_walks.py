"""The ways through the house are straight: work that has left a file for another one is not called back into it.

A join, a natural join and their control decisions run under a profiler. Of every call the files on the stack are looked at,
those of the engine, of routing, of documents and of the spec: A, then B, then A again is a way that a reader cannot follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import FrameType

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.routing import AsofScheme

ROOT = Path(weft.__file__).parent
ROOMS = ("engine", "routing", "documents", "spec")


def walked(run: Callable[[], None]) -> tuple[list[str], set[tuple[str, ...]]]:
    """Run something; return the files that it enters in their order, and the ways on which a file comes twice."""
    files: dict[str, str] = {}
    entered: dict[str, None] = {}
    twice: set[tuple[str, ...]] = set()

    def name(path: str) -> str:
        if path not in files:
            here = path.startswith(f"{ROOT}/") and path[len(str(ROOT)) + 1 :].split("/", maxsplit=1)[0] in ROOMS
            files[path] = path[len(str(ROOT)) + 1 :] if here else ""
        return files[path]

    def up(frame: FrameType | None) -> Iterator[str]:
        while frame is not None:
            if name(frame.f_code.co_filename):
                yield name(frame.f_code.co_filename)
            frame = frame.f_back

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and name(frame.f_code.co_filename):
            way = [file for file, _ in groupby(up(frame))][::-1]
            entered.setdefault(way[-1])
            if len(set(way)) < len(way):
                twice.add(tuple(way))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(entered), twice


def rows(batch: int, size: int = 200) -> pa.Table:
    """Make a batch in which one key is hot and keys move."""
    random = np.random.default_rng(batch)
    key = np.where(random.random(size) < 0.5, 7, random.integers(5 * batch, 5 * batch + 40, size))
    return pa.table({"id": np.arange(size), "k": key, "x": random.integers(0, 1000, size)})


JOINS = {
    "equality": ("l.k = r.k", "fastjoin(threshold=1.0, noise=0, gain=0, enough=0, split_hot=true)", "fastjoin"),
    "band": ("abs(l.k - r.k) <= 1", "ordered(imbalance=1.0, enough=0, patience=1, size=8)", "adsp"),
    "inequality": ("l.x < r.x AND l.k = r.k", "sta(hot=1, top=2, margin=1, worth=0)", "sta"),
}


@pytest.mark.parametrize("kind", JOINS)
def test_a_tuple_and_a_decision_enter_no_file_twice(kind: str, tmp_path: Path) -> None:
    on, scheme, family = JOINS[kind]

    join = weft.local.Join(
        rows(0).schema, rows(0).schema, on=on, window=weft.last(300), scheme=scheme, tasks=4, state=str(tmp_path)
    )

    def run() -> None:
        for batch in range(5):
            for _ in join.feed(rows(batch), rows(batch + 9)):
                pass

    entered, twice = walked(run)
    assert not twice
    wanted = {"engine/route.py", "engine/arrivals.py", "engine/worker.py", "engine/step.py", "engine/pairs.py"}
    assert wanted | {"engine/migrate.py", "engine/control.py", f"routing/{family}/scheme.py"} <= set(entered)


def test_a_left_row_of_an_as_of_join_enters_no_file_twice(tmp_path: Path) -> None:
    scheme = AsofScheme(enough=0, hot=0.5)
    join = weft.local.AsofJoin(
        rows(0).schema, rows(0).schema, on="id", by="k", ties="x", delay=5, tasks=3, scheme=scheme, state=str(tmp_path)
    )

    def run() -> None:
        for batch in range(4):
            for _ in join.feed(rows(batch), rows(batch + 9)):
                pass

    entered, twice = walked(run)
    assert not twice
    files = {f"engine/asof/{file}.py" for file in ("joiner", "step", "search", "candidates")}
    assert files | {"routing/asof.py", "engine/worker.py", "engine/control.py"} <= set(entered)


def test_a_document_enters_no_file_twice(tmp_path: Path) -> None:
    texts = [f'{{"user": {n % 6}, "file": {n % 5}}}' for n in range(60)]
    log = pa.table({"id": np.arange(60), "event": texts})
    join = weft.local.NaturalJoin(
        log.schema, column="event", id="id", tasks=3, window=weft.last(100), scheme="association(enough=1, theta=0)",
        state=str(tmp_path),
    )  # fmt: skip

    def run() -> None:
        for start in range(0, 60, 12):
            for _ in join.feed(log.slice(start, 12)):
                pass

    entered, twice = walked(run)
    assert not twice
    rooms = {f"engine/natural/{file}.py" for file in ("joiner", "route", "step", "fp_trees")}
    assert rooms | {"documents/read.py", "routing/documents/plan.py", "routing/documents/scheme.py"} <= set(entered)
