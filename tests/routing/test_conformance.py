"""Every plan that a scheme can reach lets every pair that can match meet in exactly one task, whoever comes first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.errors import SpecError, StateError, UnknownName
from weft.kernels import mix_words
from weft.kernels.bounds import float_of
from weft.routing import (
    PLANS,
    SCHEMES,
    Biclique,
    Broadcast,
    BroadcastPlan,
    ContRand,
    FastJoin,
    Hash,
    HashPlan,
    Matrix,
    MatrixPlan,
    Plan,
    Random,
    Range,
    RangePlan,
    Scheme,
    Split,
    SplitPlan,
    TaskStats,
    best_shape,
    next_plan,
    plan_from_json,
    scheme_named,
)  # fmt: skip
from weft.routing.plan import draw_of
from weft.spec import Compare, Condition, JoinSpec, Key, Op, build_spec, unbounded, within
from weft.spec.terms import Term
from weft.types import U32, WORD_MAX, WORD_MIN, Bools, Side, Words

A, B, C = Key("a"), Key("b"), Key("c")
EDGES = (WORD_MIN, WORD_MIN + 1, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 11, WORD_MAX - 1, WORD_MAX)


def spec_of(*compares: Compare, timed: bool = False) -> JoinSpec:
    window = within(3, on="t") if timed else unbounded()
    return build_spec(Condition("test", compares), window)


SPECS = {
    "equal": spec_of(Compare(A, Op.EQ, A)),
    "two equal": spec_of(Compare(A, Op.EQ, A), Compare(B, Op.EQ, B)),
    "less": spec_of(Compare(A, Op.LT, A)),
    "at most": spec_of(Compare(A, Op.LE, B)),
    "greater": spec_of(Compare(A, Op.GT, B)),
    "at least": spec_of(Compare(A, Op.GE, A)),
    "not": spec_of(Compare(A, Op.NE, A)),
    "band": spec_of(Compare(A, Op.BAND, A, -2, 3)),
    "half band": spec_of(Compare(A, Op.BAND, A, -float("inf"), 3)),
    "other half band": spec_of(Compare(A, Op.BAND, B, 1, float("inf"))),
    "float band": spec_of(Compare(A, Op.FBAND, A, -1.5, 2.0)),
    "interval of the right": spec_of(Compare(A, Op.GE, B), Compare(A, Op.LE, C)),
    "interval of the left": spec_of(Compare(B, Op.LE, A), Compare(C, Op.GE, A)),
    "equal and band": spec_of(Compare(A, Op.EQ, A), Compare(B, Op.BAND, B, -1, 1)),
    "less, within time": spec_of(Compare(A, Op.LT, A), timed=True),
}


@dataclass(frozen=True)
class Rows:
    """Tuples of one side."""

    words: Words
    u: U32


def holds(term: Term, left: Words, right: Words) -> Bools:
    """Decide a term for every pair (left rows down, right rows across), in Python's integers or in floats."""
    a, b = left[term.left][:, None], right[term.right][None, :]
    if term.op is Op.FBAND:
        with np.errstate(invalid="ignore"):
            apart = float_of(left[term.left])[:, None] - float_of(right[term.right])[None, :]
        return np.asarray((apart >= term.lo) & (apart <= term.hi))
    if term.op is Op.BAND:
        exact = a.astype(object) - b.astype(object)
        return np.asarray((exact >= term.lo) & (exact <= term.hi), np.bool_)
    compare = {
        Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
        Op.NE: np.not_equal,
    }  # fmt: skip
    return np.asarray(compare[term.op](a, b))


def check_meets_once(spec: JoinSpec, plan: Plan, left: Rows, right: Rows) -> None:
    can = np.ones((len(left.u), len(right.u)), np.bool_)
    for term in spec.terms:
        can &= holds(term, left.words, right.words)
    for earlier, later in (("left", "right"), ("right", "left")):
        sides: dict[str, Rows] = {"left": left, "right": right}
        kept, asked = _visits(plan.store, earlier, sides[earlier]), _visits(plan.probe, later, sides[later])
        assert kept.shape == (plan.tasks, len(sides[earlier].u))
        meets = np.einsum("te,tl->el", kept.astype(np.int64), asked.astype(np.int64))
        if earlier == "right":
            meets = meets.T
        assert (meets[can] == 1).all(), f"{plan}: pairs meet {np.unique(meets[can])} times, {earlier} first"


def _visits(question, side: str, rows: Rows) -> Bools:
    answer = question(side, rows.words, rows.u)
    assert answer.dtype == np.bool_
    return np.asarray(answer)


@st.composite
def rows_of(draw: st.DrawFn, spec: JoinSpec, side: Side) -> Rows:
    part = spec.side(side)
    count = draw(st.integers(1, 12))
    floating = any(term.op is Op.FBAND for term in spec.terms)
    words = np.zeros((part.columns, count), np.int64)
    for column in range(part.columns):
        if column == part.mix:
            words[column] = mix_words([words[equal] for equal in part.equal])
        elif floating:
            from weft.kernels.words import float_words

            values = st.sampled_from((0.0, -0.0, 1.0, 1.5, -2.0, 3.5, np.inf, -np.inf, np.nan, 1e300, 5e-324))
            words[column] = float_words(np.array(draw(st.lists(values, min_size=count, max_size=count))))
        else:
            values = st.sampled_from(EDGES)
            words[column] = draw(st.lists(values, min_size=count, max_size=count))
    u = st.one_of(st.sampled_from((0, 1, 2**31, 2**32 - 1)), st.integers(0, 2**32 - 1))
    return Rows(words, np.array(draw(st.lists(u, min_size=count, max_size=count)), np.uint32))


@st.composite
def stats_of(draw: st.DrawFn, tasks: int) -> list[TaskStats]:
    samples = st.lists(st.sampled_from(EDGES), max_size=9).map(lambda words: tuple(sorted(words)))
    held = st.integers(0, 1000)

    def side_by_side(strategy: st.SearchStrategy) -> dict:
        return {"left": draw(strategy), "right": draw(strategy)}

    return [
        TaskStats(side_by_side(held), side_by_side(held), side_by_side(st.just(0)), side_by_side(samples))
        for _ in range(tasks)
    ]


def schemes_for(spec: JoinSpec) -> list[Scheme]:
    found: list[Scheme] = [Broadcast(), Split(), Matrix(), Random(), Biclique(subgroups=1)]
    if spec.access.equal is not None:
        found += [Hash(), Biclique(), Biclique(subgroups=2), ContRand(), ContRand(group=3), FastJoin()]
    if spec.access.within is not None:
        found += [Range(imbalance=1.0, enough=1), Range()]
    return found


@st.composite
def reached(draw: st.DrawFn, spec: JoinSpec, scheme: Scheme) -> Plan:
    """Draw a plan that a scheme can reach: its first one, then any sequence of restarts and decisions."""
    plan = scheme.initial(spec, draw(st.integers(1, 7)))
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            plan = plan.adapt(draw(st.integers(1, 7)))
        else:
            plan = next_plan(spec, scheme, plan, draw(stats_of(plan.tasks)))[0]
    return plan


@pytest.mark.paper("X02")
@pytest.mark.paper("001-02")
@pytest.mark.parametrize("name", SPECS)
@at_most(30)
@given(data=st.data())
def test_every_pair_meets_once(name, data):
    spec = SPECS[name]
    scheme = data.draw(st.sampled_from(schemes_for(spec)), "scheme")
    plan = data.draw(reached(spec, scheme), "plan")
    check_meets_once(spec, plan, data.draw(rows_of(spec, "left"), "left"), data.draw(rows_of(spec, "right"), "right"))


@pytest.mark.parametrize("name", [name for name in SPECS if SPECS[name].access.within is not None])
@at_most(30)
@given(data=st.data())
def test_any_boundaries_will_do(name, data):
    spec = SPECS[name]
    tasks = data.draw(st.integers(1, 7))
    cuts = data.draw(st.lists(st.sampled_from(EDGES), max_size=tasks - 1, unique=True))
    plan = RangePlan.over(spec.access, tasks, tuple(sorted(cuts)))
    left, right = data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right"))
    check_meets_once(spec, plan, left, right)
    check_meets_once(spec, plan.adapt(data.draw(st.integers(1, 7))), left, right)


@pytest.mark.parametrize("name", SPECS)
@at_most(15)
@given(data=st.data())
def test_a_plan_is_its_json(name, data):
    spec = SPECS[name]
    plan = data.draw(reached(spec, data.draw(st.sampled_from(schemes_for(spec)))))
    again = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan and type(again) is type(plan)
    rows = data.draw(rows_of(spec, "left"))
    assert (again.store("left", rows.words, rows.u) == plan.store("left", rows.words, rows.u)).all()
    assert (again.probe("left", rows.words, rows.u) == plan.probe("left", rows.words, rows.u)).all()


@pytest.mark.parametrize("name", SPECS)
@at_most(15)
@given(data=st.data())
def test_adapting_and_deciding_are_pure(name, data):
    spec = SPECS[name]
    scheme = data.draw(st.sampled_from(schemes_for(spec)))
    plan, tasks = data.draw(reached(spec, scheme)), data.draw(st.integers(1, 7))
    before = json.dumps(plan.to_json())
    stats = data.draw(stats_of(plan.tasks))
    assert plan.adapt(tasks) == plan.adapt(tasks)
    assert plan.adapt(tasks).tasks == tasks
    assert plan.adapt(tasks).adapt(tasks) == plan.adapt(tasks)
    assert next_plan(spec, scheme, plan, stats) == next_plan(spec, scheme, plan, stats)
    assert next_plan(spec, scheme, plan, stats)[0].tasks == plan.tasks
    assert json.dumps(plan.to_json()) == before


def _sizes(plan: Plan, spec: JoinSpec, rows: int = 4_000) -> tuple[float, float]:
    """Return how often a tuple is stored and how many tasks it asks, on average."""
    generator = np.random.default_rng(1)
    words = generator.integers(0, 1_000, (spec.left.columns, rows))
    u = generator.integers(0, 2**32, rows, dtype=np.uint32)
    return float(plan.store("left", words, u).sum() / rows), float(plan.probe("left", words, u).sum() / rows)


@pytest.mark.paper("000-31")
def test_broadcast_keeps_everywhere_and_asks_once():
    assert _sizes(BroadcastPlan(5), SPECS["less"]) == (5.0, 1.0)


@pytest.mark.paper("000-32")
def test_split_keeps_once_and_asks_everywhere():
    assert _sizes(SplitPlan(5), SPECS["less"]) == (1.0, 5.0)


def test_hash_keeps_once_and_asks_once():
    assert _sizes(Hash().initial(SPECS["equal"], 5), SPECS["equal"]) == (1.0, 1.0)


@pytest.mark.paper("001-03")
def test_a_matrix_keeps_a_left_tuple_once_per_column():
    assert _sizes(MatrixPlan(7, 2, 3), SPECS["less"]) == (3.0, 3.0)
    assert _sizes(MatrixPlan(4, 4, 1), SPECS["less"]) == (1.0, 1.0)


def test_what_explain_says_of_copies_and_lookups_is_true():
    for plan in (BroadcastPlan(5), SplitPlan(5), MatrixPlan(6, 2, 3), HashPlan(4)):
        kept, asked = _sizes(plan, SPECS["equal"])
        assert (kept, asked) == (plan.copies()[0], plan.lookups()[0])


def test_draws_fall_evenly_on_all_tasks():
    u = np.random.default_rng(2).integers(0, 2**32, 70_000, dtype=np.uint32)
    share = np.bincount(draw_of(u, 7), minlength=7)
    assert len(share) == 7 and share.min() > 9_500


def test_ranges_follow_the_samples():
    spec = SPECS["band"]
    words = tuple(range(0, 1_000, 10))
    stats = TaskStats(
        {"left": 0, "right": 0}, {"left": 100, "right": 100}, {"left": 0, "right": 0}, {"left": words, "right": words}
    )
    plan, why = Range().control(spec, Range().initial(spec, 4), [stats])
    assert isinstance(plan, RangePlan) and len(plan.bounds) == 3
    assert why == "first boundaries from samples"
    assert [abs(cut - at) <= 20 for cut, at in zip(plan.bounds, (250, 500, 750), strict=True)] == [True] * 3
    assert Range().control(spec, plan, [stats]) == (plan, "")


def test_drifting_keys_give_new_boundaries():
    spec = SPECS["band"]
    old = RangePlan.over(spec.access, 4, (10, 20, 30))
    words = tuple(range(1_000, 1_100))
    stats = TaskStats(
        {"left": 0, "right": 0}, {"left": 100, "right": 100}, {"left": 0, "right": 0}, {"left": words, "right": words}
    )
    plan, why = Range().control(spec, old, [stats])
    assert isinstance(plan, RangePlan) and plan.bounds[0] > 1_000
    assert "times the mean" in why


def test_one_value_everywhere_gives_no_boundaries_and_no_change():
    spec = SPECS["band"]
    stats = TaskStats(
        {"left": 0, "right": 0},
        {"left": 100, "right": 100},
        {"left": 0, "right": 0},
        {"left": (7,) * 64, "right": (7,) * 64},
    )
    first = Range().initial(spec, 4)
    assert Range().control(spec, first, [stats]) == (first, "")


def test_another_scheme_replaces_the_plan_it_finds():
    plan, why = next_plan(SPECS["equal"], Split(), HashPlan(3), [])
    assert plan == SplitPlan(3)
    assert why == "scheme is now split"


def test_every_scheme_and_plan_has_its_name():
    assert {"biclique", "broadcast", "contrand", "fastjoin", "hash", "matrix", "random", "range", "split"} <= set(
        SCHEMES
    )
    assert {"biclique", "broadcast", "fastjoin", "hash", "matrix", "range", "split"} <= set(PLANS)
    assert {"chain", "pim", "sta"} <= set(SCHEMES)
    assert {"chain", "sta"} <= set(PLANS)
    assert {"adsp", "dynamic", "readj", "square"} <= set(SCHEMES)
    assert {"areas", "documents", "readj"} <= set(PLANS)
    for name in SCHEMES:
        assert scheme_named(name).name == name


@pytest.mark.parametrize(
    ("scheme", "name", "what"), [(Hash(), "less", "an equality"), (Range(), "not", "a band or an inequality")]
)
def test_a_scheme_refuses_what_it_cannot_serve(scheme, name, what):
    with pytest.raises(SpecError, match=f"needs {what} between the sides") as caught:
        scheme.initial(SPECS[name], 3)
    assert "Hint: use scheme=" in str(caught.value)


def test_a_matrix_that_needs_more_tasks_is_refused():
    with pytest.raises(SpecError, match=r"A matrix of 2 rows and 3 columns needs 6 tasks.\nThere are 5.\nHint: "):
        Matrix(2, 3).initial(SPECS["less"], 5)


def test_unknown_names_are_refused():
    with pytest.raises(
        UnknownName, match=r"no scheme named 'hsah'.*\nKnown: adsp, auto, .*\nHint: did you mean 'hash'"
    ):
        scheme_named("hsah")
    with pytest.raises(StateError, match="A plan names the scheme 'magic'"):
        plan_from_json({"scheme": "magic", "tasks": 1})


def _shares(shapes: Sequence[tuple[int, int]], left: float, right: float) -> float:
    return min(left / rows + right / columns for rows, columns in shapes)


@given(st.integers(1, 40), st.floats(0.1, 1000), st.floats(0.1, 1000))
def test_the_best_shape_is_the_best_of_all(tasks, left, right):
    rows, columns = best_shape(tasks, left, right)
    every = [(r, c) for r in range(1, tasks + 1) for c in range(1, tasks // r + 1)]
    assert (rows, columns) in every
    assert left / rows + right / columns == pytest.approx(_shares(every, left, right))
