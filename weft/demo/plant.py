"""A power plant that sends measurements: voltage and current before and after each generator.

With noise, load curves, drops behind a generator (`v2` falls, `i2` surges) and spikes before it (`v1` jumps, `i1` dips).
Seeded: the same seed gives the same values, whatever the clock says. Rows come in slices of time, a few of them late,
and `Feeder` writes each slice as a Parquet file that appears whole or not at all.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.types import SIDES, Side

__all__ = ["COLUMNS", "Feeder", "Plant"]

Floats = NDArray[np.float64]

COLUMNS: dict[Side, tuple[str, str]] = {"left": ("v1", "i1"), "right": ("v2", "i2")}
"""Voltage in kV and current in kA: before a generator (left) and after it (right)."""

_VOLTS: dict[Side, float] = {"left": 10.50, "right": 10.89}
_AMPERES: dict[Side, float] = {"left": 6.24, "right": 5.97}
_LATE_SHARE, _LATEST = 0.03, 2.0
"""This share of the rows is sent up to so many seconds late: well inside the demo's delay of 5 seconds."""


@dataclass(frozen=True)
class Event:
    """Something that happens to one generator: on which side, when, for how long, how deep."""

    side: Side
    generator: int
    start: float
    length: float
    depth: float


@dataclass(frozen=True)
class Plant:
    """Where every measurement comes from; pure functions of the seed and of the seconds since the start."""

    seed: int = 7
    generators: int = 6
    rate: int = 1000
    seconds: int = 60
    events: tuple[Event, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        random = np.random.default_rng([self.seed, 0])
        found, at = [], float(random.uniform(2, 4))
        while at < self.seconds - 1:
            side: Side = "left" if random.random() < 0.5 else "right"
            length = random.uniform(0.15, 0.5) if side == "left" else random.uniform(0.6, 2.0)
            depth = float(np.clip(random.gamma(6.0, 0.05), 0.16, 0.44))
            found.append(Event(side, int(random.integers(self.generators)), at, float(length), depth))
            at += float(random.exponential(3.5)) + 0.8
        object.__setattr__(self, "events", tuple(found))

    def slice(self, side: Side, number: int, length: float, start: datetime) -> pa.Table:
        """Return the measurements of one slice of time of one side, in the order of their timestamps."""
        rows = max(1, round(self.rate * length))
        random = np.random.default_rng([self.seed, 1 + number, SIDES.index(side)])
        at = np.sort(random.uniform(number * length, (number + 1) * length, rows))
        generator = random.integers(0, self.generators, rows)
        volts, amperes = self._values(side, at, generator, random)
        micros = np.int64(start.timestamp() * 1e6) + (at * 1e6).astype(np.int64)
        names = COLUMNS[side]
        return pa.table(
            {
                "generator": pa.array(generator, pa.int32()),
                "ts": pa.array(micros, pa.timestamp("us", "UTC")),
                names[0]: np.round(volts, 4),
                names[1]: np.round(amperes, 4),
            }
        )

    def _values(
        self, side: Side, at: Floats, generator: NDArray[np.int64], random: np.random.Generator
    ) -> tuple[Floats, Floats]:
        load = 0.86 + 0.05 * np.sin(at / 9) + 0.02 * np.sin(at / 2.3 + generator)
        offset = 0.012 * np.sin(generator * 2.4)
        volts = _VOLTS[side] * (1 - 0.012 * (load - 0.86)) + offset + random.normal(0, 0.022, len(at))
        amperes = _AMPERES[side] * load * (1 + random.normal(0, 0.012, len(at)))
        for event in self.events:
            if event.side == side:
                into = (at - event.start) / event.length
                hit = (generator == event.generator) & (into >= 0) & (into <= 1)
                # A spike decays at once, a drop sinks and recovers.
                shape = np.exp(-4 * into[hit]) if side == "left" else np.sin(np.pi * into[hit])
                push = event.depth * shape * random.uniform(0.75, 1.0, int(hit.sum()))
                volts[hit] += push if side == "left" else -push
                amperes[hit] *= 1 - 0.35 * push if side == "left" else 1 + 0.45 * push
        return volts, amperes


class Feeder(threading.Thread):
    """Writes the plant's slices as they happen; `rows` is what has been written so far, both sides together.

    The first slice is there at once; the clock runs from `go`, so that nobody has to hurry while kernels compile.
    """

    def __init__(self, plant: Plant, folders: dict[Side, Path], slice_seconds: float = 0.5) -> None:
        super().__init__(name="plant", daemon=True)
        self.plant, self.folders, self.length = plant, folders, slice_seconds
        self.rows = 0
        self.files = 0
        self.finished = threading.Event()
        self.cancelled = threading.Event()
        self.go = threading.Event()
        self.error: OSError | None = None
        now = datetime.now(timezone.utc)
        self.start_time = now - timedelta(microseconds=now.microsecond)

    def run(self) -> None:
        """Send until the plant's seconds are over."""
        begin = 0.0
        waiting: dict[Side, list[tuple[float, pa.Table]]] = {side: [] for side in SIDES}
        slices = int(self.plant.seconds / self.length)
        try:
            for number in range(slices):
                if number == 1:
                    self.go.wait()
                    begin = time.monotonic()
                self.cancelled.wait(max(0.0, begin + number * self.length - time.monotonic()) if number else 0.0)
                if self.cancelled.is_set():
                    break
                for side in SIDES:
                    self._send(side, number, waiting[side], last=number == slices - 1)
        except OSError as error:  # a full disk: whoever waits for the rows must hear of it
            self.error = error
        self.finished.set()

    def _send(self, side: Side, number: int, waiting: list[tuple[float, pa.Table]], *, last: bool) -> None:
        table = self.plant.slice(side, number, self.length, self.start_time)
        random = np.random.default_rng([self.plant.seed, number, 9, SIDES.index(side)])
        held = random.random(table.num_rows) < _LATE_SHARE
        waiting.append(
            (number * self.length + float(random.uniform(self.length, _LATEST)), table.filter(pa.array(held)))
        )
        due = [late for when, late in waiting if last or when <= number * self.length]
        waiting[:] = [(when, late) for when, late in waiting if not (last or when <= number * self.length)]
        self._write(side, number, pa.concat_tables([*due, table.filter(pa.array(~held))]))

    def _write(self, side: Side, number: int, table: pa.Table) -> None:
        folder = self.folders[side]
        folder.mkdir(parents=True, exist_ok=True)
        aside = folder / f".{number:05d}.writing"
        pq.write_table(table, aside)
        aside.rename(folder / f"{number:05d}.parquet")
        self.rows += table.num_rows
        self.files += 1
