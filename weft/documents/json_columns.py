"""Map and struct columns as JSON text, column by column: then one reader reads them all.

A field that is null is written as null, and the reader's `nulls` decides what that means. Numbers keep their decimal
value; NaN and infinities, which JSON cannot say, become strings, and binary members Base64, both as in Spark's `to_json`. Times,
dates and decimals become strings and numbers as Arrow prints them.
"""

from __future__ import annotations

from base64 import b64encode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.documents.general import spelled_string
from weft.errors import SpecError

__all__ = ["check_documents", "text_of"]

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
