"""Moving rows: all columns of a run by one order."""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.types import U32, Rows, Words

__all__ = ["gather", "invert", "scatter"]


@kernel
def gather(words: Words, u: U32, order: Rows, new_words: Words, new_u: U32) -> None:
    """Write `words[:, order]` and `u[order]`, column by column, so that writes stream."""
    for c in range(words.shape[0]):
        source, target = words[c], new_words[c]
        for i in range(len(order)):
            target[i] = source[order[i]]
    for i in range(len(order)):
        new_u[i] = u[order[i]]


@kernel
def invert(order: Rows, target: Rows) -> None:
    """Write where each row goes: `target[order[i]] = i`."""
    for i in range(len(order)):
        target[order[i]] = i


@kernel
def scatter(
    words: Words, u: U32, row: Rows, offset: int, target: Rows, first: int, last: int,
    new_words: Words, new_u: U32, new_row: Rows,
) -> None:  # fmt: skip
    """Move rows `[first, last)` to their targets, which ascend; payload rows move up by `offset`."""
    for c in range(words.shape[0]):
        source, made = words[c], new_words[c]
        for i in range(first, last):
            made[target[i]] = source[i]
    for i in range(first, last):
        new_u[target[i]] = u[i]
        new_row[target[i]] = row[i] + offset
