"""A random join of streams on Spark: its files, its settings in one life, and what must be in the sink in the end.

A file of each side is a batch, unless a kill makes two batches one. Late rows and count windows depend on that, so the
checkpoint is asked how the files were sliced, and the nested loop gets the same batches.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import weft
from weft.errors import SpecError
from weft.routing import Scheme
from weft.spec import INNER, KINDS, Kind, Window
from weft.spec.kinds import check_ends, check_unordered
from weft.types import SIDES
from weft_lab.oracle import Batch, Row
from weft_lab.torture.cases import SCHEMA, Case, Ids, a_case, a_row, a_time_window, expected_count, spec_of
from weft_lab.torture.draw import Draw, Seeded
from weft_lab.torture.legal import a_number_of_tasks, legal_indexes, legal_schemes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BEHIND", "Settings", "SparkCase"]

DDL = "id bigint, i bigint, j int, f double, s string, t bigint, o double"
BEHIND = ("nothing", "coalesce to one", "coalesce to two", "repartition", "union with itself", "filter")
"""What follows the join."""


@dataclass(frozen=True)
class Settings:
    """What may be another in every life of a query."""

    scheme: str | Scheme
    index: str
    tasks: int


@dataclass(frozen=True)
class SparkCase:
    """A join, its input, and what stands behind it."""

    seed: int
    case: Case
    behind: str

    @classmethod
    def of(cls, seed: int, batches: int = 8) -> SparkCase:
        """Return the case of a seed."""
        draw = Seeded(f"spark {seed}")
        itself = draw.integer(0, 4) == 4
        case = a_case(draw, _a_window, itself=itself, unordered=itself and draw.flag(), most=0, batches=1)
        made = replace(case, batches=_files_of_rows(draw, itself, batches))
        return cls(seed, replace(made, kind=draw.pick(_kinds(made))), draw.pick(BEHIND))

    def settings(self, life: int) -> Settings:
        """Return the settings of one life; they change from life to life."""
        draw = Seeded(f"life {life} of {self.seed}")
        spec = spec_of(self.case)
        scheme = draw.pick(legal_schemes(spec))
        index = Seeded(f"index of {self.seed}").pick(legal_indexes(spec))
        return Settings(scheme, index, a_number_of_tasks(draw, scheme, most=4))

    def write(self, folder: Path) -> None:
        """Write the input, a file per side and batch."""
        for side in self._sides:
            (folder / side).mkdir(parents=True)
            for number, batch in enumerate(self.case.batches):
                path = folder / side / f"{number:03}.parquet"
                pq.write_table(pa.Table.from_pylist([dict(row) for row in _rows(batch, side)], SCHEMA), path)
                os.utime(path, (1_700_000_000 + 10 * number,) * 2)  # Spark reads files in order of their age

    @property
    def _sides(self) -> tuple[str, ...]:
        return SIDES[:1] if self.case.itself else SIDES

    def query(self, spark: SparkSession, folder: Path, settings: Settings) -> DataFrame:
        """Return the joined stream, with what stands behind it."""
        api: Any = weft
        frames = [
            spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder / side))
            for side in self._sides
        ]
        one, two = self.case.aliases
        options: dict[str, Any] = {
            "on": self.case.on, "window": self.case.window, "scheme": settings.scheme, "index": settings.index,
            "tasks": settings.tasks, "state": str(folder / "state"), "how": self.case.kind.name,
            "select": [f"{one}.id AS x", f"{two}.id AS y"] if self.case.kind.pairs else [f"{one}.id AS x"],
        }  # fmt: skip
        if self.case.itself:
            return self._behind(api.self_join(*frames, unordered=self.case.unordered, **options))
        return self._behind(api.join(*frames, **options))

    def _behind(self, joined: DataFrame) -> DataFrame:
        if self.behind.startswith("coalesce"):
            return joined.coalesce(1 if self.behind.endswith("one") else 2)
        if self.behind == "repartition":
            return joined.repartition(3)
        if self.behind == "union with itself":
            return joined.unionAll(joined)
        return joined.where("x % 3 <> 1") if self.behind == "filter" else joined

    def expected(self, folder: Path) -> Counter[Ids]:
        """Return the rows that the sink must hold after all batches."""
        found = expected_count(self.case.expected(self._sliced(folder)), self.case.kind)
        if self.behind == "union with itself":
            return Counter({pair: 2 * times for pair, times in found.items()})
        return Counter({pair: n for pair, n in found.items() if self.behind != "filter" or _passes(pair)})

    def _sliced(self, folder: Path) -> list[Batch]:
        """Return the batches as Spark has made them."""
        checkpoint = folder / "checkpoint"
        offsets = {int(path.name): path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()}
        files = [_files(path) for path in sorted((checkpoint / "sources").iterdir(), key=lambda path: int(path.name))]
        first = [_side_of(source) for source in files]
        files = [
            source for number, source in enumerate(files) if first[number] not in first[:number]
        ]  # a union reads twice
        batches, before = [], [-1] * len(files)
        for number in sorted(offsets):
            ends = [json.loads(line)["logOffset"] for line in offsets[number].read_text().splitlines()[2:]][
                : len(files)
            ]
            parts: dict[str, list[list[Row]]] = {"left": [], "right": []}
            for source, (start, end) in enumerate(zip(before, ends, strict=True)):
                for path in sorted(path for path, batch in files[source].items() if start < batch <= end):
                    at = self.case.batches[int(Path(path).stem)]
                    parts[Path(path).parent.name].append(list(_rows(at, Path(path).parent.name)))
            batches.append(Batch(parts["left"], parts["right"]))
            before = ends
        return batches


def _kinds(case: Case) -> list[Kind]:
    """Return the kinds of joins that a case can be, inner ones as often as all others together."""
    others = [kind for kind in KINDS.values() if _can_be(case, kind)]
    return [INNER] * len(others) + others


def _can_be(case: Case, kind: Kind) -> bool:
    try:
        check_unordered(kind, case.unordered)
        check_ends(kind, case.window)
    except SpecError:
        return False
    return True


def _passes(row: Ids) -> bool:
    return row[0] is not None and row[0] % 3 != 1


def _a_window(draw: Draw) -> Window:
    """Draw a window; rows are counted in an order without ties, because files of one batch have none."""
    if draw.integer(0, 5) == 0:
        return weft.unbounded()
    if draw.flag():
        return a_time_window(draw)
    rows = draw.integer(1, 40)
    return weft.last(rows, order="id") if draw.flag() else weft.tumbling_rows(rows, order="id")


def _files_of_rows(draw: Draw, itself: bool, batches: int) -> tuple[Batch, ...]:
    """Draw one map partition per side and batch; some are empty, some have one row."""
    most, number, found = draw.pick((6, 20, 60)), 0, []
    for batch in range(batches):
        parts: dict[str, list[list[Row]]] = {"left": [], "right": []}
        for side in SIDES[: 1 if itself else 2]:
            size = draw.pick((0, 1, most, most))
            parts[side].append([a_row(draw, number + k, batch) for k in range(size)])
            number += size
        found.append(Batch(parts["left"], parts["right"]))
    return tuple(found)


def _rows(batch: Batch, side: str) -> list[Row]:
    return [row for part in (batch.left if side == "left" else batch.right) for row in part]


def _side_of(source: dict[str, int]) -> str:
    return Path(next(iter(source))).parent.name


def _files(log: Path) -> dict[str, int]:
    """Return which batch of a source each file belongs to, by the source's own log."""
    found: dict[str, int] = {}
    for path in log.iterdir():
        if path.name.split(".")[0].isdigit():
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                found[unquote(urlparse(entry["path"]).path)] = entry["batchId"]
    return found
