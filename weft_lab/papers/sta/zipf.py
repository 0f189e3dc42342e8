"""Figs. 23-31: lookup and insertion throughput on Zipf streams, Z = 1, 1.5, 2 and a tuple in 1, 2, 3 ms (000-44, 000-63..65)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from weft_lab.papers.figure import Figure
from weft_lab.papers.sta.sized import Measured, Setting, measure
from weft_lab.papers.sta.sweeps import BATCHES, SYSTEMS, WHY
from weft_lab.workloads import scattered_keys

__all__ = ["ZIPFS"]

PAPER = ("000-44", "000-51", "000-63", "000-64", "000-65")
KEYS = 10_000

_CLAIMS = {
    (1.0, 1): "Lookup/insertion: MCI 200/160, CI 155/150, PIM 162/155, STA 298/230.",
    (1.5, 1): "Lookup/insertion: MCI 325/118, CI 175/185, PIM 178/190, STA 408/232.",
    (2.0, 1): "Lookup/insertion: MCI 318/103, CI 40/192, PIM 193/200, STA 398/272.",
    (1.0, 2): "Lookup/insertion: BCHJ 400/412, SJ 420/430, MCI 450/262, CI 462/462, PIM 142/147, STA 470/467.",
    (
        1.5,
        2,
    ): "Lookup/insertion: BCHJ 400/375, SJ 470/487, MCI 420/240, CI 240/447, PIM 285/242, STA 460/460: SJ is ahead.",
    (2.0, 2): "STA ahead of the others.",
    (1.0, 3): "Lookup/insertion: MCI 77/68, CI 54/50, PIM 28/33, STA 153/79.",
    (1.5, 3): "Lookup/insertion: MCI 158/121, CI 74/70, PIM 71/67, STA 200/114.",
    (2.0, 3): "Lookup/insertion: MCI 92/91, CI 79/74, PIM 36/54, STA 77/89: MCI is ahead.",
}


def _run(system: str, z: float, rate: int, scale: float) -> Measured:
    setting = Setting(rate=float(rate))
    rows = max(2, round(BATCHES * min(scale, 4.0))) * setting.batch
    keys = scattered_keys(np.random.default_rng(12), rows, KEYS, z)
    table = pa.table({"id": np.arange(rows), "t": np.arange(rows) * setting.every, "k": keys})
    return measure(system, setting, table, None, "a.k >= b.k")


def _figure(number: str, z: float, rate: int, scale: float) -> Figure:
    rows: list[tuple[str, float, float, float]] = []
    whole = 1
    for system in SYSTEMS:
        if not rows:
            _run(system, z, 10, 0.25)  # the first call of a kernel compiles
        seen = _run(system, z, rate, scale)
        whole = max(whole, seen.pairs)
        rows.append((system, seen.lookup, seen.insertion, float(seen.pairs)))
    rows = [(*row[:3], row[3] / whole) for row in rows]
    lookup, insertion = max(rows, key=lambda row: row[1])[0], max(rows, key=lambda row: row[2])[0]
    at = {row[0]: row for row in rows}
    ahead = all(at["STA"][1] >= at[name][1] for name in ("CI", "MCI", "PIM"))
    return Figure(
        number, f"Throughput on a Zipf stream, Z = {z:g}, a tuple in {rate} ms", _CLAIMS[z, rate],
        ("system", "lookup", "insertion", "share of the pairs"), tuple(rows), holds=ahead,
        verdict=f"Fastest lookup {lookup}, fastest insertion {insertion}; STA's lookups are "
        f"{'ahead' if ahead else 'not ahead'} of CI, MCI and PIM. CI, PIM and STA ask one task of their chain "
        f"and find {at['CI'][3]:.2f}, {at['PIM'][3]:.2f} and {at['STA'][3]:.2f} of the pairs. {WHY}",
        papers=("000-44", "000-51", "000-63" if rate == 1 else "000-64", "000-65"), y="tuples/s",
    )  # fmt: skip


def _maker(number: str, z: float, rate: int) -> Callable[[float], Figure]:
    return lambda scale: _figure(number, z, rate, scale)


ZIPFS: dict[str, Callable[[float], Figure]] = {
    str(number): _maker(str(number), z, rate)
    for number, (rate, z) in enumerate(((rate, z) for rate in (1, 2, 3) for z in (1.0, 1.5, 2.0)), start=23)
}
