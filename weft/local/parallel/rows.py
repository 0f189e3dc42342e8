"""The rows of a parallel join: those of one feed in their order of arrival, and those that a window keeps, by position."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.kernels import mix_words, words_of
from weft.local.runtime import TableSource
from weft.spec import JoinSpec
from weft.spec.terms import Key
from weft.spec.window import Within
from weft.types import WORD_MIN, Bools, Rows, Words

__all__ = ["FedRows", "KeptRows"]


class FedRows:
    """The rows of one side in one feed, in their order of arrival: words, which can match, order words, payload."""

    def __init__(self, words: Words, alive: Bools, order: Words, payload: pa.Table) -> None:
        self.words, self.alive, self.order, self.payload = words, alive, order, payload

    @classmethod
    def of(cls, spec: JoinSpec, source: TableSource, table: pa.Table) -> FedRows:
        """Read the rows of a table."""
        (prepared, _), side = source.prepare(table), spec.side(source.side)
        rows, inputs = table.num_rows, source.inputs
        alive = np.ones(rows, np.bool_)
        columns: list[Words] = []
        used = spec.used(source.side)
        for number, (key, column) in enumerate(zip(side.keys, inputs.keys, strict=True)):
            words, valid = words_of(prepared.column(column), key.encode)
            columns.append(words)
            if valid is not None and number in used:
                alive &= valid
        order, fed = np.zeros(rows, np.int64), np.ones(rows, np.bool_)
        if inputs.time is not None:
            order, valid = words_of(prepared.column(inputs.time), Key("time").encode)
            if valid is not None and not valid.all():
                order = np.where(valid, order, WORD_MIN)
                alive &= valid
                if isinstance(spec.window, Within):
                    fed = valid  # a row without a time is nowhere; a count window counts it, before all others
        if inputs.keep is not None:
            alive &= np.asarray(
                prepared.column(inputs.keep).fill_null(False).combine_chunks().to_numpy(zero_copy_only=False)
            )
        if side.time is not None:
            columns.append(order)
        if side.mix is not None:
            columns.append(mix_words([columns[column] for column in side.equal]))
        stacked = np.stack(columns) if columns else np.zeros((0, rows), np.int64)
        turn = np.argsort(order, kind="stable")
        turn = turn[fed[turn]]
        payload = prepared.select(range(inputs.payload))
        return cls(stacked[:, turn], alive[turn], order[turn], payload.take(pa.array(turn)))


class KeptRows:
    """The rows of one window, by position."""

    def __init__(self) -> None:
        self.base = self.end = 0
        self._parts: list[FedRows] = []

    def add(self, part: FedRows) -> None:
        """Append the rows of a feed."""
        if len(part.alive):
            self._parts.append(part)
            self.end += len(part.alive)

    def drop(self, before: int) -> None:
        """Let go of what lies before a position, once that is half of what is kept: each row is moved once or twice."""
        gone = before - self.base
        if 2 * gone < self.end - self.base or not gone:
            return
        whole = self._whole()
        words, alive = whole.words[:, gone:].copy(), whole.alive[gone:].copy()
        self._parts = [
            FedRows(words, alive, whole.order[gone:], whole.payload.take(pa.array(np.arange(gone, len(whole.alive)))))
        ]
        self.base = before

    def _whole(self) -> FedRows:
        """Return all rows as one part."""
        if len(self._parts) > 1:
            words = np.concatenate([part.words for part in self._parts], axis=1)
            alive = np.concatenate([part.alive for part in self._parts])
            payload = pa.concat_tables([part.payload for part in self._parts]).combine_chunks()
            order = np.concatenate([part.order for part in self._parts])
            self._parts = [FedRows(words, alive, order, payload)]
        return self._parts[0]

    def words(self, places: Rows) -> Words:
        """Return the words at positions."""
        return self._whole().words[:, places - self.base]

    def alive(self, places: Rows) -> Bools:
        """Tell which of these rows can match."""
        return self._whole().alive[places - self.base]

    def rows(self, places: Rows) -> pa.Table:
        """Return the payload at positions."""
        return self._whole().payload.take(pa.array(places - self.base))
