"""Every single-threaded and every shared baseline finds the pairs of the nested loop."""

from __future__ import annotations

import numpy as np
import pytest

from weft.kernels import trees
from weft_lab.kernels import threaded_joins, tree_joins


def merged(sides, window, leaf, depth, limit):
    forest = trees.forest_of(64, limit + 8, leaf, 4, linked=True, plots=2 * sides)
    css = trees.css_room(window + limit + 8, leaf, 4, plots=2 * sides)
    for plot in range(2 * sides):
        trees.clear(forest, plot, plot * 64, 1, True)
    return forest, css, np.array([0, 2, 0, 0])


@pytest.mark.paper("002-02", "002-03", "002-04", "002-05", "002-06", "002-10", "002-14")
@pytest.mark.parametrize("sides", [1, 2])
def test_all_agree(sides: int) -> None:
    random = np.random.default_rng(sides)
    for window, n in ((1, 20), (100, 20), (7, 90), (32, 300), (64, 900)):
        keys = random.integers(0, 40, n)
        wanted = sum(
            1
            for t in range(n)
            for p in range(t)
            if (sides == 1 or (t - p) % 2)
            and abs(keys[p] - keys[t]) <= 1
            and (t + sides - 1 - (sides - 1 - t % sides)) // sides - p // sides <= window
        )
        assert tree_joins.join_loop(keys, 0, n, sides, window, 1) == wanted
        for parts in (1, 3):
            forest = trees.forest_of(sides * parts, 2 * sides * (window + 1), 2, 4)
            assert tree_joins.join_bplus(forest, keys, 0, n, sides, window, 1, parts) == wanted
            trees.check_forest(forest, linked=False)
        for length in (2, 3, 5):
            for immutable in (False, True):
                room = -(-window // (length - 1))
                forest = trees.forest_of(1, room, 2, 4, plots=sides * (length + 1))
                css = trees.css_room(room, 2, 4, plots=sides * (length + 1))
                assert tree_joins.join_chain(forest, css, keys, 0, n, sides, window, 1, length, immutable) == wanted
        for depth, limit in ((0, 5), (1, 1), (2, 9), (3, 64)):
            forest, css, state = merged(sides, window, 2, depth, limit)
            assert tree_joins.join_merged(forest, css, keys, 0, n, sides, window, 1, 64, depth, limit, state) == wanted
        m, forest = np.zeros(16, np.int64), trees.forest_of(sides, 2 * sides * (window + 1), 2, 4)
        assert threaded_joins.join_locked(m, forest, keys, n, sides, window, 1, 3) == wanted
        found = loops = 0
        for part in range(3):
            forest = trees.forest_of(sides, 2 * sides * (window + 4), 2, 4)
            found += threaded_joins.join_share(forest, keys, 0, n, sides, window, 1, part, 3)
            loops += threaded_joins.loop_share(keys, 0, n, sides, window, 1, part, 3)
        assert found == loops == wanted
