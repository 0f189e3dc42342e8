"""In which frame an index packs its runs: one for all of them, so that they can be merged as they are."""

from __future__ import annotations

from collections.abc import Sequence

from weft.index.held import Held
from weft.kernels.packed import Frame, frame_of
from weft.types import Block

__all__ = ["Framing"]


class Framing:
    """The frame of an index: chosen when a probe first asks for it, and again when keys or rows outgrow it.

    A new frame means packing every run again. So there is none as long as fewer rows came since the last one than half
    of those held: then keys and rows lie apart. All of it derives from the runs, and answers do not depend on it.
    """

    def __init__(self, column: int) -> None:
        self._column = column
        self._frame: Frame | None = None
        self._asked = False
        self._came = 0

    def of(self, runs: Sequence[Held]) -> Frame | None:
        """Return the frame for a probe of these runs; None if keys spread too far."""
        if not self._asked:
            self._asked = True
            self._choose([held.zone(self._column) for held in runs], sum(held.run.rows for held in runs))
        return self._frame

    def with_block(self, runs: Sequence[Held], block: Block) -> Frame | None:
        """Return the frame for a block that joins these runs; None as long as no probe has asked for one."""
        if not self._asked:
            return None
        self._came += len(block)
        zone, rows = block.limits[self._column], len(block) + sum(held.run.rows for held in runs)
        if self._frame is None or not self._frame.holds(*zone, rows):
            self._frame = None
            if 2 * self._came >= rows:
                self._choose([zone, *(held.zone(self._column) for held in runs)], rows)
        return self._frame

    def _choose(self, zones: Sequence[tuple[int, int]], rows: int) -> None:
        """Choose a frame with as much room again for keys and rows to come; without, if it must be."""
        self._came = 0
        low, high = min(low for low, _ in zones), max(high for _, high in zones)
        room = (high - low) // 2
        self._frame = frame_of(low - room, high + room, 2 * rows) or frame_of(low, high, rows)
