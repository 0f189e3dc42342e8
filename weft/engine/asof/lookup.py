"""Look-up of the nearest row: rows of a stream against a table that stays. No state, no watermark, no shuffle.

The table is one run, sorted by the word of its equal columns, by place, then by what decides among rows at one place. A row of
the stream finds its first candidate by bisection, so a batch takes the time of its rows and the logarithm of the table. The word
of several equal columns, or of text, is a hash: there a candidate is compared with the columns as they are, and with the
next one if they differ. Nothing waits: every row that a stream's row may have is in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from weft.engine.asof.candidates import Candidates, fixed, is_nan, looks
from weft.engine.asof.search import tie_words
from weft.engine.lookup import Found, pairs_of, words_of_rows
from weft.engine.pairs import Pairs
from weft.engine.preserve import Accept
from weft.engine.route import Inputs
from weft.index import Run
from weft.kernels import order_of
from weft.kernels.asof import nearest_stored, next_stored
from weft.spec import JoinSpec
from weft.spec.asof import Asof
from weft.types import Block, Bools, Side, Words

__all__ = ["AsofLookup", "SortedBy"]

_ONE: Words = np.zeros(0, np.int64)
"""Of groups: all rows are one."""


@dataclass(frozen=True)
class SortedBy:
    """What the rows of a table are sorted by: the word of their equal columns, and their place."""

    groups: Words
    places: Words


@dataclass(frozen=True)
class _Rows:
    """Rows of the stream as words."""

    words: Words
    payload: pa.Table


@dataclass(frozen=True)
class AsofLookup:
    """What gives each row of a stream, the left side, the nearest row of a table.

    `payload` has the columns of both sides as they leave; `accept` decides what words cannot of the further condition.
    """

    spec: JoinSpec
    payload: dict[Side, pa.Schema]
    accept: Accept | None = None
    asking: Side = "left"
    stored: Side = "right"

    def run_of(self, inputs: Inputs, table: pa.Table) -> Run:
        """Return a table as one run whose rows lie in order; rows that can match nothing are left out."""
        words, alive = self._words(self.stored, inputs, table)
        payload = table.select(range(inputs.payload))
        rows, group = np.flatnonzero(alive), self._group(self.stored)
        keys = [words[column] for column in (group, self._asof.order[1]) if column is not None]
        if len(rows) and self._asof.ties is not None:  # in two steps: equal rows stay in the order they have
            rows = rows[order_of([tie_words(payload, self._asof.ties)[rows]])]
        if len(rows):
            rows = rows[order_of([key[rows] for key in keys])]
        block = Block(words, np.zeros(table.num_rows, np.uint32), payload).take(rows)
        return Run.of(block, np.arange(len(rows), dtype=np.int32))

    def index(self, run: Run) -> SortedBy:
        """Return the table ready to be asked."""
        group = self._group(self.stored)
        return SortedBy(_ONE if group is None else fixed(run.words[group]), fixed(run.words[self._asof.order[1]]))

    def pairs(self, index: SortedBy, run: Run, inputs: Inputs, rows: pa.Table) -> Iterator[Pairs]:
        """Yield what leaves for some rows of the stream."""
        words, alive = self._words(self.asking, inputs, rows)
        payload = rows.select(range(inputs.payload))
        candidates = Candidates(self._asof, _Rows(words, payload), run, self.accept, compared=not self._exact)
        group = self._group(self.asking)
        groups = _ONE if group is None else fixed(words[group])
        found = []
        for flip in looks(self._asof):
            heads = nearest_stored(groups, candidates.places[0], index.groups, index.places, self._asof.strict, flip)
            heads[~alive] = -1
            if not candidates.sure:
                heads = candidates.first(heads, flip, partial(next_stored, index.groups, index.places, flip))
            found.append(heads)
        stored, _ = candidates.nearest(found)
        asking = np.arange(len(stored), dtype=np.int32)
        if not self.spec.kind.preserved:
            asking, stored = asking[stored >= 0], stored[stored >= 0]
        yield from pairs_of(payload, run.payload, Found(asking, stored), asking="left")

    @property
    def _asof(self) -> Asof:
        assert self.spec.asof is not None
        return self.spec.asof

    @property
    def _exact(self) -> bool:
        """Tell whether rows with one word are equal in all equal columns."""
        return self.spec.right.mix is None and all(column.exact for column in self._asof.by)

    def _group(self, side: Side) -> int | None:
        """Return the word column by which rows are told apart before they are compared."""
        part = self.spec.side(side)
        return part.mix if part.mix is not None else part.equal[0] if part.equal else None

    def _words(self, side: Side, inputs: Inputs, table: pa.Table) -> tuple[Words, Bools]:
        """Return the words of rows, and which of them can match: what is no number is near to nothing."""
        words, alive = words_of_rows(self.spec, side, inputs, table)
        if self._asof.floating:
            alive &= ~is_nan(words[self._asof.order[0 if side == "left" else 1]])
        return words, alive
