"""`abs(a - b) <= d` as limits on words.

Integers, dates, timestamps and narrow decimals subtract exactly, so the limit becomes a whole number of their smallest step.
Doubles are subtracted as doubles. Floats are subtracted in float32 by Spark and in float64 by the index: the index gets
limits a little wider than the rounding, and the residual decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from weft.local.expr.spark_types import arithmetic, common
from weft.spec.terms import Op

__all__ = ["BandLimits", "band_limits"]

_DAY = 86_400_000_000
_EXACT = 2**53
_FLOAT_SLACK = 2.0**-22


@dataclass(frozen=True, slots=True)
class BandLimits:
    """`lo <= left - right <= hi` with both keys cast to `kind`; `lo > hi` never matches."""

    kind: pa.DataType
    op: Op
    lo: float
    hi: float
    weak: bool = False

    @property
    def step(self) -> str:
        """Return what one unit of `lo` and `hi` is (`weft.spec.Compare.step`)."""
        if self.op is Op.BAND and pt.is_decimal(self.kind):
            return str(Decimal(1).scaleb(-self.kind.scale))
        return "microsecond" if pt.is_timestamp(self.kind) else "day" if pt.is_date(self.kind) else "1"


def band_limits(a: pa.DataType, b: pa.DataType, d: Any, *, strict: bool) -> BandLimits | None:
    """Return the limits for `abs(a - b) <= d` (`< d` if strict), None if only the residual can tell.

    >>> band_limits(pa.int64(), pa.int64(), Decimal("2.5"), strict=False).hi
    2
    """
    if d is None:
        return None
    if pt.is_temporal(a) or pt.is_temporal(b):
        return _of_time(a, b, d, strict)
    kind = arithmetic(a, b)
    if kind is None or isinstance(d, (timedelta, str)):
        return None
    if pt.is_floating(kind):
        return _of_floats(kind, float(d), strict)
    if pt.is_decimal(kind):
        return _band(kind, _steps(d, kind.scale, strict)) if kind.precision <= 18 else None
    return _band(kind if a == b else pa.int64(), _steps(d, 0, strict))


def _of_time(a: pa.DataType, b: pa.DataType, d: Any, strict: bool) -> BandLimits | None:
    kind = common(a, b)
    if kind is None or not (pt.is_date(kind) or pt.is_timestamp(kind)):
        return None
    if not isinstance(d, timedelta):  # DATEDIFF: a number of days
        return None if isinstance(d, str) or not pt.is_date(kind) else _band(kind, _steps(d, 0, strict))
    micros = Fraction(d // timedelta(microseconds=1))
    return _band(kind, _whole(micros / _DAY if pt.is_date(kind) else micros, strict))


def _of_floats(kind: pa.DataType, d: float, strict: bool) -> BandLimits | None:
    if math.isnan(d):
        return None  # everything is <= NaN, even NaN
    if pt.is_float32(kind):
        wide = d + abs(d) * _FLOAT_SLACK
        return BandLimits(kind, Op.FBAND, -wide, wide, weak=True)
    return BandLimits(kind, Op.FBAND, -d, d, weak=strict)


def _band(kind: pa.DataType, steps: int | None) -> BandLimits | None:
    if steps is None or abs(steps) >= 2**63:
        return None
    return BandLimits(kind, Op.BAND, -steps, steps)


def _whole(exact: Fraction, strict: bool) -> int:
    return math.ceil(exact) - 1 if strict else math.floor(exact)


def _steps(d: Any, scale: int, strict: bool) -> int | None:
    """Return the greatest number of steps of 10**-scale that the limit allows.

    Beside a double limit the distance is compared as a double, so 0.3 <= 0.3D holds although the double is a bit below:
    the neighbours of the exact answer are tried the way they would be compared.
    """
    if not isinstance(d, float):
        return _whole(Fraction(d) * 10**scale, strict)
    if not math.isfinite(d) or abs(d) * 10**scale >= _EXACT:
        return None

    def allowed(steps: int) -> bool:
        distance = float(Decimal(steps).scaleb(-scale))
        return distance < d if strict else distance <= d

    near = _whole(Fraction(d) * 10**scale, strict)
    return max(steps for steps in range(near - 2, near + 3) if allowed(steps))
