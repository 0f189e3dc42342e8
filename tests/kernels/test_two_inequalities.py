"""Two inequalities by blocks give the pairs of the nested loop: every operator, ties, chunks, a third term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.index import Probe, make_index
from weft.index import runs as runs_module
from weft.kernels import two_inequalities
from weft.spec.terms import Access, Op, Term
from weft.types import Block

OPS: dict[Op, Callable[[int, int], bool]] = {
    Op.LT: lambda a, b: a < b, Op.LE: lambda a, b: a <= b, Op.GT: lambda a, b: a > b, Op.GE: lambda a, b: a >= b,
    Op.NE: lambda a, b: a != b,
}  # fmt: skip
INEQUALITIES = [Op.LT, Op.LE, Op.GT, Op.GE]
rows = st.lists(st.tuples(*[st.integers(0, 5)] * 3), max_size=40)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use blocks whatever they cost."""
    monkeypatch.setattr(runs_module, "worthwhile", lambda *_: True)


def block_of(rows: Sequence[tuple[int, ...]]) -> Block:
    words = np.array(rows, np.int64).reshape(len(rows), -1).T.copy() if rows else np.empty((3, 0), np.int64)
    return Block(words, np.zeros(len(rows), np.uint32), pa.table({"id": np.arange(len(rows))}))


def join(
    left: Sequence[tuple[int, ...]], right: Sequence[tuple[int, ...]], terms: tuple[Term, ...], chunk: int
) -> Counter[tuple[int, int]]:
    access = Access(within=terms[0])
    index = make_index("runs", access, None)
    index.insert(block_of(right))
    found: Counter[tuple[int, int]] = Counter()
    for matches in index.probe(Probe(block_of(left), access, terms), chunk):
        assert 0 < len(matches) <= chunk
        found.update(zip(matches.probe.tolist(), matches.stored.tolist(), strict=True))
    return found


def nested(
    left: Sequence[tuple[int, ...]], right: Sequence[tuple[int, ...]], terms: tuple[Term, ...]
) -> Counter[tuple[int, int]]:
    return Counter(
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if all(OPS[t.op](a[t.left], b[t.right]) for t in terms)
    )


@pytest.mark.paper("Y10")
@pytest.mark.parametrize(("first", "second"), list(product(INEQUALITIES, INEQUALITIES)))
@given(left=rows, right=rows, chunk=st.sampled_from([1, 3, 1000]), third=st.booleans())
@at_most(25)
def test_every_pair_of_operators(first, second, left, right, chunk, third) -> None:
    terms = (Term(0, first, 0), Term(1, second, 1), *([Term(2, Op.NE, 2)] if third else []))
    assert join(left, right, terms, chunk) == nested(left, right, terms)


@pytest.mark.paper("Y10")
def test_east_and_west() -> None:
    """East rows (duration, revenue) that took longer yet cost less than a west row: small, with a tie."""
    east = [(140, 9), (100, 12), (90, 5), (90, 5)]
    west = [(100, 6), (90, 11), (80, 10)]
    terms = (Term(0, Op.GT, 0), Term(1, Op.LT, 1))
    assert (
        join(east, west, terms, 10)
        == nested(east, west, terms)
        == Counter({(0, 1): 1, (0, 2): 1, (2, 2): 1, (3, 2): 1})
    )


def test_larger_than_a_few_levels_and_plain_python() -> None:
    random = np.random.default_rng(4)
    left, right = ([tuple(r) for r in random.integers(0, 900, (n, 3)).tolist()] for n in (60, 700))
    terms = (Term(0, Op.GE, 0), Term(1, Op.LT, 1))
    assert join(left, right, terms, 64) == nested(left, right, terms)
    places = random.permutation(20).astype(np.int32)
    for build in (two_inequalities.build_level, plain(two_inequalities.build_level)):
        level = np.empty(20, np.int32)
        build(places, 2, level, np.empty(5, np.int32))
        assert all((np.diff(level[b : b + 4]) > 0).all() for b in range(0, 20, 4))
        assert (places[level] >> 2 == np.arange(20) >> 2).all()
