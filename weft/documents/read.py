"""A column of documents into coded pairs; what cannot be read is counted, never an error.

A document is a JSON object. Nested objects become dotted paths, so `{"a": {"b": 1}}` and `{"a.b": 1}` mean the same; an
empty object inside has no pair; of equal paths the last counts. Numbers compare by decimal value, strings after their
escapes are decoded, arrays as whole values or as sets.

Map and struct columns are written as JSON text first, column by column: then one reader reads them all. A field that is null is
written as null, and the reader's `nulls` decides what that means. Numbers keep their decimal value; NaN and infinities, which
JSON cannot say, become strings, and binary members Base64, both as in Spark's `to_json`. Times, dates and decimals become strings
and numbers as Arrow prints them.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.documents.coded import Coded
from weft.documents.general import Refusal, members_of, spelled_string
from weft.errors import SpecError
from weft.kernels.documents.json_scan import Scanned, member_words, scan
from weft.kernels.documents.json_text import DEEP, EMPTY, LEVELS, LONG, NOT_OBJECT, NUMBER, ODD, OK, SYNTAX, TIMES, UTF8
from weft.types import Rows

__all__ = ["DocumentReader", "Read", "check_documents", "text_of"]

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


_LARGE = pa.large_string()
_COLON = pa.scalar(":", _LARGE)


def text_of(column: pa.Array) -> pa.Array:
    """Return a column of documents as text or bytes: as it is, or written as JSON."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return text_of(column.dictionary_decode())
    check_documents(kind)
    return column.cast(pa.large_binary()) if _is_text(kind) else _json(column).cast(pa.large_binary())


def check_documents(kind: pa.DataType) -> None:
    """Refuse a type that holds no documents."""
    if not (_is_text(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind)):
        raise SpecError.of(
            f"The column of documents is {kind}.",
            "Documents are JSON text (string or binary), structs, or maps with string keys.",
            "name another column with column=, or cast it.",
        )


def _is_text(kind: pa.DataType) -> bool:
    return any(check(kind) for check in (pa.types.is_string, pa.types.is_large_string, _is_binary))


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _base64(column: pa.Array) -> pa.Array:
    """Return bytes as quoted Base64, one distinct value at a time."""
    coded = column.cast(pa.large_binary()).dictionary_encode()
    texts = [f'"{b64encode(value).decode()}"' for value in coded.dictionary.to_pylist()]
    return pa.array(texts, _LARGE).take(coded.indices)


def _json(column: pa.Array) -> pa.Array:
    """Return a value's text, null where it is null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _json(column.dictionary_decode())
    if pa.types.is_struct(kind):
        return _object(column)
    if pa.types.is_map(kind):
        keys, items = _strings(_flat(column, column.keys)), _filled(_json(_flat(column, column.items)))
        return _joined(column, pc.binary_join_element_wise(keys, items, _COLON), "{", "}")
    if pa.types.is_fixed_size_list(kind):
        return _json(column.cast(pa.large_list(kind.value_type)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _joined(column, _filled(_json(_flat(column, column.values))), "[", "]")
    if pa.types.is_null(kind):
        return pa.nulls(len(column), _LARGE)
    if pa.types.is_floating(kind):
        return _floats(column.cast(pa.float64()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(_LARGE)
    return _strings(column)


def _floats(column: pa.Array) -> pa.Array:
    finite = pc.is_finite(column)
    texts = pc.if_else(finite, column, pa.scalar(0.0, pa.float64())).cast(_LARGE)
    if pc.all(finite).as_py() is not False:
        return texts
    words = [pa.scalar(f'"{word}"', _LARGE) for word in ("NaN", "Infinity", "-Infinity")]
    said = pc.if_else(pc.is_nan(column), words[0], pc.if_else(pc.greater(column, 0.0), words[1], words[2]))
    return pc.if_else(finite, texts, said)


def _flat(column: pa.Array, values: pa.Array) -> pa.Array:
    """Return the inner values that the rows of a (perhaps sliced) map or list column have."""
    first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
    return values.slice(first, last - first)


def _object(column: pa.StructArray) -> pa.Array:
    parts = []
    for number in range(column.type.num_fields):
        name = spelled_string(column.type.field(number).name)
        parts.append(pc.binary_join_element_wise(pa.scalar(name, _LARGE), _filled(_json(column.field(number))), _COLON))
    body = (
        pc.binary_join_element_wise(*parts, pa.scalar(",", _LARGE)) if parts else pa.array([""] * len(column), _LARGE)
    )
    return _masked(_wrapped(body, "{", "}"), column)


def _joined(column: pa.Array, texts: pa.Array, left: str, right: str) -> pa.Array:
    offsets = column.offsets.to_numpy().astype(np.int64)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets - offsets[0]), texts)
    return _masked(_wrapped(pc.binary_join(lists, pa.scalar(",", _LARGE)), left, right), column)


def _wrapped(body: pa.Array, left: str, right: str) -> pa.Array:
    ends = [pa.scalar(text, _LARGE) for text in (left, right, "")]
    return pc.binary_join_element_wise(ends[0], body.cast(_LARGE), ends[1], ends[2])


def _masked(texts: pa.Array, column: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(column), texts, pa.scalar(None, _LARGE)) if column.null_count else texts


def _filled(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, pa.scalar("null", _LARGE))


def _strings(column: pa.Array) -> pa.Array:
    """Quote strings; control characters, which are rare, one distinct string at a time."""
    if _is_binary(column.type):
        return _base64(column)
    texts = column.cast(_LARGE)
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    rare = pc.fill_null(pc.match_substring_regex(texts, "[\\x00-\\x1f]"), False)
    if pc.any(rare).as_py():
        exact = pa.array([spelled_string(text)[1:-1] for text in texts.filter(rare).to_pylist()], _LARGE)
        escaped = pc.replace_with_mask(escaped, rare, exact)
    return _wrapped(escaped, '"', '"')
