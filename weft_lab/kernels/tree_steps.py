"""One step of the window join for many tuples in a row, so that steps can be timed one by one (figure 10a)."""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.trees.css import Css, position, route
from weft.kernels.trees.forest import Forest, insert, start_of
from weft.types import Words
from weft_lab.kernels.tree_joins import count_css, count_forest

__all__ = ["count_merged", "count_tree", "insert_merged", "reach_merged", "reach_tree"]


@kernel
def reach_tree(f: Forest, tree: int, keys: Words, band: int) -> int:
    """Descend to the first leaf of each tuple's range."""
    found = 0
    for i in range(len(keys)):
        leaf, place = start_of(f, tree, keys[i] - band)
        found += leaf + place
    return found


@kernel
def count_tree(f: Forest, tree: int, keys: Words, band: int) -> int:
    """Descend and scan the range."""
    found = 0
    for i in range(len(keys)):
        found += count_forest(f, tree, keys[i] - band, keys[i] + band, 0)
    return found


@kernel
def reach_merged(f: Forest, c: Css, plot: int, trees: int, depth: int, keys: Words, band: int) -> int:
    """Descend T_S, and the sub-index of T_I that the range begins in."""
    found = 0
    for i in range(len(keys)):
        lo = keys[i] - band
        found += position(c, plot, lo)
        leaf, place = start_of(f, plot * trees + route(c, plot, lo, depth), lo)
        found += leaf + place
    return found


@kernel
def count_merged(f: Forest, c: Css, plot: int, trees: int, depth: int, keys: Words, band: int, oldest: int) -> int:
    """Descend and scan both."""
    found = 0
    for i in range(len(keys)):
        lo, hi = keys[i] - band, keys[i] + band
        found += count_css(c, plot, lo, hi, oldest)
        found += count_forest(f, plot * trees + route(c, plot, lo, depth), lo, hi, oldest)
    return found


@kernel
def insert_merged(f: Forest, c: Css, plot: int, trees: int, depth: int, keys: Words, first: int) -> None:
    """Insert tuples at positions from `first` on into T_I."""
    for i in range(len(keys)):
        insert(f, plot * trees + route(c, plot, keys[i], depth), keys[i], first + i)
