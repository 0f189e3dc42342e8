"""`[join].window`: five kinds, each with its own keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from weft.cli.job.model import WINDOWS
from weft.cli.job.reader import JobReader
from weft.errors import SpecError
from weft.spec import Tumbling, Window, Within, last, tumbling, tumbling_rows, unbounded, within

__all__ = ["read_window"]

_EXAMPLES = {
    "within": '{ kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }',
    "last": '{ kind = "last", rows = 100_000, order = "ts" }',
    "tumbling": '{ kind = "tumbling", size = "1 minute", on = "ts", delay = "5 seconds" }',
    "tumbling_rows": '{ kind = "tumbling_rows", rows = 1_000, order = "ts" }',
    "unbounded": '{ kind = "unbounded" }',
}


_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def read_window(
    reader: JobReader, columns: Sequence[Sequence[str] | None], types: Sequence[Mapping[str, str]]
) -> Window | None:
    """Return the window, or None with its mistakes noted."""
    path = "join.window"
    given = reader.data["join"]["window"]
    if not isinstance(given, dict):
        return None
    kind = given.get("kind")
    if kind not in WINDOWS:
        near = get_close_matches(str(kind), WINDOWS, n=1)
        right = f"did you mean {near[0]!r}?" if near and kind else f"write window = {_EXAMPLES['within']}."
        what = "It is missing." if kind is None else f"There is no window {kind!r}."
        reader.wrong(f"{path}.kind", f"{what} Windows are: {', '.join(WINDOWS)}.", right)
        return None
    before = len(reader.mistakes)
    keys = reader.table(path, WINDOWS[kind])
    if len(reader.mistakes) > before:
        return None
    try:
        window = _make(kind, {key: value for key, value in keys.items() if key != "kind"})
    except SpecError as error:
        what = " ".join(line for line in str(error).splitlines() if not line.startswith("Hint: "))
        reader.wrong(path, what, f"write window = {_EXAMPLES[kind]}.")
        return None
    for side, have in zip(("left", "right"), columns, strict=True):
        name = getattr(window, side, None)
        if name is not None and have is not None and name.lower() not in {column.lower() for column in have}:
            key = next((key for key in (side, "on", "order") if key in keys), "kind")
            near = get_close_matches(name, have, n=1)
            right = f"did you mean {near[0]!r}?" if near else "name a column of the source (or of its select)."
            reader.wrong(f"{path}.{key}", f"The {side} side has no column {name!r}. It has: {', '.join(have)}.", right)
    if isinstance(window, (Within, Tumbling)):
        _check_units(reader, window, keys, types)
    return window


def _check_units(
    reader: JobReader, window: Within | Tumbling, keys: Mapping[str, Any], types: Sequence[Mapping[str, str]]
) -> None:
    """Compare plain numbers and durations with the type of the time column, where a schema tells it."""
    length = next(key for key in ("span", "size", "before", "after") if key in keys)
    for side, kinds in zip(("left", "right"), types, strict=True):
        name = str(getattr(window, side))
        kind = next((kind for column, kind in kinds.items() if column.lower() == name.lower()), "")
        time = kind.startswith("TIMESTAMP") or kind == "DATE"
        if not kind or (time if window.unit == "time" else kind in _WHOLE):
            continue
        if window.unit == "number" and time:
            what = f"It is a plain number, and the {side} column {name!r} is a {'date' if kind == 'DATE' else 'timestamp'}."
            right = f'write a duration: {length} = "{keys[length]} seconds".'
        elif kind in _WHOLE:
            what = f"It is a duration, and the {side} column {name!r} is a whole number."
            right = (
                f'write {length} = 10, in the units of the column, or select = ["timestamp_seconds({name}) AS {name}"].'
            )
        else:
            what = f"The {side} column {name!r} that it counts by is neither a time nor a whole number."
            right = f'name another column, or cast it in the source: select = ["to_timestamp({name}) AS {name}"].'
        reader.wrong(f"join.window.{length}", what, right)


def _make(kind: str, keys: dict[str, Any]) -> Window:
    if kind == "within":
        return within(keys.pop("span", None), **keys)
    if kind == "tumbling":
        return tumbling(keys.pop("size"), **keys)
    if kind == "last":
        return last(keys.pop("rows"), **keys)
    if kind == "tumbling_rows":
        return tumbling_rows(keys.pop("rows"), **keys)
    return unbounded()
