"""Every index answers every probe as a nested loop does, whatever the terms, the chunk and the history."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.errors import SpecError, UnknownName
from weft.index import Index, Layout, Probe, Runs, index_named, known_indexes, make_index
from weft.kernels.words import float_of, float_words
from weft.spec.terms import Access, Op, Term
from weft.types import WORD_MAX, WORD_MIN, Block

quick = at_most(40)
NAMES = sorted(known_indexes())
"""Those of installed packages too: the laboratory's competitors, or your own."""
COLUMNS = 4  # a, b, then seq and opp
SEQ, OPP = 2, 3


@dataclass(frozen=True)
class Case:
    """An access path and the terms it serves."""

    access: Access
    terms: tuple[Term, ...]


def holds(term: Term, p: list[int], s: list[int]) -> bool:
    """State a term in Python's own integers and floats."""
    left, right = p[term.left], s[term.right]
    match term.op:
        case Op.LT:
            return left < right
        case Op.LE:
            return left <= right
        case Op.GT:
            return left > right
        case Op.GE:
            return left >= right
        case Op.EQ:
            return left == right
        case Op.NE:
            return left != right
        case Op.BAND:
            return term.lo <= left - right <= term.hi
        case Op.FBAND:
            x, y = (float(v) for v in float_of(np.array([left, right])))
            return term.lo <= x - y <= term.hi
        case Op.LAST:
            stored_first = p[term.left + 1] - n <= right < p[term.left + 1] if (n := int(term.hi)) else False
            return stored_first or s[term.right + 1] - n <= left < s[term.right + 1]


def block_of(rows: list[list[int]], first: int = 0) -> Block:
    words = np.array(rows, np.int64).reshape(-1, COLUMNS).T.copy()
    n = words.shape[1]
    return Block(words, np.arange(n, dtype=np.uint32), pa.table({"id": pa.array(np.arange(first, first + n))}))


def pairs_of(index: Index, probe: Block, case: Case, chunk: int) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for matches in index.probe(Probe(probe, case.access, case.terms), chunk):
        assert 0 < len(matches) <= chunk
        ids = matches.run.payload.column("id").to_numpy()[matches.stored]
        found.update(zip(matches.probe.tolist(), ids.tolist(), strict=True))
    return found


def expected(probe: list[list[int]], stored: dict[int, list[int]], case: Case) -> Counter[tuple[int, int]]:
    return Counter(
        (i, j) for i, p in enumerate(probe) for j, s in stored.items() if all(holds(t, p, s) for t in case.terms)
    )


def check(name: str, case: Case, batches: list[list[list[int]]], probe: list[list[int]], chunk: int) -> None:
    """Insert batch after batch, and compare after each."""
    kind = index_named(name)
    index = kind(Layout.of(case.access), None, replace(kind.default_merging, small=3, fanout=2))
    stored: dict[int, list[int]] = {}
    for rows in batches:
        index.insert(block_of(rows, len(stored)))
        stored.update(enumerate(rows, len(stored)))
        index.validate()
    assert pairs_of(index, block_of(probe), case, chunk) == expected(probe, stored, case)


def check_served(
    name: str, cases: list[Case], batches: list[list[list[int]]], probe: list[list[int]], chunk: int
) -> None:  # fmt: skip
    """Check the cases that an index serves: all of them, but for `hash`, which needs an equality; one at least."""
    served = [case for case in cases if name != "hash" or case.access.equal is not None]
    assert served, f"{name} serves none of these cases"
    for case in served:
        check(name, case, batches, probe, chunk)


small = st.integers(0, 5)
row = st.lists(small, min_size=COLUMNS, max_size=COLUMNS)
rows = st.lists(row, max_size=12)
batches = st.lists(rows, max_size=4)
chunks = st.sampled_from([1, 3, 1000])
extreme = st.sampled_from([WORD_MIN, WORD_MIN + 1, -1, 0, 1, WORD_MAX - 1, WORD_MAX])
extremes = st.lists(st.lists(extreme, min_size=COLUMNS, max_size=COLUMNS), max_size=8)
inequality = st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE])
comparison = st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE])
column = st.integers(0, 1)
names = pytest.mark.parametrize("name", NAMES)
without_equality = pytest.mark.parametrize("name", [name for name in NAMES if name != "hash"])
"""`hash` refuses to be made for these (the last test)."""


@st.composite
def bands(draw: st.DrawFn, wide: bool = False) -> Term:
    bound = extreme.map(lambda x: 2 * x) if wide else st.integers(-3, 3)
    lo, hi = sorted((draw(bound), draw(bound)))
    return Term(draw(column), Op.BAND, draw(column), lo, hi)


@without_equality
@given(rows=batches, probe=rows, op=inequality, left=column, right=column, extra=comparison, chunk=chunks)
@quick
def test_a_range_and_any_other_term(name, rows, probe, op, left, right, extra, chunk) -> None:
    within = Term(left, op, right)
    check(name, Case(Access(within=within), (Term(0, extra, 1), within)), rows, probe, chunk)


@names
@given(rows=batches, probe=rows, op=comparison, left=column, chunk=chunks)
@quick
def test_an_equality_alone_and_with_another_term(name, rows, probe, op, left, chunk) -> None:
    equal = Term(0, Op.EQ, 1)
    check(name, Case(Access(equal=(0, 1)), (equal,)), rows, probe, chunk)
    check(name, Case(Access(equal=(0, 1)), (equal, Term(left, op, 2))), rows, probe, chunk)


@names
@given(rows=batches, probe=rows, op=inequality, band=bands(), chunk=chunks)
@quick
def test_an_equality_and_a_range(name, rows, probe, op, band, chunk) -> None:
    equal = Term(0, Op.EQ, 2)
    for within in (Term(1, op, 1), band):
        check(name, Case(Access((0, 2), within), (equal, within)), rows, probe, chunk)


@without_equality
@given(rows=batches, probe=rows, band=bands(), other=bands(), chunk=chunks)
@quick
def test_bands(name, rows, probe, band, other, chunk) -> None:
    check(name, Case(Access(within=band), (band,)), rows, probe, chunk)
    check(name, Case(Access(within=band), (other, band)), rows, probe, chunk)


@names
@given(rows=st.lists(extremes, max_size=2), probe=extremes, band=bands(wide=True), op=inequality, chunk=chunks)
@quick
def test_words_at_the_ends_of_their_domain_do_not_wrap(name, rows, probe, band, op, chunk) -> None:
    within, lower, upper = Term(0, op, 1), Term(0, Op.GE, 0), Term(0, Op.LE, 1)
    cases = [
        Case(Access(within=band), (band,)),
        Case(Access(equal=(0, 0)), (Term(0, Op.EQ, 0), band)),
        Case(Access(within=within), (within, band)),
        Case(Access(within=lower, until=upper), (lower, upper)),
    ]
    check_served(name, cases, rows, probe, chunk)


FLOATS = [-math.inf, -1e308, -1.5, -0.1, -0.0, 0.0, 5e-324, 0.1, 0.2, 0.3, 1.0, 1e16, 1e308, math.inf, math.nan]
float_word = st.sampled_from([int(w) for w in float_words(np.array(FLOATS))])
float_rows = st.lists(st.lists(float_word, min_size=COLUMNS, max_size=COLUMNS), max_size=10)
float_bound = st.sampled_from([x for x in FLOATS if not math.isnan(x)])


@names
@given(
    rows=st.lists(float_rows, max_size=3), probe=float_rows, bounds=st.tuples(float_bound, float_bound), chunk=chunks
)
@quick
def test_float_bands_round_as_floats_do(name, rows, probe, bounds, chunk) -> None:
    band = Term(0, Op.FBAND, 1, min(bounds), max(bounds))
    cases = [Case(Access(within=band), (band,)), Case(Access(equal=(1, 0)), (Term(1, Op.EQ, 0), band))]
    check_served(name, cases, rows, probe, chunk)


@names
@given(rows=batches, probe=rows, strict=st.tuples(st.booleans(), st.booleans()), equal=st.booleans(), chunk=chunks)
@quick
def test_intervals_on_either_side(name, rows, probe, strict, equal, chunk) -> None:
    at_least, at_most = Op.GT if strict[0] else Op.GE, Op.LT if strict[1] else Op.LE
    lower, upper = Term(0, at_least, 0), Term(0, at_most, 1)  # the probe holds x, the stored row lo and hi
    equal = equal or name == "hash"
    same = (Term(2, Op.EQ, 2),) if equal else ()
    access = Access((2, 2) if equal else None, lower, upper)
    check(name, Case(access, (*same, lower, upper)), rows, probe, chunk)
    lower, upper = lower.flip(), upper.flip()
    check(name, Case(access.flip(), (*same, lower, upper)), rows, probe, chunk)


@names
@given(rows=batches, probe=rows, n=st.integers(1, 4), band=bands(), chunk=chunks)
@quick
def test_count_windows(name, rows, probe, n, band, chunk) -> None:
    last = Term(SEQ, Op.LAST, SEQ, 0, n)
    cases = [Case(Access(within=band), (band, last)), Case(Access(equal=(0, 0)), (Term(0, Op.EQ, 0), last))]
    check_served(name, cases, rows, probe, chunk)


@without_equality
@given(rows=batches, probe=rows, chunk=chunks)
@quick
def test_no_way_in(name, rows, probe, chunk) -> None:
    check(name, Case(Access(), (Term(0, Op.NE, 0),)), rows, probe, chunk)
    check(name, Case(Access(), ()), rows, probe, chunk)


@names
@given(
    batches=st.lists(st.tuples(rows, st.integers(0, 9)), max_size=8), probe=rows,
    ratio=st.sampled_from([0.25, 1.0, 4.0]), fanout=st.integers(2, 4), small=st.sampled_from([1, 4, 16]),
)  # fmt: skip
@quick
def test_history_never_shows(name, batches, probe, ratio, fanout, small) -> None:
    """Inserts, merges and expiry in any mixture: rows that have not expired are found, once; expired ones may be."""
    case = Case(Access((0, 0), Term(1, Op.LE, 1)), (Term(0, Op.EQ, 0), Term(1, Op.LE, 1)))
    kind = index_named(name)
    merging = replace(kind.default_merging, ratio=ratio, fanout=fanout, small=small)
    index = kind(Layout.of(case.access), SEQ, merging)
    stored: dict[int, list[int]] = {}
    before = WORD_MIN
    for new, bound in batches:
        before = max(before, bound)
        index.expire(bound)
        index.validate()
        index.insert(block_of([[*r[:2], r[2] + bound, 0] for r in new], len(stored)))
        stored.update(enumerate(([*r[:2], r[2] + bound, 0] for r in new), len(stored)))
        index.validate()
    found = pairs_of(index, block_of(probe), case, 7)
    wanted = expected(probe, stored, case)
    living = {pair: n for pair, n in wanted.items() if stored[pair[1]][SEQ] >= before}
    assert all(found[pair] == n for pair, n in living.items())
    assert not found - wanted
    copy = kind(Layout.of(case.access), SEQ, merging)
    copy.restore(index.snapshot(), before)
    copy.validate()
    assert pairs_of(copy, block_of(probe), case, 7) == found
    extra = block_of([[1, 1, 20, 0]] * 3, 1000)
    index.insert(extra)
    copy.insert(extra)
    assert [len(r) for r in index.snapshot()] == [len(r) for r in copy.snapshot()]


@names
def test_large_runs_agree_with_numpy(name: str) -> None:
    random = np.random.default_rng(5)
    equal = Term(0, Op.EQ, 0)
    band = Term(1, Op.BAND, 1, -40, 25)
    access = Access((0, 0) if name == "hash" else None, band)
    terms = (equal, band, Term(2, Op.NE, 2))
    index = make_index(name, access, None)
    words = random.integers(0, [[5], [4000], [9], [9]], (COLUMNS, 6000))
    for part in np.array_split(np.arange(6000), 7):
        index.insert(Block(words[:, part], np.zeros(len(part), np.uint32), pa.table({"id": part})))
    p = random.integers(0, [[5], [4000], [9], [9]], (COLUMNS, 500))
    probe = Block(p, np.zeros(500, np.uint32), pa.table({"id": np.arange(500)}))
    apart = p[1][:, None] - words[1]
    wanted = (p[0][:, None] == words[0]) & (apart >= -40) & (apart <= 25) & (p[2][:, None] != words[2])
    found = pairs_of(index, probe, Case(access, terms), 100)
    assert found == Counter(zip(*(side.tolist() for side in np.nonzero(wanted)), strict=True))


def test_one_row_with_many_partners_spans_chunks() -> None:
    index = make_index("runs", Access(equal=(0, 0)), None)
    index.insert(block_of([[7, 0, 0, 0]] * 1000))
    sizes = [len(m) for m in index.probe(Probe(block_of([[7, 0, 0, 0]]), Access(equal=(0, 0)), ()), 300)]
    assert sizes == [300, 300, 300, 100]


def test_a_count_window_expires_whole_runs() -> None:
    index = Runs(Layout(key=0), SEQ)
    for first in range(0, 100_000, 5_000):
        index.expire(first - 20_000)
        index.insert(block_of([[i * 7919 % 1000, 0, i, 0] for i in range(first, first + 5_000)]))
        assert len(index) <= 45_000
        assert len(index.snapshot()) <= 9


def test_unknown_names_and_unfit_indexes_say_so() -> None:
    with pytest.raises(UnknownName, match="did you mean 'runs'"):
        index_named("run")
    with pytest.raises(SpecError, match="equality"):
        make_index("hash", Access(), None)
