"""The immutable B+-tree alone (002-09): every insert merges and builds anew, expired rows go in the same pass.

The cheapest to probe and the dearest to keep up: for windows that change by large batches.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.trees import Candidates, TreeSet, stream_css
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.trees import Css, check_css
from weft.types import Rows, Words

__all__ = ["CssTree"]


class CssTree(TreeSet):
    """One CSS-tree, built bottom up from the sorted entries after each batch."""

    name: ClassVar[str] = "css-tree"

    def _reset(self) -> None:
        empty = np.empty(0, np.int64)
        self._css: Css = self._fixed(empty, empty)

    def _add(self, keys: Words, numbers: Rows) -> None:
        living = self._living(self._css.row)
        merged = merge_all([Sorted((self._css.key[living],), self._css.row[living]), Sorted((keys,), numbers)])
        self._css = self._fixed(merged.keys[0], merged.row)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        return stream_css(self._css, lo, hi, room)

    def _validate_trees(self) -> int:
        check_css(self._css)
        return self._css.entries

    def _parts(self) -> dict[str, int]:
        return {"tree": self._css.nbytes}
