"""JSON tokens, copied into one spelling per value, so that equal values are equal bytes.

- Strings: escapes decoded, then only what JSON demands is escaped again; a lone surrogate stays an escape. UTF-8 is checked.
- Numbers: by exact decimal value, so 1, 1.0 and 10e-1 are spelled 1, and no digit is ever rounded away.

Every function takes the input, a position and the end, an output buffer that is large enough (a spelling is never more than
`ROOM` bytes longer than its source) and its position; it returns both positions and a status.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.llvm import load8, plain8, store8

__all__ = [
    "DEEP", "EMPTY", "FREE", "LEVELS", "LONG", "NOT_OBJECT", "NUMBER", "ODD", "OK", "ROOM", "SYNTAX", "TIMES", "UTF8", "Bytes",
    "Place", "number_text", "scalar_text", "skip_blanks", "string_text",
]  # fmt: skip

Bytes = NDArray[np.uint8]
Place = tuple[int, int, int]

OK, SYNTAX, NOT_OBJECT, UTF8, DEEP, NUMBER, EMPTY, ODD, LONG = range(9)
"""What became of a document. ODD: well so far, but it needs the general reader."""

LEVELS = 500
"""Objects and arrays may be nested so deep; what is deeper is refused."""

TIMES, FREE = 64, 1 << 20
"""Each pair repeats the names above it. Beyond so many times the document, and so many bytes, it is refused: one long name above
many pairs would take the square of its size."""

ROOM = 64
_PLAIN = 21  # digits before the point that are written out, and the most that a plain integer may have
_SMALL = -6  # zeros behind the point that are written out
_QUOTE, _BACK, _SLASH, _MINUS, _POINT, _ZERO = 34, 92, 47, 45, 46, 48


@kernel
def skip_blanks(data: Bytes, i: int, end: int) -> int:
    """Return the position of the next byte that is no white space."""
    while i < end and (data[i] == 32 or data[i] == 10 or data[i] == 13 or data[i] == 9):
        i += 1
    return i


@kernel
def _hex(data: Bytes, i: int, end: int) -> int:
    """Return the value of four hex digits, -1 if they are none."""
    if i + 4 > end:
        return -1
    value = 0
    for k in range(4):
        c = np.int64(data[i + k])
        if 48 <= c <= 57:
            digit = c - 48
        elif 97 <= c <= 102:
            digit = c - 87
        elif 65 <= c <= 70:
            digit = c - 55
        else:
            return -1
        value = value * 16 + digit
    return value


@kernel
def _utf8(code: int, out: Bytes, pos: int) -> int:
    if code < 0x80:
        out[pos] = code
        return pos + 1
    if code < 0x800:
        out[pos] = 0xC0 | (code >> 6)
        out[pos + 1] = 0x80 | (code & 63)
        return pos + 2
    if code < 0x10000:
        out[pos] = 0xE0 | (code >> 12)
        out[pos + 1] = 0x80 | ((code >> 6) & 63)
        out[pos + 2] = 0x80 | (code & 63)
        return pos + 3
    out[pos] = 0xF0 | (code >> 18)
    out[pos + 1] = 0x80 | ((code >> 12) & 63)
    out[pos + 2] = 0x80 | ((code >> 6) & 63)
    out[pos + 3] = 0x80 | (code & 63)
    return pos + 4


@kernel
def _escaped(code: int, out: Bytes, pos: int) -> int:
    r"""Write `\\uXXXX`."""
    out[pos] = _BACK
    out[pos + 1] = 117
    for k in range(4):
        digit = (code >> (12 - 4 * k)) & 15
        out[pos + 2 + k] = 48 + digit if digit < 10 else 87 + digit
    return pos + 6


@kernel
def _character(code: int, out: Bytes, pos: int) -> int:
    """Write a decoded character as JSON wants it."""
    if code in (_QUOTE, _BACK):
        out[pos] = _BACK
        out[pos + 1] = code
        return pos + 2
    if code >= 32:
        return _escaped(code, out, pos) if 0xD800 <= code < 0xE000 else _utf8(code, out, pos)
    short = (
        110
        if code == 10
        else 116
        if code == 9
        else 114
        if code == 13
        else 98
        if code == 8
        else 102
        if code == 12
        else 0
    )
    if short == 0:
        return _escaped(code, out, pos)
    out[pos] = _BACK
    out[pos + 1] = short
    return pos + 2


@kernel
def _tail(data: Bytes, i: int, end: int) -> int:
    """Return the length of the UTF-8 sequence at `i`, 0 if it is not one."""
    c = data[i]
    size = 2 if 0xC2 <= c <= 0xDF else 3 if 0xE0 <= c <= 0xEF else 4 if 0xF0 <= c <= 0xF4 else 0
    if size == 0 or i + size > end:
        return 0
    for k in range(1, size):
        if data[i + k] & 0xC0 != 0x80:
            return 0
    second = data[i + 1]
    if (
        (c == 0xE0 and second < 0xA0)
        or (c == 0xED and second > 0x9F)
        or (c == 0xF0 and second < 0x90)
        or (c == 0xF4 and second > 0x8F)
    ):
        return 0
    return size


@kernel
def string_text(data: Bytes, i: int, end: int, out: Bytes, pos: int) -> Place:
    """Copy what stands between the quotes; `i` is at the opening one, and comes back behind the closing one."""
    i += 1
    while i < end:
        if i + 8 <= end and pos + 8 <= len(out):  # what is written too much is overwritten by what follows
            word = load8(data, i)
            store8(out, pos, word)
            plain = plain8(word)
            i += plain
            pos += plain
            if plain == 8:
                continue
        c = np.int64(data[i])
        if c == _QUOTE:
            return i + 1, pos, OK
        if c >= 0x80:
            size = _tail(data, i, end)
            if size == 0:
                return i, pos, UTF8
            for k in range(size):
                out[pos + k] = data[i + k]
            i += size
            pos += size
        elif c < 32:
            return i, pos, SYNTAX
        elif c != _BACK:
            out[pos] = c
            i += 1
            pos += 1
        else:
            if i + 1 >= end:
                return i, pos, SYNTAX
            e = np.int64(data[i + 1])
            if e == 117:
                code = _hex(data, i + 2, end)
                if code < 0:
                    return i, pos, SYNTAX
                i += 6
                if 0xD800 <= code < 0xDC00 and i + 6 <= end and data[i] == _BACK and data[i + 1] == 117:
                    low = _hex(data, i + 2, end)
                    if 0xDC00 <= low < 0xE000:
                        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                        i += 6
                pos = _character(code, out, pos)
            else:
                code = (
                    10 if e == 110 else 9 if e == 116 else 13 if e == 114 else 8 if e == 98 else 12 if e == 102 else -1
                )
                if e in (_QUOTE, _BACK, _SLASH):
                    code = e
                if code < 0:
                    return i, pos, SYNTAX
                i += 2
                pos = _character(code, out, pos)
    return i, pos, SYNTAX


@kernel
def number_text(data: Bytes, i: int, end: int, out: Bytes, pos: int) -> Place:
    """Copy a number as its exact decimal value."""
    begin, first = i, pos
    negative = data[i] == _MINUS
    if negative:
        i += 1
    if i >= end or not 48 <= data[i] <= 57:
        return i, first, SYNTAX
    start = i
    while i < end and 48 <= data[i] <= 57:
        i += 1
    whole = i - start
    if data[start] == _ZERO and whole > 1:
        return start, first, SYNTAX
    point, exponent = 0, 0
    if i < end and data[i] == _POINT:
        i += 1
        point = i
        while i < end and 48 <= data[i] <= 57:
            i += 1
        if i == point:
            return i, first, SYNTAX
    fraction = i - point if point else 0
    if i < end and (data[i] == 101 or data[i] == 69):
        i += 1
        minus = i < end and data[i] == _MINUS
        if i < end and (data[i] == _MINUS or data[i] == 43):
            i += 1
        at = i
        while i < end and 48 <= data[i] <= 57:
            exponent = exponent * 10 + np.int64(data[i]) - 48
            i += 1
            if i - at > 9:
                return begin, first, NUMBER
        if i == at:
            return i, first, SYNTAX
        exponent = -exponent if minus else exponent
    elif fraction == 0 and whole <= _PLAIN:  # a plain integer, as most numbers are
        if negative and not (whole == 1 and data[start] == _ZERO):
            out[pos] = _MINUS
            pos += 1
        for k in range(whole):
            out[pos + k] = data[start + k]
        return i, pos + whole, OK
    return i, _decimal(data, start, whole, point, fraction, exponent, negative, out, pos), OK


@kernel
def _digit(data: Bytes, start: int, whole: int, point: int, k: int) -> int:
    digit: int = np.int64(data[start + k] if k < whole else data[point + k - whole])
    return digit


@kernel
def _decimal(
    data: Bytes, start: int, whole: int, point: int, fraction: int, exponent: int, negative: bool, out: Bytes, pos: int
) -> int:
    """Write `digits x 10^exponent` without zeros at either end: plain where it is short, else with an exponent."""
    low, high = 0, whole + fraction
    while low < high and _digit(data, start, whole, point, low) == _ZERO:
        low += 1
    while high > low and _digit(data, start, whole, point, high - 1) == _ZERO:
        high -= 1
    n = high - low
    if n == 0:
        out[pos] = _ZERO
        return pos + 1
    if negative:
        out[pos] = _MINUS
        pos += 1
    before = whole - low + exponent  # digits before the point
    if _SMALL < before <= 0:
        out[pos] = _ZERO
        out[pos + 1] = _POINT
        pos += 2
        for _ in range(-before):
            out[pos] = _ZERO
            pos += 1
        before = 0
    dotted = before
    plain = 0 <= before <= _PLAIN
    if not plain:
        dotted = 1
    for k in range(n):
        if k == dotted and dotted > 0:
            out[pos] = _POINT
            pos += 1
        out[pos] = _digit(data, start, whole, point, low + k)
        pos += 1
    if plain:
        for _ in range(before - n):
            out[pos] = _ZERO
            pos += 1
        return pos
    out[pos] = 101
    pos += 1
    power = before - 1
    if power < 0:
        out[pos] = _MINUS
        pos += 1
        power = -power
    size, rest = 1, power // 10
    while rest > 0:
        size += 1
        rest //= 10
    for k in range(size):
        out[pos + size - 1 - k] = 48 + power % 10
        power //= 10
    return pos + size


@kernel
def _literal(data: Bytes, i: int, end: int, out: Bytes, pos: int) -> Place:
    """Copy true, false or null."""
    c = data[i]
    size = 5 if c == 102 else 4
    if i + size > end:
        return i, pos, SYNTAX
    a, b, d, e = data[i + 1], data[i + 2], data[i + 3], data[i + size - 1]
    good = (
        (c == 116 and a == 114 and b == 117 and d == 101)
        or (c == 110 and a == 117 and b == 108 and d == 108)
        or (c == 102 and a == 97 and b == 108 and d == 115 and e == 101)
    )
    if not good:
        return i, pos, SYNTAX
    for k in range(size):
        out[pos + k] = data[i + k]
    return i + size, pos + size, OK


@kernel
def scalar_text(data: Bytes, i: int, end: int, out: Bytes, pos: int) -> Place:
    """Copy a string with its quotes, a number or a literal."""
    c = data[i]
    if c == _QUOTE:
        out[pos] = _QUOTE
        i, pos, status = string_text(data, i, end, out, pos + 1)
        out[pos] = _QUOTE
        return i, pos + 1, status
    if c == _MINUS or 48 <= c <= 57:
        return number_text(data, i, end, out, pos)
    return _literal(data, i, end, out, pos)
