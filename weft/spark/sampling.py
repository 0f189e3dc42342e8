"""Static joins have no earlier batch to learn from: range boundaries come from a sample of both sides."""

from __future__ import annotations

from pyspark.sql import functions as F

from weft.kernels import words_of
from weft.routing import Plan, Range, Scheme, TaskStats
from weft.spark.inputs import SideInput
from weft.spec import JoinSpec
from weft.types import SIDES, Side

__all__ = ["sampled_plan"]

_SAMPLE = 2_000


def sampled_plan(spec: JoinSpec, scheme: Scheme, tasks: int, sides: dict[Side, SideInput]) -> Plan:
    """Return the plan of a static join; only ranges need to look at the data first."""
    plan = scheme.initial(spec, tasks)
    within = spec.access.within
    if not isinstance(scheme, Range) or tasks < 2 or within is None:
        return plan
    sample: dict[Side, tuple[int, ...]] = {}
    for side in SIDES:
        column = within.left if side == "left" else within.right
        part, source = spec.side(side), sides[side]
        key = part.keys[column] if column < len(part.keys) else None
        number = source.inputs.keys[column] if key is not None else source.inputs.time
        assert number is not None
        name = source.frame.columns[number]
        drawn = source.frame.select(name).where(F.col(name).isNotNull()).orderBy(F.rand(7)).limit(_SAMPLE).toArrow()
        words, _ = words_of(drawn.column(0), "value" if key is None else key.encode)
        sample[side] = tuple(int(word) for word in words)
    held = {side: max(len(sample[side]), 1) for side in SIDES}
    stats = TaskStats(dict.fromkeys(SIDES, 0), held, dict.fromkeys(SIDES, 0), sample)
    return scheme.control(spec, plan, [stats])[0]
