"""Plans of as-of joins: wherever keys are cut, a left row finds its right row on its own task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.local import AsofJoin, Join
from weft.routing import AsofPlan, AsofScheme, TaskStats, noted, plan_from_json
from weft.types import SIDES, WORD_MAX, WORD_MIN, Words

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.int64()})
PLACES = st.one_of(st.integers(-9, 9), st.sampled_from((WORD_MIN, WORD_MAX)))
ROWS = st.lists(st.tuples(st.integers(0, 2), PLACES), max_size=12)


@st.composite
def plans(draw: st.DrawFn) -> AsofPlan:
    keyed, reach = draw(st.booleans()), draw(st.sampled_from((-1, 0, 1, 4)))
    direction, whole = draw(st.sampled_from(("backward", "forward", "nearest"))), draw(st.booleans())
    columns = (0,) if keyed else ()
    return AsofPlan(
        draw(st.integers(1, 4)), columns, columns, 1, 1, 0 if direction == "forward" else reach,
        0 if direction == "backward" else reach, whole and reach >= 0, draw(st.sampled_from((0, 1, 2, 3, 7))),
        tuple(sorted(draw(st.sets(st.integers(0, 2))))),
    )  # fmt: skip


def words(rows: list[tuple[int, int]]) -> Words:
    return np.array(rows, np.int64).reshape(-1, 2).T.copy()


def near(plan: AsofPlan, one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Tell whether a left row may look at a right row at all."""
    if plan.left and one[0] != two[0]:
        return False
    reach, apart = (plan.back, one[1] - two[1]) if two[1] <= one[1] else (plan.ahead, two[1] - one[1])
    return apart == 0 or (reach < 0 and apart > 0) or apart <= reach


@given(plans(), ROWS, st.lists(ROWS, min_size=1, max_size=3))
def test_the_nearest_rows_are_where_the_left_row_is(plan, left, parts):
    """Of each direction the nearest, and of equal ones the last; where any may be chosen, all that are near enough."""
    u = np.zeros(len(left), np.uint32)
    homes = plan.store("left", words(left), u)
    assert (homes.sum(axis=0) == 1).all() and np.array_equal(homes, plan.probe("left", words(left), u))
    held: list[tuple[tuple[int, int], Words]] = []
    for rows in parts:
        made = words(rows)
        store = plan.store("right", made, np.zeros(len(rows), np.uint32))
        borders = plan.borders(made, None)
        store[:, borders] |= plan.reached(made[:, borders]) if plan.length else False
        held += [(row, store[:, at]) for at, row in enumerate(rows)]
    for at, one in enumerate(left):
        home = int(homes[:, at].argmax())
        for side in (-1, 1):
            allowed = [n for n, (two, _) in enumerate(held) if near(plan, one, two) and side * (two[1] - one[1]) >= 0]
            wanted = allowed if plan.whole else sorted(allowed, key=lambda n: (-side * held[n][0][1], n))[-1:]
            assert all(held[n][1][home] for n in wanted), (one, [held[n][0] for n in wanted])


def test_plans_are_data() -> None:
    plan = AsofPlan(3, (0,), (1,), 2, 3, 5, -1, False, 40, (7, 9))
    assert plan_from_json(plan.to_json()) == plan
    assert plan.adapt(5) == replace(plan, tasks=5)
    assert plan.describe() == "equal keys go to one task; 2 hot keys in slices of 40"
    assert replace(plan, left=(), right=()).describe() == "slices of 40, to tasks in turns"


def _stats(keys: list[int], places: list[int]) -> list[TaskStats]:
    none = dict.fromkeys(SIDES, 0)
    return [TaskStats(none, none, none, dict.fromkeys(SIDES, ()), noted(np.array(keys), np.array(places)))]


def test_a_key_is_cut_while_it_is_hot() -> None:
    spec, scheme = AsofJoin(SCHEMA, SCHEMA, on="t", by="k", delay=1).spec, AsofScheme(enough=100)
    first = scheme.initial(spec, 4)
    assert scheme.control(spec, first, _stats([1] * 50, list(range(50)))) == (first, ""), "too few rows"
    even = [n % 20 for n in range(2000)]
    assert scheme.control(spec, first, _stats(even, list(range(2000)))) == (first, "")
    hot = [1 if n % 2 else n % 20 for n in range(2000)]
    cut, why = scheme.control(spec, first, _stats(hot, list(range(2000))))
    assert isinstance(cut, AsofPlan) and cut.hot == (1,) and why == f"slices of {cut.length} for 1 hot keys"
    assert 200 <= cut.length <= 250
    assert scheme.control(spec, cut, _stats(hot, list(range(0, 4000, 2)))) == (cut, ""), "the length is near enough"
    wide, _ = scheme.control(spec, cut, _stats(hot, list(range(0, 200_000, 100))))
    assert isinstance(wide, AsofPlan) and wide.length > 50 * cut.length
    whole, why = scheme.control(spec, cut, _stats(even, list(range(2000))))
    assert whole == first and why == "no key is hot any longer"


def test_what_cannot_be_cut_is_not() -> None:
    scheme = AsofScheme(enough=0)
    spec = AsofJoin(SCHEMA, SCHEMA, on="t", by="k", where="l.k + r.t > 3").spec
    first = scheme.initial(spec, 4)
    assert scheme.control(spec, first, _stats([1] * 50, list(range(50)))) == (first, "")
    with pytest.raises(SpecError, match=r"This is not an as-of join.\nThe scheme is 'asof'."):
        scheme.initial(Join(SCHEMA, SCHEMA, on="l.k = r.k").spec, 2)
    with pytest.raises(SpecError, match="rounds"):
        AsofScheme(rounds=0)
