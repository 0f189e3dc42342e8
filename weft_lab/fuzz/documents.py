"""Documents: lines of bytes to the reader and to a tiny natural join, against Python's json and a nested loop."""

from __future__ import annotations

import itertools
import json
from random import Random
from zlib import crc32

import pyarrow as pa

from weft.documents import DocumentReader
from weft.errors import WeftError
from weft.local import natural_join
from weft_lab.fuzz.meaning import Meaning, joins, meaning_of, spellable
from weft_lab.fuzz.mutations import changed_bytes
from weft_lab.fuzz.target import ANSWERED, REFUSED, Target, Wrong

__all__ = ["TARGET"]

_SEEDS = (
    b'{"user": "A", "ip": 1}\n{"user": "A", "file": "x"}\n{"user": "B", "ip": 1.0}',
    b'{"a": {"b": 1, "c": [1, "x", null]}, "d": null}\n{"a.b": 1e0}\n{"a": {"c": [1, "x", null]}}',
    b'{"k": "\\u00e9\\n\\ud83d\\ude00", "k": true}\n{"k": true, "z": {}}\n{"k": "\xc3\xa9"}\n',
    b'{"s": [{"x": 1, "y": [2]}, {"x": 1}]}\n{"s": [{"x": 1}, {"y": [2], "x": 1.00}, {"x": 1}]}\nnonsense\n[]\n{}',
    b'{"n": -0.0, "m": 1e400, "o": 0.1e-7}\n{"n": 0, "m": 10e399}\n {"o" : 1E-8 }\n{"n": 12345678901234567890123}',
)
_PIECES = (
    b'"a"', b'"a":1,', b'"a":', b"null", b"true", b"false", b"0", b"-0", b"1e5", b"100000", b"1.50", b"1E+2", b"0.1",
    b"1e-400", b"01", b"-", b"1.", b".5", b"NaN", b"Infinity", b"{}", b"[]", b"[1,2]", b"[2,1]", b"[1,1,2]",
    b'{"b":{"c":1}}', b'"b.c":1,', b'"\\u0061"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"',
    "\U0001f600".encode(), "é".encode(), b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\\", b'\\"',
    b"\\/", b"\\x", b"\x00", b"\x1f", b"\x7f", b" ", b"\t", b"\r", b"\n", b",", b":", b"{", b"}", b"[", b"]", b'""',
    b'"":1', b'".":1', b'"a.":1', b"\xef\xbb\xbf", b"123456789012345678901234567890", b"1e999999999", b"1e9999999999",
    b"[[[[[[]]]]]]", b'{"a":{"a":{"a":{}}}}', b'[{"a":1,"a":2}]', b'[{"b":1,"a":null}]', b"9007199254740993",
    b"9007199254740992.0", b"-1e-1", b"1e21", b"1e22", b"0.000001", b"0.0000001", b'"a b"', b'{"document": 1}',
    b"tru", b"//", b"'a'", b'"\x80"', b"\xe2\x80\xa8",
)  # fmt: skip
_MOST = 6


def _run(data: bytes) -> str:
    lines = data.split(b"\n")[:_MOST]
    chosen = crc32(data)
    nulls, sets = bool(chosen & 1), bool(chosen & 2)
    options = {"nulls": "value" if nulls else "absent", "arrays": "sets" if sets else "whole"}
    column = pa.array(lines, pa.binary())
    read = DocumentReader(**options).read(column)
    meanings = [meaning_of(line, nulls=nulls, sets=sets) for line in lines]
    refused = set(read.refused.tolist())
    for row, (line, meaning) in enumerate(zip(lines, meanings, strict=True)):
        if row not in refused and meaning is None:
            raise Wrong(f"{line!r} is no JSON object, and was read as {read.coded.members(row)}")
        if row in refused and meaning is not None and spellable(line):
            raise Wrong(f"{line!r} was refused: {dict(zip(read.refused.tolist(), read.reasons, strict=True))[row]}")
        if row not in refused and meaning is not None:
            _check_members(line, read.coded.members(row), meaning, nulls, sets)
    known = [None if row in refused else meaning for row, meaning in enumerate(meanings)]
    try:
        way = {"tasks": 1 + (chosen >> 2) % 3, "batch": 1 + (chosen >> 4) % _MOST}
        found = natural_join(pa.table({"document": column}), **way, **options)  # type: ignore[arg-type]
    except WeftError:
        return REFUSED
    _check_pairs(found, known, nulls, sets)
    return REFUSED if len(refused) == len(lines) else ANSWERED


def _check_members(line: bytes, members: list[str], meaning: Meaning, nulls: bool, sets: bool) -> None:
    """Read the members as a document again: it must mean the same, and each path must stand there once."""
    told = meaning_of(("{" + ",".join(members) + "}").encode("utf-8", "surrogatepass"), nulls=nulls, sets=sets)
    if told != meaning or len(members) != len(meaning):
        raise Wrong(f"{line!r} means {meaning}, and was read as {members}")


def _check_pairs(found: pa.Table, known: list[Meaning | None], nulls: bool, sets: bool) -> None:
    numbered = [(row, meaning) for row, meaning in enumerate(known) if meaning is not None]
    answer = {(i, j) for (i, one), (j, two) in itertools.combinations(numbered, 2) if joins(one, two)}
    pairs = list(zip(found["left_id"].to_pylist(), found["right_id"].to_pylist(), strict=True))
    if len(pairs) != len(set(pairs)) or set(pairs) != answer:
        raise Wrong(f"{known}: the join has {sorted(pairs)}, the nested loop {sorted(answer)}")
    for row in found.to_pylist():
        one, two = known[row["left_id"]], known[row["right_id"]]
        assert one is not None and two is not None
        if sorted(row["shared"]) != sorted(map(_said, one.keys() & two.keys())):
            raise Wrong(f"{one} and {two} share {row['shared']}")
        if meaning_of(row["merged"].encode(), nulls=nulls, sets=sets) != one | two:
            raise Wrong(f"{one} and {two} together are {row['merged']}")


def _said(name: str) -> str:
    """Return a name as it is told: a lone surrogate, which UTF-8 cannot say, stays an escape."""
    return "".join(f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in name)


def _mutate(data: bytes, draw: Random) -> bytes:
    way = draw.random()
    if way < 0.15:
        return changed_bytes(data, draw)
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    if way < 0.45:
        line, place = lines[at], draw.randint(0, len(lines[at]))
        end = place + draw.choice((0, 0, 1, 3))
        lines[at] = line[:place] + draw.choice(_PIECES) + line[end:]
    elif way < 0.55:
        lines.insert(at, lines[draw.randrange(len(lines))])
    elif way < 0.6 and len(lines) > 1:
        del lines[at]
    else:
        lines[at] = _respelled(lines[at], draw)
    return b"\n".join(lines)


def _respelled(line: bytes, draw: Random) -> bytes:
    """Return a document with a member exchanged, added, or written otherwise; JSON again if it was."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return draw.choice(draw.choice(_SEEDS).split(b"\n"))
    if not isinstance(parsed, dict):
        return b'{"a": ' + line + b"}"
    name = draw.choice([*parsed, "a", "b", "a.b", "é", ""])
    value = draw.choice(_PIECES).rstrip(b",")
    text = json.dumps(parsed, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    member = json.dumps(name).encode() + b":" + value
    return text[:-1] + (b"," if parsed else b"") + member + b"}"


TARGET = Target("documents", _run, _mutate, lambda: list(_SEEDS), longest=2048)
