"""Random FastJoin plans: any routing table, any split keys, either layout."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from weft.routing import FastJoinPlan, equality_columns
from weft.routing.fastjoin import SplitKey, shapes_of
from weft.spec import JoinSpec


@st.composite
def fastjoin_plans(draw: st.DrawFn, spec: JoinSpec, tasks: int, keys: Sequence[int]) -> FastJoinPlan:
    plan = FastJoinPlan(tasks, *equality_columns(spec), shared=draw(st.booleans()))
    moved, split = [], []
    for group in range(plan.groups):
        members = plan.members(group)
        task = st.integers(members.start, members.start + members.size - 1)
        table = draw(st.dictionaries(st.sampled_from(keys), task, max_size=5))
        parts = st.lists(task, min_size=2, max_size=members.size, unique=True).map(lambda at: tuple(sorted(at)))
        hot = draw(st.dictionaries(st.sampled_from(keys), parts, max_size=3)) if members.size > 1 else {}
        moved.append(plan.without_homes(group, tuple(sorted((k, t) for k, t in table.items() if k not in hot))))
        shapes = {key: draw(st.sampled_from(shapes_of(len(at), plan.keeps(group)))) for key, at in hot.items()}
        split.append(tuple(SplitKey(key, shapes[key].rows, at) for key, at in sorted(hot.items())))
    version = draw(st.integers(0, 3))
    return FastJoinPlan(tasks, plan.left, plan.right, plan.shared, tuple(moved), tuple(split), version)
