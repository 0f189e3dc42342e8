"""Two ranges at once, by blocks: the pairs of the nested loop, whatever the ranges and sizes; and when blocks are used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.index import Probe, Runs, make_index
from weft.index import boxes as boxes_module
from weft.index.boxes import BoxCosts
from weft.kernels.boxes import bits_for, build_level
from weft.kernels.words import float_of, float_words
from weft.spec.terms import Access, Op, Term
from weft.types import WORD_MAX, WORD_MIN, Block, Bools, Words

BAND, OTHER, TIME = Term(0, Op.BAND, 0, -3, 2), Term(1, Op.BAND, 1, -2, 4), Term(2, Op.BAND, 2, -1, 1)
ABOVE, BELOW = Term(0, Op.GE, 0), Term(0, Op.LE, 1)  # the stored row has an interval of columns 0 and 1 ...
OVER, UNDER = Term(1, Op.GT, 2), Term(1, Op.LT, 3)  # ... and one of columns 2 and 3

SHAPES: dict[str, tuple[Access, tuple[Term, ...]]] = {
    "two bands": (Access(within=BAND), (BAND, OTHER)),
    "three bands": (Access(within=BAND), (BAND, OTHER, TIME)),
    "equality and two bands": (Access((2, 2), BAND), (Term(2, Op.EQ, 2), BAND, OTHER)),
    "band and inequality": (Access(within=BAND), (BAND, Term(1, Op.LT, 1))),
    "band, inequality, not equal": (Access(within=BAND), (BAND, Term(1, Op.GE, 1), Term(2, Op.NE, 2))),
    "equality of zero width": (Access(within=BAND), (BAND, Term(1, Op.BAND, 1, 0, 0))),
    "two intervals": (Access(None, ABOVE, BELOW), (ABOVE, BELOW, OVER, UNDER)),
    "two intervals, from the other side": (
        Access(None, ABOVE, BELOW).flip(), tuple(term.flip() for term in (ABOVE, BELOW, OVER, UNDER)),
    ),
    "interval and band": (Access(None, ABOVE, BELOW), (ABOVE, BELOW, Term(1, Op.BAND, 2, -1, 3))),
    "equality and two intervals": (Access((3, 3), ABOVE, BELOW), (Term(3, Op.EQ, 3), ABOVE, BELOW, OVER, Term(1, Op.LT, 3))),
}  # fmt: skip


def met(term: Term, p: Words, s: Words) -> Bools:
    """Tell which pairs satisfy a term: rows of the probe down, stored rows across."""
    left, right = p[term.left][:, None], s[term.right][None, :]
    if term.op is Op.FBAND:
        with np.errstate(all="ignore"):
            apart = float_of(left) - float_of(right)
        return (apart >= term.lo) & (apart <= term.hi)
    if term.op is Op.BAND:
        distance = left.astype(object) - right.astype(object)
        return ((distance >= term.lo) & (distance <= term.hi)).astype(np.bool_)
    compare: dict[Op, Callable[[Words, Words], Bools]] = {
        Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
        Op.NE: np.not_equal,
    }  # fmt: skip
    return compare[term.op](left, right)


def check(
    p: Words, s: Words, access: Access, terms: tuple[Term, ...], chunk: int = 1000, index: str = "boxes", parts: int = 1
) -> None:  # fmt: skip
    held = make_index(index, access, None)
    rows = np.arange(s.shape[1])
    for part in np.array_split(rows, parts):
        held.insert(Block(s[:, part], np.zeros(len(part), np.uint32), pa.table({"id": part})))
    probe = Block(p, np.zeros(p.shape[1], np.uint32), pa.table({"id": np.arange(p.shape[1])}))
    found: Counter[tuple[int, int]] = Counter()
    for matches in held.probe(Probe(probe, access, terms), chunk):
        assert 0 < len(matches) <= chunk
        ids = matches.run.payload.column("id").to_numpy()[matches.stored]
        found.update(zip(matches.probe.tolist(), ids.tolist(), strict=True))
    wanted = np.ones((p.shape[1], s.shape[1]), np.bool_)
    for term in terms:
        wanted &= met(term, p, s)
    assert found == Counter(zip(*(side.tolist() for side in np.nonzero(wanted)), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
@given(
    seed=st.integers(0, 2**32 - 1), rows=st.tuples(st.integers(0, 40), st.integers(1, 300)),
    domain=st.sampled_from([1, 4, 12, 60]), chunk=st.sampled_from([1, 7, 1000]), parts=st.integers(1, 3),
)  # fmt: skip
@at_most(15)
def test_ranges_of_every_kind(shape, seed, rows, domain, chunk, parts) -> None:
    """Crowded keys: with a domain of one all rows lie in one place; negative ones are there too."""
    random = np.random.default_rng(seed)
    p, s = (random.integers(-domain, domain, (4, n)) for n in rows)
    check(p, s, *SHAPES[shape], chunk=chunk, parts=parts)


FLOATS = [-np.inf, -1e308, -7.5, -0.1, -0.0, 0.0, 5e-324, 0.1, 0.2, 0.30000000000000004, 1.0, 1e16, np.inf, np.nan]


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 120),
    bounds=st.tuples(*[st.sampled_from([0.0, 0.1, 0.3, 7.5, 1e16, np.inf])] * 4), interval=st.booleans(),
)  # fmt: skip
@at_most(40)
def test_doubles(seed, n, bounds, interval) -> None:
    random = np.random.default_rng(seed)
    p, s = (float_words(random.choice(FLOATS, (4, rows))) for rows in (20, n))
    one, two = Term(0, Op.FBAND, 0, -bounds[0], bounds[1]), Term(1, Op.FBAND, 1, -bounds[2], bounds[3])
    check(p, s, Access(within=one), (one, two))
    if interval:
        check(p, s, Access(None, ABOVE, BELOW), (ABOVE, BELOW, two))


@given(seed=st.integers(0, 2**32 - 1), wide=st.sampled_from([1, WORD_MAX, 2 * WORD_MAX]))
@at_most(20)
def test_words_at_the_ends_of_their_domain_do_not_wrap(seed, wide) -> None:
    random = np.random.default_rng(seed)
    ends = np.array([WORD_MIN, WORD_MIN + 1, -1, 0, 1, WORD_MAX - 1, WORD_MAX])
    p, s = (random.choice(ends, (4, 30)) for _ in range(2))
    one, two = Term(0, Op.BAND, 0, -wide, 1), Term(1, Op.BAND, 1, -1, wide)
    check(p, s, Access(within=one), (one, two))


@pytest.mark.parametrize("shape", SHAPES)
def test_stretches_of_every_length(shape: str) -> None:
    """Most stored rows crowd together, a few lie far apart: one probe block needs blocks of every size."""
    random = np.random.default_rng(3)
    s = np.where(
        random.random((4, 6000)) < 0.7, random.integers(0, 3, (4, 6000)), random.integers(-900, 900, (4, 6000))
    )
    p = np.concatenate([random.integers(-900, 900, (4, 60)), random.integers(-2, 5, (4, 20))], axis=1)
    check(p, s, *SHAPES[shape], chunk=5000)


def ways_of(monkeypatch: pytest.MonkeyPatch, height: int, costs: BoxCosts | None = None) -> bool:
    """Join two bands, the second one of that height in a domain of 1,000, by `runs`; tell whether blocks were used."""
    used: list[int] = []
    whole = build_level

    def seen(*arguments: Any) -> None:
        used.append(1)
        whole(*arguments)

    monkeypatch.setattr(boxes_module, "build_level", seen)
    if costs is not None:
        monkeypatch.setattr(Runs, "box_costs", costs)
    random = np.random.default_rng(1)
    p, s = random.integers(0, 1000, (4, 900)), random.integers(0, 1000, (4, 3000))
    terms = (Term(0, Op.BAND, 0, -100, 100), Term(1, Op.BAND, 1, -height, height))
    check(p, s, Access(within=terms[0]), terms, index="runs")
    return bool(used)


def test_runs_uses_blocks_where_the_second_range_is_measured_to_leave_little(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ways_of(monkeypatch, 3)
    assert not ways_of(monkeypatch, 600)
    assert ways_of(monkeypatch, 600, replace(BoxCosts(), found=0.0))
    assert not ways_of(monkeypatch, 3, replace(BoxCosts(), build=1e6))


@pytest.mark.parametrize("intervals", [False, True])
def test_a_level_is_sorted_block_by_block(intervals: bool) -> None:
    random = np.random.default_rng(2)
    low = random.integers(0, 50, 100)
    high = low + random.integers(0, 9, 100)
    order = np.argsort(low, kind="stable")
    place, sorted_low, reach = np.empty(100, np.int32), np.empty(100, np.int64), np.empty(100, np.int64)
    for build in (build_level, plain(build_level)):
        build(
            order,
            low[order],
            high[order] if intervals else high[:0],
            4,
            np.empty(7, np.int64),
            place,
            sorted_low,
            reach,
        )
        for begin in range(0, 100, 16):
            block = slice(begin, begin + 16)
            assert sorted(place[block]) == list(range(begin, min(begin + 16, 100)))
            assert sorted_low[block].tolist() == sorted(low[block]) == low[place[block]].tolist()
            if intervals:
                assert reach[block].tolist() == np.maximum.accumulate(high[place[block]]).tolist()


def test_three_blocks_cover_every_stretch() -> None:
    lengths = np.arange(1, 5000)
    bits = bits_for(lengths)
    assert (lengths <= 2 << bits).all()
    assert (lengths[bits > 4] > 2 << (bits[bits > 4] - 2)).all()
