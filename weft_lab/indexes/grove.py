"""What the competitors do with B+-trees and the PIM-Tree never does: load one from sorted entries, delete from one."""

from __future__ import annotations

from weft.index.trees import Grove
from weft.kernels.trees import room_for
from weft.types import Rows, Words
from weft_lab.kernels.tree_delete import delete_all
from weft_lab.kernels.tree_load import bulk_load

__all__ = ["delete_entries", "load_entries"]


def load_entries(grove: Grove, tree: int, keys: Words, numbers: Rows) -> None:
    """Fill an empty tree with entries that ascend by key."""
    grove.count += len(keys)
    grove.forest = room_for(grove.forest, grove.count)
    bulk_load(grove.forest, tree, keys, numbers)


def delete_entries(grove: Grove, trees: Rows, keys: Words, numbers: Rows) -> None:
    """Delete entries that are there, each from its tree."""
    grove.count -= len(keys)
    found = delete_all(grove.forest, trees, keys, numbers)
    assert found == len(keys), "an entry to be deleted was not there"
