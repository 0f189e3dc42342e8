"""Tables as the engine wants them: payload, keys, time or order column, own condition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.engine import Inputs
from weft.errors import SpecError, UnknownColumn
from weft.local.sql import Analyzed
from weft.spec import JoinSpec, Tumbling, Unbounded, Window, Within, unit_hint
from weft.types import SIDES, Side

__all__ = ["Source", "check_window"]


class Source:
    """Prepares the tables of one side: evaluates keys and filters once per table."""

    def __init__(self, spec: JoinSpec, analyzed: Analyzed, side: Side, schema: pa.Schema) -> None:
        self.spec, self.analyzed, self.side = spec, analyzed, side
        self.payload = pa.schema([field.with_name(f"{side[0]}{i}") for i, field in enumerate(schema)])
        keys = len(spec.side(side).keys)
        first = len(schema)
        self.time = _time_name(spec.window, side)
        self.only = analyzed.only(side)
        following = first + keys
        time = None
        if self.time is not None:
            time, following = following, following + 1
        keep = following if self.only is not None else None
        self.inputs = Inputs(first, tuple(range(first, first + keys)), time, keep)

    def prepare(self, table: pa.Table) -> pa.Table:
        """Return the engine's input for rows of this side."""
        part = self.spec.side(self.side)
        arrays = list(table.columns)
        aliases = self.analyzed.aliases if self.spec.self_join else (self.analyzed.alias(self.side),)
        tables = dict.fromkeys(aliases, table)
        keep = None if self.only is None else self.only.evaluate(tables)
        arrays += [self._key(key.text, tables, table.num_rows, keep) for key in part.keys]
        if self.time is not None:
            column = table.column(self.time)
            arrays.append(column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column)
        if keep is not None:
            arrays.append(keep)
        return pa.table(arrays, names=[f"c{number}" for number in range(len(arrays))])

    def _key(self, text: str, tables: dict[str, pa.Table], rows: int, keep: object) -> pa.ChunkedArray | pa.Array:
        """Evaluate a key where the side's own condition holds: `1 / l.x` may rely on `l.x <> 0`."""
        compiled = self.analyzed.keys("left").get(text) or self.analyzed.keys("right")[text]
        if keep is None:
            return compiled.evaluate(tables)
        mask = np.asarray(pa.chunked_array([keep] if isinstance(keep, pa.Array) else keep).fill_null(False).to_numpy())
        if mask.all():
            return compiled.evaluate(tables)
        rows_kept = pa.array(np.flatnonzero(mask))
        found = compiled.evaluate({alias: table.take(rows_kept) for alias, table in tables.items()})
        place = np.full(rows, -1, np.int64)
        place[mask] = np.arange(len(rows_kept))
        return pa.chunked_array([found] if isinstance(found, pa.Array) else found).take(pa.array(place, mask=~mask))


def check_window(window: Window, left: pa.Schema, right: pa.Schema) -> None:
    """Refuse a window whose columns are missing, or of types it cannot use."""
    given: object = window
    if not isinstance(given, Window):
        raise SpecError.of(
            f"window={window!r}.",
            "Windows are within(), last(), tumbling(), tumbling_rows() and unbounded().",
            "write window=weft.within('10 seconds', on='ts').",
        )
    kinds = [_check_column(window, side, schema) for side, schema in zip(SIDES, (left, right), strict=True)]
    if kinds[0] != kinds[1]:
        names = [schema.field(_time_name(window, side)).type for side, schema in zip(SIDES, (left, right), strict=True)]
        raise SpecError.of(
            f"The window orders the left side by {names[0]} and the right side by {names[1]}.",
            "Both streams are put in one order, so their order columns must be of one kind: whole, floating or time.",
            "cast one of them to the other's type.",
        )


def _check_column(window: Window, side: Side, schema: pa.Schema) -> str:
    """Refuse a window column that is missing or of a type the window cannot use; return the kind of order it gives."""
    name = _time_name(window, side)
    if name is None:
        return ""
    if name not in schema.names:
        raise UnknownColumn.on_side(side, name, schema.names)
    kind = schema.field(name).type
    whole, time = pa.types.is_integer(kind), pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if isinstance(window, (Within, Tumbling)) and not (time if window.unit == "time" else whole):
        need = "a timestamp or date" if window.unit == "time" else "an integer"
        raise SpecError.of(
            f"The window's {side} column {name!r} is {kind}.",
            f"A window given in {'durations' if window.unit == 'time' else 'plain numbers'} needs {need}.",
            unit_hint(window.unit, time=time, whole=whole),
        )
    if not (whole or time or pa.types.is_floating(kind)):
        raise SpecError.of(
            f"The window's {side} order column {name!r} is {kind}.",
            "Rows are ordered by an integer, float, date or timestamp.",
            "name another column, or leave order= out for order of arrival.",
        )
    return "whole" if whole else "time" if time else "floating"


def _time_name(window: Window, side: Side) -> str | None:
    if isinstance(window, Unbounded):
        return None
    return window.left if side == "left" else window.right
