"""`weft.local.parallel.ParallelJoin`: window joins with several threads over shared PIM-Trees (section 4 of the paper).

It takes the same tables as `weft.local.Join` and returns the same pairs, but in arrival order: all pairs of a tuple when
its turn comes (002-23). The tuples of one feed arrive in the order of the window's column, right before left on ties;
without a column, all right tuples come first. Each tuple probes the tuples that came before it.

A tree uses one comparison, the equality if there is one; the rest of the condition is checked on the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from weft.errors import SpecError
from weft.index import Layout, Probe, ProbePlan
from weft.local.analyze import analyze
from weft.local.arrow import Batches, Tabular, as_schema, fed_table, joined_batches
from weft.local.checks import check_text, check_window
from weft.local.expr import Projection
from weft.local.parallel.request import Settings, check_served, check_settings, explain_parallel, of_window, term_holds
from weft.local.parallel.rows import FedRows, KeptRows
from weft.local.parallel.word_join import FedTuples, Runner, Threads, WordJoin, check_threads
from weft.local.runtime import TableSource
from weft.planner import Explanation
from weft.spec import JoinSpec, Window, build_spec
from weft.spec.terms import Op
from weft.spec.window import Last, Within
from weft.types import SIDES, WORD_MAX, WORD_MIN, Block, Bools, Rows, Side

__all__ = ["ParallelJoin"]


class ParallelJoin:
    """A join of two streams, or of one stream with itself, with `threads` threads.

    Parameters
    ----------
    left, right
        Schemas. Without `right` it is a self join: its aliases are `a`, the later tuple of a pair, and `b`, and its
        condition must be symmetric.
    on
        The condition, as in `weft.join`, in SQL.
    window
        `last(n)`, or `within(...)` over timestamps that never decrease.
    threads
        The initial number of threads; `resize` changes it at any time.
    settings
        A `weft.local.parallel.Settings`: merge ratio, insertion depth, task size and more.
    runner
        Runs the workers instead of threads; for tests.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import weft
    >>> x = pa.schema({"x": pa.int64()})
    >>> join = ParallelJoin(x, x, on="abs(l.x - r.x) <= 1", window=weft.last(100), threads=2, select=["l.x AS lx", "r.x AS rx"])
    >>> for found in join.feed(pa.table({"x": [1, 5]}), pa.table({"x": [4, 9, 2]})):
    ...     found.to_pylist()
    [{'lx': 1, 'rx': 2}, {'lx': 5, 'rx': 4}]
    >>> join.close()
    """

    def __init__(
        self, left: pa.Schema | Tabular, right: pa.Schema | Tabular | None = None, *, on: str, window: Window, threads: int = 2,
        select: Sequence[str] | None = None, suffix: str = "_right", settings: Settings | None = None,
        runner: Runner | None = None,
    ) -> None:  # fmt: skip
        alone = right is None
        left = as_schema("left", left)
        right = left if right is None else as_schema("right", right)
        aliases = ("a", "b") if alone else ("l", "r")
        check_text("on", on, "a.x = b.x" if alone else "l.x = r.x")
        check_text("suffix", suffix, "_right")
        check_window(window, left, right)
        settings = check_settings(settings)
        check_threads(threads, settings.workers)
        self.schemas: dict[Side, pa.Schema] = {"left": left, "right": right}
        self.analyzed = analyze(on, left, right, aliases, unordered=alone)
        self.projection = Projection.of(select, suffix, left, right, aliases)
        self.schema = self.projection.schema
        self.spec: JoinSpec = build_spec(self.analyzed.condition, window, self_join=alone, unordered=alone)
        check_served(self.spec)
        self.sources = {side: TableSource(self.spec, self.analyzed, side, self.schemas[side]) for side in SIDES}
        self.sides: tuple[Side, ...] = ("left",) if alone else SIDES
        self.runner = runner or Threads(threads, settings.workers)
        size = window.n if isinstance(window, Last) else None
        self.words = WordJoin(len(self.sides), size, self.runner, settings, threads)
        self._kept: dict[Side, KeptRows] = {side: KeptRows() for side in self.sides}
        self._newest = WORD_MIN
        self._number = 0
        self._closed = self._under_way = False

    def feed(self, left: Tabular, right: Tabular | None = None) -> Iterator[pa.Table]:
        """Return an iterator over the pairs of these tuples, in arrival order. The tuples are consumed when iteration starts.

        Drain it before the next feed. A self join takes input on the left only. With a time window, a tuple whose timestamp is
        NULL never matches and never advances the window.
        """
        self._check_ready()
        if len(self.sides) == 1 and right is not None:
            raise SpecError.of("A self join was fed on the right.", "It reads one stream.", "feed it on the left only.")
        given: dict[Side, Tabular | None] = {"left": left, "right": right}
        return self._fed({side: self._table(side, given[side]) for side in self.sides})

    def _table(self, side: Side, given: object) -> pa.Table:
        """Return what is fed on a side; of a stream that has ended, nothing is."""
        schema = self.schemas[side]
        ended = (given is None and side == "right") or (isinstance(given, tuple) and not given)
        return schema.empty_table() if ended else fed_table(side, given, schema)

    def stream(self, left: Batches, right: Batches | None = None) -> pa.RecordBatchReader:
        """Join streams of record batches, of which each side's next one is a feed; read the result as a stream."""
        streams = zip(SIDES, (left,) if len(self.sides) == 1 and right is None else (left, right), strict=False)
        return joined_batches(self.feed, self.schema, streams)

    def _fed(self, tables: dict[Side, pa.Table]) -> Iterator[pa.Table]:
        self._check_ready()
        parts = {side: FedRows.of(self.spec, self.sources[side], tables[side]) for side in self.sides}
        order, turn = self._arrival(parts)
        tuples, place = self._in_order(parts, order, turn)
        first = self._number
        self._under_way = True  # and so it stays if an error, or the caller, ends it early
        self._number += len(order)
        for side in self.sides:
            self._kept[side].add(parts[side])
        for probe, stored in self.words.feed(tuples):
            self._check_open()
            yield from self._pairs(probe - first, stored, turn, place)
        self._check_open()  # closed on the way, the threads have left without the rest
        for number, side in enumerate(self.sides):
            self._kept[side].drop(self.words.oldest(number))
        self._under_way = False

    def _check_open(self) -> None:
        if self._closed:
            raise SpecError.of("The join is closed.", "Its threads have ended.", "make a new ParallelJoin.")

    def _check_ready(self) -> None:
        """Refuse a feed that the join is not ready for."""
        self._check_open()
        if self._under_way:
            raise SpecError.of(
                "The previous feed has not ended.",
                "Tuples join in arrival order: all pairs of one feed come out before the next goes in.",
                "drain it, as list(join.feed(...)) does; after an early exit or an error, make a new ParallelJoin.",
            )

    def resize(self, threads: int) -> None:
        """Change the number of threads, even while a feed is being drained."""
        self._check_open()
        if not isinstance(self.runner, Threads):
            raise SpecError.of(
                f"resize({threads!r}) on a join with its own runner.",
                "It has no threads.",
                "leave runner= out.",
            )
        self.runner.resize(threads)

    def explain(self) -> Explanation:
        """Show how it joins, and the cost that the model predicts."""
        return explain_parallel(self.spec, self.words)

    def memory(self) -> dict[str, int]:
        """Return the bytes of every component (002-16)."""
        return self.words.memory()

    def close(self) -> None:
        """End the threads; the join accepts no more input."""
        self._closed = True
        if isinstance(self.runner, Threads):
            self.runner.close()

    # In

    def _arrival(self, parts: dict[Side, FedRows]) -> tuple[Rows, Rows]:
        """Return the order of arrival over (right rows, left rows), and per arrival which side it is of."""
        sides = list(reversed(self.sides))  # a tie goes to the right side
        order = np.concatenate([parts[side].order for side in sides])
        which = np.concatenate([np.full(len(parts[side].order), self.sides.index(side)) for side in sides])
        arrival = np.argsort(order, kind="stable")
        if isinstance(self.spec.window, Within) and len(arrival):
            if int(order[arrival[0]]) < self._newest:
                raise SpecError.of(
                    "A timestamp is older than those of an earlier feed.",
                    "The parallel join takes tuples in the order of their timestamps.",
                    "use weft.local.Join, which takes them in any order.",
                )
            self._newest = int(order[arrival[-1]])
        return arrival, which[arrival]

    def _in_order(self, parts: dict[Side, FedRows], order: Rows, turn: Rows) -> tuple[FedTuples, Rows]:
        """Put the words of both sides into order of arrival; return them, and the position of each in its own window."""
        fed = [self._ranges(side, parts[side]) for side in reversed(self.sides)]
        tuples = FedTuples(*(np.concatenate(columns)[order] for columns in zip(*fed, strict=True)))
        place = np.empty(len(order), np.int64)
        for number, side in enumerate(self.sides):
            mine = np.flatnonzero(turn == number)
            place[mine] = self._kept[side].end + np.arange(len(mine))
        return tuples, place

    def _ranges(self, side: Side, part: FedRows) -> FedTuples:
        """Return per row: its indexed word, which words and which timestamps its partners have.

        Rows come in order of arrival: `FedRows` has sorted them.
        """
        n, window = len(part.alive), self.spec.window
        which = np.full(n, self.sides.index(side))
        mine, others = self._indexed(side)
        terms = tuple(term for term in self.spec.terms_of(side) if not of_window(self.spec, term, side))
        block = Block(part.words, np.zeros(n, np.uint32), part.payload)
        lo, hi = np.full(n, WORD_MAX), np.full(n, WORD_MIN)
        if n:
            found = ProbePlan(Probe(block, self.spec.access_of(side), terms), others).ranges(0)
            if others.equal is not None:
                lo[found.rows] = hi[found.rows] = found.equal
            elif others.key is not None:
                lo[found.rows], hi[found.rows] = found.lo, found.hi
            else:
                lo[:], hi[:] = 0, 0
        lo[~part.alive], hi[~part.alive] = WORD_MAX, WORD_MIN
        key = part.words[mine] if mine is not None else np.zeros(n, np.int64)
        if not isinstance(window, Within):
            return FedTuples(which, key, lo, hi, np.zeros(n, np.int64), np.zeros(n, np.int64))
        back = window.before if side == "left" else window.after
        since = np.where(part.order < WORD_MIN + back, WORD_MIN, part.order - back)
        return FedTuples(which, key, lo, hi, part.order, since)

    def _indexed(self, side: Side) -> tuple[int | None, Layout]:
        """Return the column of `side` that is indexed, and the layout of the other side's trees."""
        access = self.spec.access_of(side)
        if access.equal is not None:
            return access.equal[0], Layout(equal=access.equal[1])
        for term in self.spec.terms_of(side):
            if term.op is not Op.NE and not of_window(self.spec, term, side):
                return term.left, Layout(key=term.right)
        return None, Layout()

    # Out

    def _pairs(self, arrival: Rows, stored: Rows, turn: Rows, place: Rows) -> Iterator[pa.Table]:
        """Check what the trees have not, and put the tuples of a pair together, left and right."""
        own = turn[arrival]
        for number, probing in enumerate(self.sides):  # each side's pairs are checked at once; order is restored below
            mine = own == number
            if not mine.any():
                continue
            other = self.sides[number if len(self.sides) == 1 else 1 - number]
            keep = self._holds(probing, self._kept[probing], self._kept[other], place[arrival[mine]], stored[mine])
            mine[mine] = keep
            own[(own == number) & ~mine] = -1
        good = own >= 0
        arrival, stored, own = arrival[good], stored[good], own[good]
        if not len(arrival):
            return
        places: dict[Side, Rows] = {}
        for number, side in enumerate(SIDES):
            later = own == (0 if len(self.sides) == 1 else number)
            if len(self.sides) == 1 and number == 1:
                later = ~later  # in a self join `a` is the later tuple, `b` the earlier
            places[side] = np.where(later, place[arrival], stored)
        tables = {}
        for side in SIDES:
            kept = self._kept[side if side in self._kept else "left"]
            tables[side] = kept.rows(places[side]).rename_columns(self.schemas[side].names)
        left, right = tables["left"], tables["right"]
        residual, (one, two) = self.analyzed.residual, self.analyzed.aliases
        if residual is not None:
            keep = residual.evaluate({one: left, two: right}).fill_null(False)
            left, right = left.filter(keep), right.filter(keep)
        if left.num_rows:
            yield self.projection.apply(left, right)

    def _holds(self, side: Side, probes: KeptRows, others: KeptRows, probe: Rows, stored: Rows) -> Bools:
        """Check every term but the window's on pairs of positions; rows with NULL in a key have no partner."""
        keep = others.alive(stored)
        terms = [term for term in self.spec.terms_of(side) if not of_window(self.spec, term, side)]
        if len(terms) > 1 or (terms and terms[0].op in (Op.FBAND, Op.NE)) or self.spec.left.mix is not None:
            left, right = probes.words(probe), others.words(stored)
            for term in terms:
                keep &= term_holds(term, left, right)
        return keep
