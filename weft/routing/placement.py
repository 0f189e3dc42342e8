"""Where a tuple goes, in the few ways that plans share: by its draw, by a hash of its key, within one of two groups of tasks.

The groups are those of a join-biclique: one keeps the left stream, the other the right one (003-01). With a single task both
groups are that task. In a *shared* layout, which is ours, every task is in both groups: as long as both groups send a key to
the same task, a tuple visits one task only, as it does under a plain hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.kernels import mix_words
from weft.types import U32, Bools, Side, Words

__all__ = ["TaskGroup", "draw_of", "group_of", "hash_home", "key_word", "owned"]


def owned(owner: NDArray[np.integer[Any]], tasks: int) -> Bools:
    """Return the Boolean rows of tuples that have one task each."""
    return np.asarray(owner[None, :] == np.arange(tasks, dtype=owner.dtype)[:, None])


def draw_of(u: U32, parts: int) -> NDArray[np.int64]:
    """Cut [0, 2**32) into equal intervals and return the number of each draw's interval."""
    return ((u.astype(np.uint64) * np.uint64(parts)) >> np.uint64(32)).astype(np.int64)


def key_word(words: Words, columns: tuple[int, ...]) -> Words:
    """Return the routing key of each tuple: the one word, or a hash of several."""
    return words[columns[0]] if len(columns) == 1 else mix_words([words[column] for column in columns])


def hash_home(key: Words, parts: int) -> NDArray[np.int64]:
    """Return which of `parts` each key's hash falls on."""
    hashed = mix_words([key]).view(np.uint64)
    return draw_of((hashed >> np.uint64(32)).astype(np.uint32), parts)


@dataclass(frozen=True)
class TaskGroup:
    """The tasks `start .. start + size - 1`, which keep one side's tuples."""

    start: int
    size: int


def group_of(side: Side, tasks: int, *, shared: bool = False) -> TaskGroup:
    """Return the group that keeps `side`; with an odd number of tasks the left one is the larger.

    >>> group_of("left", 5), group_of("right", 5), group_of("right", 1)
    (TaskGroup(start=0, size=3), TaskGroup(start=3, size=2), TaskGroup(start=0, size=1))
    """
    if shared or tasks == 1:
        return TaskGroup(0, tasks)
    lefts = (tasks + 1) // 2
    return TaskGroup(0, lefts) if side == "left" else TaskGroup(lefts, tasks - lefts)
