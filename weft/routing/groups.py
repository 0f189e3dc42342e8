"""Who belongs to which group of a join-biclique, and which word a tuple is routed by.

One group of tasks keeps the left stream, the other keeps the right one (003-01). With a single task both groups are that
task. In a *shared* layout, which is ours, every task is in both groups: as long as both groups send a key to the same
task, a tuple visits one task only, as it does under a plain hash.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.kernels import mix_words
from weft.routing.plan import draw_of
from weft.spec import JoinSpec
from weft.types import Side, Words

__all__ = ["Group", "group_of", "hash_home", "key_columns", "key_word"]


@dataclass(frozen=True)
class Group:
    """The tasks `start .. start + size - 1`, which keep one side's tuples."""

    start: int
    size: int


def group_of(side: Side, tasks: int, *, shared: bool = False) -> Group:
    """Return the group that keeps `side`; with an odd number of tasks the left one is the larger.

    >>> group_of("left", 5), group_of("right", 5), group_of("right", 1)
    (Group(start=0, size=3), Group(start=3, size=2), Group(start=0, size=1))
    """
    if shared or tasks == 1:
        return Group(0, tasks)
    lefts = (tasks + 1) // 2
    return Group(0, lefts) if side == "left" else Group(lefts, tasks - lefts)


def key_columns(spec: JoinSpec, scheme: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the word columns of both sides that make the routing key.

    The number of a tumbling window is left out where there is another key: with it, every hot key would be a new one in
    every window, and what was learned of it would be lost.
    """
    if spec.access.equal is None:
        raise SpecError.of(
            f"scheme={scheme!r} needs an equality between the sides.",
            f"The condition is {spec.condition.text}.",
            "use scheme='random' (a biclique for any condition), 'matrix' or 'auto'.",
        )
    if spec.left.bucket is None or len(spec.left.equal) == 1:
        return (spec.access.equal[0],), (spec.access.equal[1],)
    pairs = zip(spec.left.equal, spec.right.equal, strict=True)
    kept = [pair for pair in pairs if pair[0] != spec.left.bucket]
    return tuple(left for left, _ in kept), tuple(right for _, right in kept)


def key_word(words: Words, columns: tuple[int, ...]) -> Words:
    """Return the routing key of each tuple: the one word, or a hash of several."""
    return words[columns[0]] if len(columns) == 1 else mix_words([words[column] for column in columns])


def hash_home(word: Words, parts: int) -> NDArray[np.int64]:
    """Return which of `parts` a key's hash falls on; the same function as that of `HashPlan`."""
    hashed = mix_words([word]).view(np.uint64)
    return draw_of((hashed >> np.uint64(32)).astype(np.uint32), parts)
