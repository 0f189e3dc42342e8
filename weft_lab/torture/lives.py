"""A join through many lives: it crashes, is started again with other settings, replays batches; the pairs stay exact.

Every `start` is a new process as far as Weft can tell. Spark's part is played here: a batch is repeated until it is whole,
tasks run in any order and some of them twice, and what a batch gave counts once, when it is whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pyarrow as pa

from weft.errors import WeftError
from weft.local import AsofJoin, Join
from weft.routing import Plan
from weft.state import Folder, StateStore, open_folder
from weft.types import SIDES
from weft_lab.oracle import Batch, Row
from weft_lab.torture.cases import Ids, count
from weft_lab.torture.draw import Draw
from weft_lab.torture.faults import Crash, Fault, Faults, FaultyFolder
from weft_lab.torture.forced import force_plan

__all__ = ["Lived", "Mortal", "Troubles", "live"]

CRASHES: tuple[Fault, ...] = ("crash", "aside", "torn", "after")
REFUSALS: tuple[Fault, ...] = ("full", "failing", "slow")


class Mortal(Protocol):
    """A join that can be led through many lives: its input, what may differ between lives, and what must come out."""

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The input."""

    def wanted(self) -> tuple[Counter[Ids], dict[str, int]]:
        """Return what must have left with the last batch, and how many rows of each side are late."""

    def join(self, **options: Any) -> Join | AsofJoin:
        """Make the local join."""

    def options(self, draw: Draw) -> dict[str, Any]:
        """Draw scheme and, where there is a choice, index."""

    def tasks(self, draw: Draw, options: dict[str, Any]) -> int:
        """Draw a number of tasks that these options can do with."""

    def plan(self, draw: Draw, tasks: int) -> Plan:
        """Draw a plan for the next batch, whether or not a scheme would have chosen it."""

    def tables(self, parts: Sequence[Sequence[Row]]) -> list[pa.Table]:
        """Return the map partitions of one side as tables."""


@dataclass(frozen=True)
class Troubles:
    """What may happen to a join."""

    crash: bool = False
    rescale: bool = False
    change: bool = False
    """Another plan is forced upon the next batch."""
    most: int = 2
    """Crashes in one batch."""


@dataclass
class Lived:
    """What happened."""

    counts: Counter[str] = field(default_factory=Counter)
    pairs: int = 0


class _Bench:
    """Runs a case over one state folder."""

    def __init__(self, case: Mortal, folder: str, draw: Draw) -> None:
        self.case, self.draw = case, draw
        self.folder, self.faults = open_folder(folder), Faults()
        self.options = case.options(draw)
        self.tasks = case.tasks(draw, self.options)
        self.fingerprint = case.join().spec.fingerprint()
        self.late: Counter[str] = Counter(dict.fromkeys(SIDES, 0))
        self.join = self.start(0)

    def start(self, batch: int) -> Join | AsofJoin:
        """Begin a new life."""
        place = FaultyFolder(self.folder.system, self.folder.path, faults=self.faults)
        store = StateStore(place, "q", self.fingerprint, retain=2)
        self.join = self.case.join(**self.options, tasks=self.tasks, state=store)
        self.join.run.batch = batch
        return self.join

    def rescale(self) -> None:
        """Let the next life have another number of tasks."""
        self.tasks = self.case.tasks(self.draw, self.options)

    def tables(self, batch: Batch) -> tuple[list[pa.Table], list[pa.Table]]:
        """Return a batch as tables."""
        return self.case.tables(batch.left), self.case.tables(batch.right)

    def feed(self, batch: Batch) -> Iterable[pa.Table]:
        """Feed a batch to the join."""
        return self.join.feed(*self.tables(batch))

    def note_late(self, batch: int) -> None:
        """Read the late rows of a finished batch, before it is collected."""
        for task in range(self.tasks):
            manifest = self.join.store.manifest(task, batch)
            assert manifest is not None
            self.late.update(manifest.stats["late"])


def live(case: Mortal, draw: Draw, troubles: Troubles) -> Lived:
    """Run a case through its troubles and compare what came out with the nested loop."""
    lived = Lived()
    with TemporaryDirectory() as folder:
        bench = _Bench(case, folder, draw)
        found: Counter[Ids] = Counter()
        for number, batch in enumerate(case.batches):
            if troubles.rescale and draw.flag():
                bench.rescale()
                bench.start(number)
                lived.counts["restarts"] += 1
            if troubles.change and number and draw.flag():
                force_plan(bench.join.store, number, case.plan(draw, bench.tasks))
                lived.counts["plans forced"] += 1
            if troubles.crash:
                for _ in range(draw.integer(0, troubles.most)):
                    lived.counts[_suffer(bench, batch, draw)] += 1
                    if troubles.rescale and draw.flag():
                        bench.rescale()
                    bench.start(number)
            found += _whole(bench, number, batch, draw if troubles.crash else None)
            bench.note_late(number)
            bench.faults.forget()
            if troubles.crash and draw.flag():  # the sink had it, Spark's commit was lost
                before = _digests(bench.folder, number)
                bench.start(number)
                count(bench.feed(batch))
                assert _digests(bench.folder, number) == before, "a replay wrote other bytes"
                lived.counts["replays"] += 1
        wanted, late = case.wanted()
        assert found == wanted, f"{_told(found, wanted)}\n{case}"
        assert dict(bench.late) == late, f"late {dict(bench.late)}, not {late}\n{case}"
        lived.pairs = sum(found.values())
    return lived


def _suffer(bench: _Bench, batch: Batch, draw: Draw) -> str:
    """Let a batch go wrong in one way or another; return which."""
    kind = draw.pick((*CRASHES, *REFUSALS, "left unread"))
    if kind == "left unread":  # a consumer that stops early
        count(islice(bench.feed(batch), draw.integer(0, 6)))
        return kind
    bench.faults.arm(kind, draw.integer(0, 12 if draw.flag() else 60))  # type: ignore[arg-type]
    try:
        count(bench.feed(batch))
        kind = f"{kind} too late" if bench.faults.left is not None else kind
    except Crash:
        assert kind in CRASHES
    except WeftError:
        if kind not in ("full", "failing"):  # whatever else went wrong, this batch must go on
            raise
    bench.faults.disarm()
    if kind in CRASHES and draw.flag():  # a power cut: what was not synced may be gone
        kind = "lost writes" if bench.faults.lose(draw) else kind
    return kind


def _whole(bench: _Bench, number: int, batch: Batch, draw: Draw | None) -> Counter[Ids]:
    """Join a batch; with `draw`, its tasks in any order and some of them twice, as retries and speculation do."""
    if draw is None or draw.flag():
        return count(bench.feed(batch))
    order = [task for task in range(bench.tasks) for _ in range(1 + draw.flag())]
    for place in range(len(order) - 1, 0, -1):
        other = draw.integer(0, place)
        order[place], order[other] = order[other], order[place]
    found: Counter[Ids] = Counter()
    seen: dict[int, Counter[Ids]] = {}
    for task in order:
        bench.join.run.batch = number
        pairs = count(bench.join.projected(bench.join.run.feed(*bench.tables(batch), [task])))
        assert seen.setdefault(task, pairs) == pairs, f"task {task} gave other pairs the second time"
    for pairs in seen.values():
        found += pairs
    return found


def _digests(folder: Folder, batch: int) -> dict[str, str]:
    """Return a digest of every file that a batch wrote; metrics hold wall-clock times."""
    root = Path(folder.path)
    files = [
        *root.glob(f"q/[0-9]*/{batch}.json"),
        *root.glob(f"q/[0-9]*/{batch}-*.arrow"),
        *root.glob(f"q/plans/{batch + 1}.json"),
    ]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _told(found: Counter[Ids], expected: Counter[Ids]) -> str:
    lost, invented = expected - found, found - expected
    return f"{sum(lost.values())} pairs lost {_few(lost)}, {sum(invented.values())} invented {_few(invented)}"


def _few(pairs: Counter[Ids]) -> Sequence[Ids]:
    return list(pairs)[:5]
