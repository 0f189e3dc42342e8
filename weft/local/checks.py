"""What the local joins ask of the texts, windows and folders they are given."""

from __future__ import annotations

import pyarrow as pa

from weft.errors import SpecError, UnknownColumn
from weft.spec import JoinSpec, Tumbling, Window, Within, unit_hint, window_column
from weft.state import StateStore, open_folder
from weft.types import SIDES, Side

__all__ = ["check_text", "check_window", "next_batch", "opened"]


def opened(state: StateStore | str, fingerprint: str) -> StateStore:
    """Return a store: the one given, or that of a folder."""
    if isinstance(state, StateStore):
        return state
    given: object = state
    if not isinstance(given, str):
        raise SpecError.of(f"state={state!r}.", "It is the path of a folder, or a store.", "write state='/var/weft'.")
    open_folder(state).check_writable()
    return StateStore(state, "local", fingerprint)


def next_batch(store: StateStore, spec: JoinSpec) -> int:
    """Return the batch to go on with; refuse state of another join."""
    batch = store.next_batch()
    if batch and (last := store.manifest(0, batch - 1)) is not None:
        store.check(last.fingerprint, spec.identity())
    return batch


def check_text(name: str, text: object, example: str) -> None:
    """Refuse what is no text."""
    if not isinstance(text, str):
        raise SpecError.of(f"{name}={text!r} is not a string.", "It must be a string.", f"write {name}={example!r}.")


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
        names = [
            schema.field(window_column(window, side)).type for side, schema in zip(SIDES, (left, right), strict=True)
        ]
        raise SpecError.of(
            f"The window orders the left side by {names[0]} and the right side by {names[1]}.",
            "Both streams share one order, so their order columns must be of one kind: integer, floating-point or time.",
            "cast one of them to the other's type.",
        )


def _check_column(window: Window, side: Side, schema: pa.Schema) -> str:
    """Refuse a window column that is missing or of a type the window cannot use; return the kind of order it gives."""
    name = window_column(window, side)
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
