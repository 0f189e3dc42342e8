"""Time through chains of local joins: what a result says of its order, in the metadata of its time columns.

`weft.spec.disorder` has the rules; on Spark `weft.spark.watermarks` does the same with Spark's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from weft.spec import TimeOrder, Tumbling, Window, Within, lags_of
from weft.types import SIDES, Side

__all__ = ["carried", "time_orders"]

_LAG = b"weft.lag"
_ENDLESS = b"endless"


def time_orders(window: Window, schemas: Mapping[Side, pa.Schema]) -> dict[Side, TimeOrder]:
    """Return what is known of the order of both time columns of a window."""
    if not isinstance(window, (Within, Tumbling)):
        return {side: TimeOrder() for side in SIDES}
    names: dict[Side, str] = {"left": window.left, "right": window.right}
    return {side: _order(schemas[side].field(names[side])) for side in SIDES}


def _order(field: pa.Field) -> TimeOrder:
    said = (field.metadata or {}).get(_LAG)
    return TimeOrder(None if said in (None, _ENDLESS) else int(said), endless=said == _ENDLESS)


def carried(schema: pa.Schema, window: Window, times: Mapping[str, Side], *, one_stream: bool) -> pa.Schema:
    """Return the schema of a result whose columns `times` are the times of the sides, with what they say of their order."""
    lags = lags_of(window, one_stream=one_stream)
    for name, side in times.items():
        lag = lags.of(side)
        said = _ENDLESS if lag is None else str(lag).encode()
        number = schema.get_field_index(name)
        schema = schema.set(number, schema.field(number).with_metadata({_LAG: said}))
    return schema
