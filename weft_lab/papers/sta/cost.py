"""The paper's cost model, Eqs. (1), (2), (4)..(9), as functions (000-03, 000-30..000-35). Units are the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "Lambdas",
    "bchj",
    "chained",
    "index_cost",
    "pim",
    "split",
    "sta_demotion",
    "sta_lookup",
    "sta_update",
    "total_cost",
]


@dataclass(frozen=True)
class Lambdas:
    """What one step down the tree costs when searching, deleting and inserting."""

    search: float = 1.0
    delete: float = 1.0
    insert: float = 1.0


def total_cost(search: float, insert: float, delete: float) -> float:
    """Eq. (1): C_T = C_search + C_insert + C_delete."""
    return search + insert + delete


def index_cost(height: float, steps: Lambdas) -> float:
    """Eq. (2): I_c = h_b (lambda_search + lambda_delete + lambda_insert)."""
    return height * (steps.search + steps.delete + steps.insert)


def sta_lookup(hot: Sequence[float], links: Sequence[float]) -> float:
    """Eq. (4): the indexes of the hot tasks, I_1 + I_2, and every link of the chain."""
    return sum(hot) + sum(links)


def sta_update(is_hot: bool, links: int, hot: int = 2) -> float:
    """Eq. (5): one of the hot indexes is touched, or one of the `links` sub-trees of the chain."""
    return 1 / hot if is_hot else 1 / links


def sta_demotion(links: int, hot: int = 2) -> float:
    """Return what a key that turns cold costs: out of a hot index, into the active link (000-27: 1/2 + 1/n)."""
    return sta_update(True, links, hot) + sta_update(False, links, hot)


def bchj(tasks: int, send: float, hashing: float, windows: Sequence[float]) -> float:
    """Eq. (6): insert and remove everywhere, hash once, scan the asked windows."""
    return 2 * tasks * send + hashing + sum(windows)


def split(choose: float, send: float, windows: Sequence[float]) -> float:
    """Eq. (7): insert and remove on one task, look into every task's window."""
    return choose + 2 * send + sum(windows)


def chained(hashing: float, update: float, links: Sequence[float], checkpoint: float) -> float:
    """Eq. (8): hash, update one link, look into every link, and share at checkpoints."""
    return hashing + update + sum(links) + checkpoint


def pim(hashing: float, update: float, links: Sequence[float], tree: float, merge: float, checkpoint: float) -> float:
    """Eq. (9): as the chain, and the immutable tree, and merging into it."""
    return hashing + update + sum(links) + tree + merge + checkpoint
