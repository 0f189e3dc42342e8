"""A-DSP's five algorithms: the paper's own numbers, and its definitions as properties of random staircases."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.routing.adsp import (
    EVERY,
    SPACE,
    Area,
    AreaPlan,
    Division,
    Histogram,
    Staircase,
    Varietal,
    cells_kept,
    chain,
    fitting,
    generate,
    greedy_pairs,
    lay,
    migration,
    optimal_pairs,
    partition,
    place,
    regular_tasks,
    task_counts,
    varietal,
    volume,
    worst_case,
)  # fmt: skip
from weft.spec import Op, Term

BAND = Term(0, Op.BAND, 0, -2, 2)
volumes = st.one_of(st.integers(1, 40).map(float), st.floats(0.1, 60))


def one(side: str, least: int, most: int) -> float:
    """Count both streams as a volume of 1, as Figs. 8 and 9 do."""
    return 1.0


def stairs_of(begin: list[int], end: list[int], rows: list[float], columns: list[float]) -> Staircase:
    return Staircase(
        np.array(rows, float), np.array(columns, float), np.array(begin), np.array(end),
        np.arange(1, len(rows)), np.arange(1, len(columns)),
    )  # fmt: skip


@st.composite
def staircases(draw: st.DrawFn, most: int = 9) -> Staircase:
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    begin = sorted(draw(st.lists(st.integers(0, columns), min_size=rows, max_size=rows)))
    end = sorted(draw(st.lists(st.integers(0, columns), min_size=rows, max_size=rows)))
    end = [max(a, b) for a, b in zip(begin, end, strict=True)]
    weights = st.integers(1, 5).map(float)
    return stairs_of(begin, end, draw(st.lists(weights, min_size=rows, max_size=rows)),
                     draw(st.lists(weights, min_size=columns, max_size=columns)))  # fmt: skip


# --- Algorithm 1 -----------------------------------------------------------------------------------------------------


@pytest.mark.paper("001-11", "001-07", "001-14")
def test_six_by_six_needs_two_tasks_where_squares_need_four():
    assert regular_tasks(6, 6, 10) == 4
    assert varietal(6, 6, 10) == Varietal(2, 1)


@pytest.mark.paper("001-12", "001-08", "001-09", "001-10")
def test_nine_by_seven_has_one_extra_cell_in_a_row():
    shape = varietal(9, 7, 10)
    assert (shape.rows, shape.columns, shape.extra, shape.along) == (1, 2, 1, "row")
    assert shape.rest * 9 == pytest.approx(2.5)  # D^L
    assert shape.loads(9, 7) == pytest.approx((10, 9.5))
    assert shape.memory(9, 7) == pytest.approx(29.5)  # the tie with 30 goes to the smaller memory
    assert shape.balanced(9, 7).loads(9, 7) == pytest.approx((9.75, 9.75))


@pytest.mark.paper("001-13")
def test_the_counts_behind_figures_2_and_5():
    assert [varietal(x, x, 8).tasks for x in (5, 7, 12)] == [2, 4, 9]


@pytest.mark.paper("001-15")
def test_trying_every_division_can_beat_the_four():
    assert varietal(9, 11, 8).tasks == 8
    assert varietal(9, 11, 8, exhaustive=True).tasks == 7


@pytest.mark.paper("001-06", "001-07", "001-15")
@given(volumes, volumes, st.floats(1, 50))
def test_never_more_tasks_than_squares_nor_more_tuples_than_memory(left, right, memory):
    for exhaustive in (False, True):
        if exhaustive and (left + right) / memory > 12:
            continue
        shape = varietal(left, right, memory, exhaustive=exhaustive)
        assert shape.tasks <= regular_tasks(left, right, memory)
        assert max(shape.loads(left, right)) <= memory * (1 + 1e-6)
        assert shape.extra < (shape.rows if shape.along == "column" else shape.columns)
        even = shape.balanced(left, right)
        assert even.tasks == shape.tasks and max(even.loads(left, right)) <= max(shape.loads(left, right)) * (1 + 1e-9)
    assert task_counts(np.array([left]), np.array([right]), memory)[0] == varietal(left, right, memory).tasks
    assert varietal(left, right, memory, exhaustive=False).tasks == varietal(right, left, memory).tasks


@pytest.mark.paper("001-05")
@given(volumes, volumes, st.floats(1, 50))
def test_memory_is_what_the_rows_and_columns_replicate(left, right, memory):
    shape = varietal(left, right, memory)
    if not shape.extra:
        assert shape.memory(left, right) == pytest.approx(left * shape.columns + right * shape.rows)


@given(st.floats(0, 20), st.floats(0, 20))
def test_a_silent_stream_is_no_problem(left, right):
    shape = varietal(left, 0, 4)
    assert shape.columns == 1 and max(shape.loads(left, 0)) <= 4 * (1 + 1e-9)
    assert varietal(0, right, 4).rows == 1


# --- Algorithm 2 -----------------------------------------------------------------------------------------------------

TOY = stairs_of([0, 0, 0, 1, 3, 5, 5, 5, 7, 8, 9, 10], [2, 3, 4, 5, 5, 7, 8, 8, 9, 11, 12, 12], [1.0] * 12, [1.0] * 12)
"""A staircase as in Fig. 2: nothing joins the first five tuples to the last seven."""


@pytest.mark.paper("001-25", "001-20", "001-21", "001-22")
@pytest.mark.parametrize("mode", ["greedy", "dp"])
def test_the_toy_matrix_needs_four_tasks(mode):
    assert varietal(12, 12, 8).tasks == 9  # 2-DSP
    tasks, areas = partition(TOY, 8, mode=mode)
    assert tasks == 4
    check_complete(TOY, areas)


def check_complete(stairs: Staircase, areas) -> None:
    """Definition 3: every row and column covered, no cell twice, every result cell once."""
    covered = np.zeros((len(stairs.rows), len(stairs.columns)), int)
    rows, columns = np.zeros(len(stairs.rows), bool), np.zeros(len(stairs.columns), bool)
    for r0, r1, c0, c1 in areas:
        covered[r0:r1, c0:c1] += 1
        rows[r0:r1] = True
        columns[c0:c1] = True
    result = np.zeros_like(covered, bool)
    for row, (begin, end) in enumerate(zip(stairs.begin, stairs.end, strict=True)):
        result[row, begin:end] = True
    assert rows.all() and columns.all()
    assert covered.max() <= 1
    assert (covered[result] == 1).all()


@pytest.mark.paper("001-01", "001-02", "001-19", "001-23")
@settings(max_examples=50)
@given(staircases(), st.floats(2, 20), st.sampled_from(["greedy", "dp"]), st.sampled_from([None, 1, 3]))
def test_every_scheme_is_a_complete_information_area(stairs, memory, mode, tries):
    tasks, areas = partition(stairs, memory, mode=mode, tries=tries)
    check_complete(stairs, areas)
    left, right = stairs.rows.sum(), stairs.columns.sum()
    assert tasks <= varietal(left, right, memory).tasks <= regular_tasks(left, right, memory)
    layout = generate(stairs, memory, mode=mode, tries=tries)
    assert layout.tasks <= tasks and layout.fullest <= memory * (1 + 1e-6)


@pytest.mark.paper("001-02", "001-19")
@settings(max_examples=50)
@given(staircases(), st.floats(2, 20))
def test_a_chain_is_a_complete_information_area_too(stairs, memory):
    tasks, areas = chain(stairs, memory)
    check_complete(stairs, areas)
    volumes = [(stairs.rows[r0:r1].sum(), stairs.columns[c0:c1].sum()) for r0, r1, c0, c1 in areas]
    assert tasks == sum(varietal(left, right, memory).tasks for left, right in volumes)
    assert (
        partition(stairs, memory, mode="dp")[0]
        <= tasks
        <= varietal(stairs.rows.sum(), stairs.columns.sum(), memory).tasks
    )


@cache
def most_tasks(left: int, right: int, memory: float) -> int:
    return max(varietal(r, s, memory).tasks for r in range(left + 1) for s in range(right + 1))


def every_dichotomy(stairs: Staircase, memory: float) -> int:
    """Eq. 14 in the words of 001-23: all parts [.., i] x [.., j] and [i', ..] x [j', ..], no bound, no tightness.

    Algorithm 1 with its four candidates can need fewer tasks for more tuples (001-15). Only then can a part that is not
    tight gain anything, so it is counted here as the most that any part of it needs.
    """
    memo: dict[tuple[int, int, int, int], int] = {}

    def best(area):
        if area in memo:
            return memo[area]
        r0, r1, c0, c1 = area
        count = most_tasks(int(stairs.rows[r0:r1].sum()), int(stairs.columns[c0:c1].sum()), memory)
        memo[area] = count
        inside = {(r, c) for r in range(r0, r1) for c in range(max(c0, stairs.begin[r]), min(c1, stairs.end[r]))}
        for i in range(r0, r1 + 1):
            for j in range(c0, c1 + 1):
                for i2, j2 in {(i, x) for x in range(c0, j + 1)} | {(x, j) for x in range(r0, i + 1)}:
                    one, two = (r0, i, c0, j), (i2, r1, j2, c1)
                    if area in (one, two) or r0 == i or c0 == j or i2 == r1 or j2 == c1:
                        continue
                    if all((r < i and c < j) or (r >= i2 and c >= j2) for r, c in inside):
                        count = min(count, best(one) + best(two))
        memo[area] = count
        return count

    return best((0, len(stairs.rows), 0, len(stairs.columns)))


@pytest.mark.paper("001-20", "001-24")
@settings(max_examples=40)
@given(staircases(most=4), st.integers(3, 12))
def test_tight_splits_and_bounds_lose_nothing(stairs, memory):
    """Columns that can join nothing may be cut anywhere; such staircases do not come from terms over all words."""
    begin, end = stairs.begin.copy(), np.maximum(stairs.end, stairs.begin + 1).clip(max=len(stairs.columns))
    begin[0], end[-1] = 0, len(stairs.columns)
    begin[1:] = np.minimum(begin[1:], end[:-1])
    stairs = stairs_of(list(np.minimum(begin, end - 1)), list(end), list(stairs.rows), list(stairs.columns))
    exact, greedy = partition(stairs, memory, mode="dp")[0], partition(stairs, memory)[0]
    assert exact <= every_dichotomy(stairs, memory)
    assert exact <= greedy


@pytest.mark.paper("001-26")
@settings(max_examples=60)
@given(staircases(most=8), st.integers(4, 12))
def test_the_greedy_split_stays_within_the_worst_case(stairs, memory):
    """Theorem 4, read as tasks of Algorithm 2 over the least (001-26): held against the optimum over dichotomies."""
    rows, columns = (-(-int(side.sum() * 2) // memory) for side in (stairs.rows, stairs.columns))
    if rows >= 2 and columns >= 2:
        assert partition(stairs, memory)[0] <= worst_case(rows, columns) * partition(stairs, memory, mode="dp")[0]


@pytest.mark.paper("001-18")
def test_without_an_order_there_is_one_area():
    tasks, areas = partition(Staircase.whole(12, 12), 8)
    assert (tasks, areas) == (9, ((0, 1, 0, 1),))


@pytest.mark.paper("001-27")
def test_a_thousand_by_a_thousand_sample_in_under_a_second():
    from time import process_time

    draws = np.random.default_rng(3)
    left, right = draws.integers(0, 10_000, 1_000), (10_000 * draws.random(1_000) ** 3).astype(np.int64)
    chain(Staircase.whole(1, 1), 1)  # compiled before the clock starts
    for width in (0, 50, 2_000):
        term = Term(0, Op.BAND, 0, -width, width)
        started = process_time()
        stairs = Staircase.of_sample(term, left, right)
        layout = generate(stairs, 100)
        assert process_time() - started < 1
        small = stairs.compress(64)
        assert len(small.rows) <= 3 * 64 and len(small.columns) <= 3 * 64
        assert layout.fullest <= 100 * (1 + 1e-6) and layout.tasks <= 400


@settings(max_examples=60)
@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=20), st.lists(st.integers(-8, 8), min_size=1, max_size=20),
    st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.BAND]), st.integers(1, 6), st.integers(1, 6),
)  # fmt: skip
def test_a_compressed_matrix_has_every_result_of_any_keys(left, right, op, size, smaller):
    term = Term(0, op, 0, -1, 2)
    full = Staircase.of(term, Histogram.of(np.array(left)), Histogram.of(np.array(right)), size)
    for stairs in (full, full.compress(smaller)):
        assert (np.diff(stairs.begin) >= 0).all() and (np.diff(stairs.end) >= 0).all()
        assert stairs.rows.sum() == len(left) and stairs.columns.sum() == len(right)
        keys = np.arange(-12, 13)
        row = np.searchsorted(stairs.row_cuts, keys, side="right")
        column = np.searchsorted(stairs.column_cuts, keys, side="right")
        for a, r in zip(keys, row, strict=True):
            joins = {
                Op.LT: a < keys, Op.LE: a <= keys, Op.GT: a > keys, Op.GE: a >= keys, Op.EQ: a == keys,
                Op.BAND: (a - keys >= -1) & (a - keys <= 2),
            }[op]  # fmt: skip
            inside = (column >= stairs.begin[r]) & (column < stairs.end[r])
            assert (inside | ~joins).all()


@given(st.lists(st.integers(0, 30), max_size=60), st.lists(st.integers(0, 30), max_size=60), st.integers(1, 12))
def test_histograms_add_up_and_keep_heavy_keys(first, second, size):
    both = Histogram.merged([Histogram.of(np.array(part, np.int64)) for part in (first, second)])
    assert both.total == len(first) + len(second)
    small = both.shrunk(size)
    assert small.total == pytest.approx(both.total) and len(small.keys) <= max(size, 3 * size + 2)
    for key, weight in zip(both.keys, both.weights, strict=True):
        if len(both.keys) > size and weight >= both.total / size:
            assert small.weights[small.keys == key] == [weight]
    again = Histogram.of_json(both.to_json())
    assert (again.keys == both.keys).all() and (again.weights == both.weights).all()


# --- Algorithm 3 -----------------------------------------------------------------------------------------------------


@pytest.mark.paper("001-30", "001-28", "001-29")
def test_a_tuple_goes_to_the_areas_that_take_its_key():
    first = lay(Varietal(2, 2), (EVERY[0], 20), (EVERY[0], 20), (0, 1, 2, 3))
    second = lay(Varietal(1, 2), (21, EVERY[1]), (21, EVERY[1]), (4, 5))
    plan = AreaPlan(8, (first, second), (0, 0))
    draws = np.array([0, 2**31, 2**32 - 1], np.uint32)
    kept = plan.store("right", np.array([[18, 18, 30]]), draws)
    assert kept.T.nonzero()[1].tolist() == [0, 2, 1, 3, 5]  # column 0, column 1, and the other area's second column
    assert plan.active == (0, 1, 2, 3, 4, 5)


@pytest.mark.paper("001-17")
@settings(max_examples=50)
@given(
    st.floats(1, 40), st.floats(1, 40), st.floats(2, 20), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20)
)
def test_every_pair_of_draws_crosses_in_one_cell(left, right, memory, draws):
    shape = varietal(left, right, memory).balanced(left, right)
    area = lay(shape, EVERY, EVERY, tuple(range(shape.tasks)))
    plan = AreaPlan(shape.tasks, (area,))
    u = np.array(draws, np.uint32)
    words = np.zeros((1, len(u)), np.int64)
    rows, columns = plan.store("left", words, u).astype(int), plan.store("right", words, u).astype(int)
    assert (np.einsum("ti,tj->ij", rows, columns) == 1).all()


@pytest.mark.paper("001-17", "001-04")
def test_extra_cells_carry_what_algorithm_1_says():
    shape = varietal(9, 7, 10)
    area = lay(shape, EVERY, EVERY, (0, 1, 2))
    left, right = (_share(area, side) for side in ("left", "right"))
    assert [9 * a + 7 * b for a, b in zip(left, right, strict=True)] == pytest.approx([10, 10, 9.5])


def _share(area: Area, side) -> list[float]:
    atoms = area.atoms(side)
    sizes = np.diff(np.array([*atoms.starts, SPACE])) / SPACE
    return list(atoms.hold @ sizes)


# --- Algorithm 4, start points, Algorithm 5 ---------------------------------------------------------------------------


def matrix(rows: int, columns: int) -> Area:
    return lay(Varietal(rows, columns), EVERY, EVERY, tuple(range(rows * columns)))


@pytest.mark.paper("001-40", "001-32", "001-33", "001-41")
def test_two_by_two_becomes_two_by_three():
    old, new = matrix(2, 2), matrix(2, 3)
    kept = cells_kept([old], [new], one)
    assert kept[0, 0] == pytest.approx(1 / 2 + 1 / 3)
    assert greedy_pairs(kept) == [(0, 0), (1, 2), (2, 3), (3, 5)]  # 00-00, 01-02, 10-10, 11-12
    named = lay(Varietal(2, 3), EVERY, EVERY, (0, 4, 1, 2, 5, 3))
    moves = migration([old], [named])
    third, half = round(SPACE / 3), SPACE // 2
    copies = {(m.source, m.target, m.side, m.piece[2:]) for m in moves if m.kind == "copy"}
    assert {c for c in copies if c[1] == 4} == {
        (0, 4, "left", (0, half)), (0, 4, "right", (third, half)), (1, 4, "right", (half, round(SPACE * 2 / 3))),
    }  # fmt: skip
    assert {c[0] for c in copies if c[1] == 5 and c[2] == "left"} == {2}  # column 0 of row 1
    assert {c[0] for c in copies if c[1] == 5 and c[2] == "right"} == {0, 1}  # row 0
    assert [m.kind for m in moves] == sorted((m.kind for m in moves), key=["copy", "delete"].index)  # copies first


@pytest.mark.paper("001-34")
def test_greedy_pairing_is_not_always_the_best():
    kept = cells_kept([matrix(3, 4)], [matrix(4, 3)], one)
    assert sum(kept[pair] for pair in greedy_pairs(kept)) == pytest.approx(4.5, abs=0.01)
    assert sum(kept[pair] for pair in optimal_pairs(kept)) == pytest.approx(4.667, abs=0.01)


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_the_optimal_pairing_is_the_best_of_all(rows, columns, data):
    values = st.lists(st.integers(0, 6), min_size=rows * columns, max_size=rows * columns)
    kept = np.array(data.draw(values), float).reshape(rows, columns)
    wide = kept if rows <= columns else kept.T
    best = max(sum(wide[i, c] for i, c in enumerate(p)) for p in permutations(range(wide.shape[1]), wide.shape[0]))
    pairs = optimal_pairs(kept)
    assert len(pairs) == min(rows, columns) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert sum(kept[pair] for pair in pairs) == best
    assert sum(kept[pair] for pair in greedy_pairs(kept)) <= best


@pytest.mark.paper("001-36", "001-35")
def test_from_four_to_five_parts_a_fifth_moves_instead_of_three_tenths():
    def moved(old: Division, new: Division) -> float:
        areas = [lay(Varietal(n, 1), EVERY, EVERY, tuple(range(n))) for n in (4, 5)]
        areas = [Area(*EVERY_PAIR, len(d.measures(5)) if d is new else 4, 1, 0, "none", d, Division(), a.tasks)
                 for d, a in zip((old, new), areas, strict=True)]  # fmt: skip
        kept = cells_kept(areas[:1], areas[1:], lambda side, least, most: float(side == "left"))
        return 1 - sum(kept[pair] for pair in greedy_pairs(kept))

    old = Division.equal(4)
    assert moved(old, Division.equal(5)) == pytest.approx(3 / 10)
    assert moved(old, old.aligned([0.2] * 5)) == pytest.approx(1 / 5)


EVERY_PAIR = (EVERY, EVERY)
shares = st.lists(st.integers(1, 9), min_size=1, max_size=7)


@pytest.mark.paper("001-35")
@given(st.lists(shares, min_size=2, max_size=6))
def test_aligned_divisions_have_their_shares_and_move_the_least(sequence):
    division = Division.of(sequence[0])
    for before, weights in pairwise(sequence):
        after = division.aligned(weights)
        assert after.starts[0] == 0 and list(after.starts) == sorted(set(after.starts))
        assert after.measures(len(weights)) == pytest.approx([w / sum(weights) for w in weights], abs=1e-8)
        if len(after.starts) < 12 * len(weights):
            was, now = division.measures(max(len(before), len(weights))), after.measures(max(len(before), len(weights)))
            same = sum(
                max(0, min(e1, e2) - max(s1, s2))
                for s1, e1, o1 in division.pieces() for s2, e2, o2 in after.pieces() if o1 == o2
            ) / SPACE  # fmt: skip
            assert same == pytest.approx(sum(min(a, b) for a, b in zip(was, now, strict=True)), abs=1e-7)
        division = after


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[Area, ...], tuple[Area, ...]]:
    """Two schemes of different loads, the second placed beside the first."""
    found: list[tuple[Area, ...]] = []
    for _ in range(2):
        stairs, memory = draw(staircases(most=4)), draw(st.floats(4, 14))
        layout = generate(stairs, memory)
        before = found[0] if found else ()
        areas = place(layout, before, one, 60) if before else tuple(
            lay(s, a, b, tuple(range(100 * n, 100 * n + s.tasks)))
            for n, (s, a, b) in enumerate(zip(layout.shapes, layout.left, layout.right, strict=True))
        )  # fmt: skip
        found.append(areas)
    return found[0], found[1]


@pytest.mark.paper("001-37", "001-38", "001-39")
@settings(max_examples=60)
@given(layouts(), st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 2**32 - 1)), min_size=1, max_size=12))
def test_after_the_moves_every_task_holds_what_the_new_scheme_gives_it(pair, tuples):
    old, new = pair
    keys = np.array([[key for key, _ in tuples]])
    u = np.array([draw for _, draw in tuples], np.uint32)
    before, after = (AreaPlan(1000, areas, (0, 0)) for areas in pair)
    moves = migration(old, new)
    for side in ("left", "right"):
        held = before.store(side, keys, u)
        at_first = held.copy()
        for move in moves:
            if move.side != side:
                continue
            least, most, start, end = move.piece
            inside = (keys[0] >= least) & (keys[0] <= most) & (u >= start) & (u < end)
            if move.source is None:
                held[move.target] &= ~inside
            else:
                assert (at_first[move.source] | ~inside).all(), "sent by one who never had it"
                assert not (held[move.target] & inside).any(), "sent to one who has it"
                held[move.target] |= inside
        assert (held == after.store(side, keys, u)).all()


@pytest.mark.paper("001-38")
def test_states_on_an_extra_line_are_discarded_and_dealt():
    shape = Varietal(3, 1, 1, "column", 0.2)  # rows 1 and 2 have no cell of their own on the extra line
    irregular = lay(shape, EVERY, EVERY, (0, 1, 2, 3))
    kinds = [move.kind for move in migration([matrix(3, 1)], [irregular])]
    assert "deal" in kinds and "discard" not in kinds
    back = migration([irregular], [matrix(3, 1)])
    assert back[0].kind == "discard" and {move.target for move in back if move.kind == "discard"} == {3}
    assert volume(back, one) < volume(back, lambda side, least, most: 2.0)


@settings(max_examples=40)
@given(staircases(), st.integers(1, 20))
def test_a_fitting_scheme_fits(stairs, tasks):
    layout = fitting(stairs, tasks)
    assert layout.tasks <= tasks
    areas = place(layout, AreaPlan.whole(tasks).areas, one, tasks)
    used = [task for area in areas for task in area.tasks]
    assert len(used) == len(set(used)) == layout.tasks and max(used) < tasks
