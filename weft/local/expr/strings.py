"""Functions of text. Patterns and positions may be columns: rows are grouped by them, one Arrow call per distinct value."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.cast import cast
from weft.local.expr.frame import ExprFrame, Failed, Handler, Unfit, Value, as_array

__all__ = ["HANDLERS"]


def _text(node: exp.Expr, frame: ExprFrame) -> Value:
    return cast(frame.value(node), pa.string())


def _per_parameter(function: Callable[[Value, Any], Value], value: Value, parameter: Value, out: pa.DataType) -> Value:
    """Apply `function(values, one parameter)` to each row's own parameter; Arrow's kernels take only one."""
    nothing = pa.scalar(None, out)
    if isinstance(parameter, pa.Scalar):
        if parameter.is_valid:
            return function(value, parameter.as_py())
        return nothing if isinstance(value, pa.Scalar) else pa.nulls(len(value), out)
    if isinstance(value, pa.Scalar):
        value = pa.repeat(value, len(parameter))
    encoded = parameter.dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices, -1))
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    parts = [pa.nulls(int(bounds[0]), out)]
    sorted_values = value.take(pa.array(order))
    for code, one in enumerate(encoded.dictionary.to_pylist()):
        parts.append(function(sorted_values.slice(bounds[code], bounds[code + 1] - bounds[code]), one))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))


def _like_regex(pattern: str, escape: str, flags: str) -> str:
    parts, position = [], 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            if position == len(pattern) or pattern[position] not in ("_", "%", escape):
                raise Failed(
                    f"has the invalid pattern {pattern!r}",
                    f"{escape!r} may only precede _, % or itself.",
                    f"double it: {escape * 2}.",
                )
            parts.append(re.escape(pattern[position]))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
        position += 1
    return f"(?{flags})^{''.join(parts)}\\z"


def _matches(value: Value, pattern: str, *, escape: str | None, flags: str) -> Value:
    regex = pattern if escape is None else _like_regex(pattern, escape, flags)
    try:
        return pc.match_substring_regex(value, regex)
    except pa.ArrowInvalid as error:
        raise Failed(
            f"has a pattern that is not supported locally: {pattern!r}",
            f"Arrow reports: {error}.",
            "look-around and back references need Spark.",
        ) from None


def _like(node: exp.Like | exp.ILike | exp.RegexpLike, frame: ExprFrame, escape: str = "\\") -> Value:
    plain = isinstance(node, exp.RegexpLike)
    flags = "is" if isinstance(node, exp.ILike) else "s"
    match = partial(_matches, escape=None if plain else escape, flags=flags)
    found = _per_parameter(match, _text(node.this, frame), _text(node.expression, frame), pa.bool_())
    return pc.invert(found) if node.args.get("negate") else found


def _escape(node: exp.Escape, frame: ExprFrame) -> Value:
    return _like(node.this, frame, str(node.expression.name))


def _affix(function: Callable[..., Value]) -> Handler:
    def handle(node: exp.Binary, frame: ExprFrame) -> Value:
        parts = _text(node.this, frame), _text(node.expression, frame)
        return _per_parameter(function, *parts, pa.bool_())

    return handle


def _contains(node: exp.Contains, frame: ExprFrame) -> Value:
    return _affix(pc.match_substring)(node, frame)


def _length(node: exp.Length, frame: ExprFrame) -> Value:
    value = frame.value(node.this)
    return pc.binary_length(value) if pt.is_binary(value.type) else pc.utf8_length(cast(value, pa.string()))


def _plain(function: Callable[..., Value]) -> Handler:
    def handle(node: exp.Expr, frame: ExprFrame) -> Value:
        return function(_text(node.this, frame))

    return handle


def _upper(value: Value) -> Value:
    """Write the sharp s as SS, as Java does; Arrow has a capital for it."""
    return pc.utf8_upper(pc.replace_substring(value, "ß", "ss"))


def _trim(node: exp.Trim, frame: ExprFrame) -> Value:
    position = str(node.args.get("position") or "BOTH").upper()
    function = {"LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}.get(position, pc.utf8_trim)
    characters = pa.scalar(" ") if node.args.get("expression") is None else _text(node.expression, frame)
    return _per_parameter(
        lambda value, chars: function(value, chars) if chars else value,
        _text(node.this, frame),
        characters,
        pa.string(),
    )


def _cut(value: Value, start: int, length: int | None) -> Value:
    """Cut as Spark does: 1 is the first character, 0 too, negative counts from the end (and the end does not move)."""
    if length is not None and length <= 0:
        return pc.if_else(pc.is_valid(value), "", value)
    if start > 0:
        return pc.utf8_slice_codeunits(value, start - 1, None if length is None else start - 1 + length)
    if start == 0:
        return pc.utf8_slice_codeunits(value, 0, length)
    stop = None if length is None or start + length >= 0 else start + length
    return pc.utf8_slice_codeunits(value, start, stop)


def _substring(node: exp.Substring, frame: ExprFrame) -> Value:
    if node.args.get("start") is None:
        raise Unfit("has no position", "SUBSTRING takes a text, a position and a length.", "write SUBSTRING(x, 1, 3).")
    value, start = _text(node.this, frame), cast(frame.value(node.args["start"]), pa.int32())
    given = node.args.get("length")
    if given is None:
        return _per_parameter(lambda part, at: _cut(part, at, None), value, start, pa.string())
    length = cast(frame.value(given), pa.int32())
    if not isinstance(start, pa.Scalar) and not isinstance(length, pa.Scalar):
        raise Unfit(
            "has both a position and a length that vary",
            "One of the two may be a column.",
            "compute it before the join.",
        )
    if isinstance(start, pa.Scalar):
        if not start.is_valid:
            return pc.if_else(pc.is_null(value), value, pa.scalar(None, pa.string()))
        return _per_parameter(lambda part, size: _cut(part, start.as_py(), size), value, length, pa.string())
    return _per_parameter(lambda part, at: _cut(part, at, length.as_py()), value, start, pa.string())


def _concat(node: exp.Concat | exp.DPipe, frame: ExprFrame) -> Value:
    parts = node.expressions or [node.this, node.expression]
    values = [_text(part, frame) for part in parts]
    if all(isinstance(value, pa.Scalar) for value in values):
        return pc.binary_join_element_wise(*map(as_array, values), "", null_handling="emit_null")[0]
    return pc.binary_join_element_wise(*values, "", null_handling="emit_null")


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Like: _like, exp.ILike: _like, exp.RegexpLike: _like, exp.Escape: _escape,
    exp.StartsWith: _affix(pc.starts_with), exp.EndsWith: _affix(pc.ends_with), exp.Contains: _contains,
    exp.Length: _length, exp.Upper: _plain(_upper), exp.Lower: _plain(pc.utf8_lower), exp.Trim: _trim,
    exp.Substring: _substring, exp.Concat: _concat, exp.DPipe: _concat,
}  # fmt: skip
