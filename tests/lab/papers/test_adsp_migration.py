"""Algorithm 5: what moves when one scheme follows another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.staircases import matrix, one, staircases
from weft.routing.adsp import EVERY, SPACE, Area, AreaPlan, Varietal, generate, lay, place
from weft_lab.papers.adsp.migration import migration, volume


@pytest.mark.paper("001-40", "001-41")
def test_what_moves_when_two_by_two_becomes_two_by_three():
    old = matrix(2, 2)
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
