"""A column of documents into coded pairs; what cannot be read is counted, never an error.

A document is a JSON object. Nested objects become dotted paths, so `{"a": {"b": 1}}` and `{"a.b": 1}` mean the same; an
empty object inside has no pair; of equal paths the last counts. Numbers compare by decimal value, strings after their
escapes are decoded, arrays as whole values or as sets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.documents.coded import Coded
from weft.documents.general import Refusal, members_of
from weft.documents.json_columns import text_of
from weft.errors import SpecError
from weft.kernels.documents.json_scan import Scanned, member_words, scan
from weft.kernels.documents.json_text import DEEP, EMPTY, LEVELS, LONG, NOT_OBJECT, NUMBER, ODD, OK, SYNTAX, TIMES, UTF8
from weft.types import Rows

__all__ = ["DocumentReader", "Read"]

_REASONS = {
    SYNTAX: "not JSON, at byte {}", NOT_OBJECT: "not an object", UTF8: "not UTF-8, at byte {}",
    DEEP: f"nested deeper than {LEVELS} levels", NUMBER: "a number's exponent has more than 9 digits, at byte {}",
    EMPTY: "empty", LONG: f"its pairs repeat long names and take more than {TIMES} times its size",
}  # fmt: skip


@dataclass(frozen=True)
class Read:
    """Coded documents, one per input row; a refused row has no pairs. `refused` are their rows, `reasons` why."""

    coded: Coded
    refused: Rows
    reasons: tuple[str, ...] = field(default=())

    def counts(self) -> dict[str, int]:
        """Return how many rows were refused for each kind of reason."""
        return dict(Counter(reason.partition(",")[0] for reason in self.reasons))


@dataclass(frozen=True)
class DocumentReader:
    """How documents are read.

    `nulls`: "absent" (a member that is null is not there) or "value" (null equals null). `arrays`: "whole" or "sets" (order
    and repetition of elements do not matter).
    """

    nulls: str = "absent"
    arrays: str = "whole"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("nulls", self.nulls, ("absent", "value")),
            ("arrays", self.arrays, ("whole", "sets")),
        ):
            if value not in known:
                raise SpecError.of(
                    f"{name}={value!r}.", f"There are: {', '.join(known)}.", f"write {name}={known[0]!r}."
                )

    def read(self, column: pa.Array | pa.ChunkedArray) -> Read:
        """Read a column.

        >>> import pyarrow as pa
        >>> read = DocumentReader().read(pa.array(['{"a": 1, "b": {"c": "x"}}', '{"a": 1.0}', "nonsense"]))
        >>> read.coded.members(0), bool(read.coded.pairs[0] == read.coded.pairs[2]), read.reasons
        (['"a":1', '"b.c":"x"'], True, ('not JSON, at byte 0',))
        """
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [self._chunk(text_of(chunk)) for chunk in chunks if len(chunk)]
        base, reasons = 0, list[str]()
        refused: list[Rows] = [np.zeros(0, np.int64)]
        for part in parts:
            refused.append(part.refused + base)
            reasons += part.reasons
            base += len(part.coded)
        return Read(Coded.concat([part.coded for part in parts]), np.concatenate(refused), tuple(reasons))

    def _chunk(self, column: pa.Array) -> Read:
        bounds = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, column.offset * 8)
        content = column.buffers()[2]
        data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
        valid = np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), np.bool_)
        done = scan(data, bounds[:-1], bounds[1:], valid, self.nulls == "value", self.arrays == "sets")
        coded = Coded(done.offsets, done.attrs, done.pairs, done.ends, done.text)
        if not done.status.any():
            return Read(coded, np.zeros(0, np.int64))
        odd = np.flatnonzero(done.status == ODD)
        status, reasons = done.status.copy(), dict[int, str]()
        if len(odd):
            texts = [data[bounds[row] : bounds[row + 1]].tobytes() for row in odd]
            coded, refusals = self._general(coded, odd, texts)
            status[odd] = OK
            for row, why in refusals.items():
                status[row], reasons[row] = SYNTAX, why
        refused = np.flatnonzero(status != OK)
        said = tuple(reasons.get(int(row)) or _reason(done, int(row)) for row in refused)
        return Read(coded, refused, said)

    def _general(self, coded: Coded, rows: Rows, texts: list[bytes]) -> tuple[Coded, dict[int, str]]:
        """Read documents the general way and put them where they belong."""
        found: list[list[bytes]] = []
        refusals: dict[int, str] = {}
        for row, text in zip(rows, texts, strict=True):
            members: list[str] = []
            try:
                members = members_of(text.decode(), nulls=self.nulls == "value", sets=self.arrays == "sets")
            except UnicodeDecodeError as error:
                refusals[int(row)] = f"not UTF-8, at byte {error.start}"
            except Refusal as refusal:
                refusals[int(row)] = str(refusal)
            except ValueError as error:
                refusals[int(row)] = f"not JSON, at byte {getattr(error, 'pos', 0)}"
            found.append([member.encode() for member in members])
        source = np.arange(len(coded))
        source[rows] = len(coded) + np.arange(len(rows))
        return Coded.concat([coded, coded_members(found)]).take(source), refusals


def coded_members(documents: list[list[bytes]]) -> Coded:
    """Return documents given by their members."""
    flat = [member for members in documents for member in members]
    offsets = np.concatenate([[0], np.cumsum([len(members) for members in documents])]).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum([len(member) for member in flat])]).astype(np.int64)
    text = np.frombuffer(b"".join(flat), np.uint8)
    return Coded(offsets, *member_words(ends, text), ends, text)


def _reason(done: Scanned, row: int) -> str:
    return _REASONS[int(done.status[row])].format(int(done.trouble[row]))
