"""Columns that are lines: their words count up by one row by row, as row numbers do, or stand still."""

from __future__ import annotations

from weft.kernels.lines import counts_up
from weft.types import Block

__all__ = ["counts_from", "line_of"]


def line_of(block: Block, column: int) -> tuple[int, int] | None:
    """Return (first word, step) if the words count up by one (step 1) or stand still (step 0); else None.

    Then a word follows from its row number and need not be looked up.
    """
    if column not in block.lines:
        words, (low, high) = block.words[column], block.limits[column]
        counts = high - low == len(words) - 1 and counts_up(words)
        block.lines[column] = (low, 0) if low == high else (low, 1) if counts else None
    return block.lines[column]


def counts_from(block: Block, column: int, first: int) -> bool:
    """Tell whether the words count up by one from `first` on."""
    line = line_of(block, column)
    return line == (first, 1) or (line == (first, 0) and len(block) == 1)
