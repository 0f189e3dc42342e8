"""Algorithms 4 and 5 and start-point alignment: who becomes whom, and what moves."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.staircases import matrix, one, staircases
from weft.routing.adsp import (
    EVERY,
    SPACE,
    Area,
    AreaPlan,
    Division,
    Varietal,
    cells_kept,
    generate,
    greedy_pairs,
    lay,
    migration,
    optimal_pairs,
    place,
    volume,
)


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
@at_most(60)
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
