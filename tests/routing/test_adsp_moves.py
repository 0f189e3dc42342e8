"""Algorithm 4 and start-point alignment: who becomes whom."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.routing.staircases import matrix, one
from weft.routing.adsp import (
    EVERY,
    SPACE,
    Area,
    Division,
    Varietal,
    cells_kept,
    greedy_pairs,
    lay,
    optimal_pairs,
)


@pytest.mark.paper("001-40", "001-32", "001-33")
def test_the_cells_of_two_by_two_become_cells_of_two_by_three():
    old, new = matrix(2, 2), matrix(2, 3)
    kept = cells_kept([old], [new], one)
    assert kept[0, 0] == pytest.approx(1 / 2 + 1 / 3)
    assert greedy_pairs(kept) == [(0, 0), (1, 2), (2, 3), (3, 5)]  # 00-00, 01-02, 10-10, 11-12


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
