"""Conditions: SQL text to the local front end, and a tiny join of it.

The oracle is the nested loop: the whole condition, not taken apart, on every pair of rows. DuckDB is asked as well where it
means the same. Where the nested loop fails on a value (a division by zero), the join may find pairs or fail, as Spark may.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import pyarrow as pa
from sqlglot import exp

from weft.errors import WeftError
from weft.local import Join
from weft.local.expr import compile_expression
from weft.spec.parse import check_syntax, render
from weft_lab.fuzz.grammar import SEEDS, changed_condition
from weft_lab.fuzz.peer import peer_pairs
from weft_lab.fuzz.tables import LEFT, RIGHT, crossed
from weft_lab.fuzz.target import ANSWERED, REFUSED, Target, Wrong

__all__ = ["TARGET"]

Pairs = list[tuple[int, int]]

_WAYS = ((1, 7), (1, 2), (3, 7), (2, 3))
"""Tasks, and rows that arrive at a time."""
_SCHEMAS = {"l": LEFT.schema, "r": RIGHT.schema}
_cross = lru_cache(maxsize=1)(crossed)


def _run(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    tasks, rows = _WAYS[crc32(data) % len(_WAYS)]
    try:
        made = Join(LEFT.schema, RIGHT.schema, on=text, select=["l.k AS a", "r.k AS b"], tasks=tasks)
        tree = check_syntax(text, ("l", "r"), LEFT.schema.names, RIGHT.schema.names)
    except WeftError:
        return REFUSED
    answer, peer = _nested_loop(tree), peer_pairs(tree)
    if answer is not None and peer is not None and set(answer) != peer:
        raise Wrong(f"{render(tree)}: the nested loop has {_told(set(answer), peer)} than DuckDB")
    try:
        pairs = _joined(made, rows)
    except WeftError:
        return REFUSED
    if answer is not None and pairs != answer:
        raise Wrong(
            f"{render(tree)}, {tasks} tasks, {rows} rows a batch: {_told(set(pairs), set(answer))} than the nested loop"
        )
    return ANSWERED


def _joined(made: Join, rows: int) -> Pairs:
    pairs: Pairs = []
    for start in range(0, LEFT.num_rows, rows):
        for table in made.feed(LEFT.slice(start, rows), RIGHT.slice(start, rows)):
            pairs += zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)
    return sorted(pairs)


def _nested_loop(tree: exp.Expr) -> Pairs | None:
    tables = _cross()
    try:
        mask = compile_expression(tree, _SCHEMAS).mask(tables)
    except WeftError:
        return None
    kept = [tables[alias]["k"].filter(pa.array(mask)).to_pylist() for alias in ("l", "r")]
    return sorted(zip(*kept, strict=True))


def _told(found: set[tuple[int, int]], right: set[tuple[int, int]]) -> str:
    return f"{sorted(found - right)[:5]} more and {sorted(right - found)[:5]} fewer"


TARGET = Target("conditions", _run, changed_condition, lambda: [seed.encode() for seed in SEEDS], longest=1000)
