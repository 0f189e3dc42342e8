"""The join as frozen data: which words each side has, which terms relate them, how to get in.

Word columns of a side, in order: one per distinct key; `time`, the timestamp; `bucket`, the number of its tumbling
window; `mix`, one hash of all equality words when there are several; `rid` and `nulls` for self joins; `seq` and `opp`
for count windows, filled in by the task that joins. A self join gives both sides the same columns, so that a tuple can
be read in either role. An as-of join is a spec like any other, with what is nearest beside it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace

from weft.errors import SpecError
from weft.spec.asof import Asof, AsofAsked, AsofOrder, GroupColumn
from weft.spec.kinds import INNER, Kind
from weft.spec.terms import Access, Compare, Condition, Key, Op, Term
from weft.spec.window import Delays, Last, Tumbling, TumblingRows, Unit, Window, Within, unbounded, unit_shown, written
from weft.types import SIDES, Side

__all__ = [
    "JoinSpec", "SideSpec", "asof_spec", "asof_table_spec", "build_spec", "check_asof_ends", "read_self_join",
    "shown_tolerance",
]  # fmt: skip

_LOOSE = {Op.LT: Op.LE, Op.GT: Op.GE}
_RANGES = (Op.BAND, Op.FBAND)
_ORDERED = (Op.LT, Op.LE, Op.GT, Op.GE)


@dataclass(frozen=True, slots=True)
class SideSpec:
    """One side: its keys become word columns 0, 1, ...; the others follow where they exist.

    `equal` lists the columns that must be equal to the other side's; `rid` tells the tuples of one batch apart and is
    there for self joins over time (count windows have `seq`). `nulls` tells which keys of a tuple are NULL, one bit each:
    a tuple of a self join that cannot be read in one role may be read in the other.
    """

    keys: tuple[Key, ...]
    equal: tuple[int, ...] = ()
    time: int | None = None
    bucket: int | None = None
    mix: int | None = None
    seq: int | None = None
    rid: int | None = None
    nulls: int | None = None
    schema: str = ""

    @property
    def columns(self) -> int:
        """Return the number of word columns (`opp` follows `seq`)."""
        single = (self.time, self.bucket, self.mix, self.seq, self.seq, self.rid, self.nulls)
        return len(self.keys) + sum(column is not None for column in single)


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """WHAT joins. Two equal specs give the same result on the same input."""

    condition: Condition
    window: Window
    left: SideSpec
    right: SideSpec
    terms: tuple[Term, ...]
    access: Access
    self_join: bool = False
    unordered: bool = False
    kind: Kind = INNER
    version: int = field(default=1)
    asof: Asof | None = None
    """Of an as-of join, which of its right rows a left row has."""

    def side(self, side: Side) -> SideSpec:
        """Return the part of one side."""
        return self.left if side == "left" else self.right

    def terms_of(self, side: Side) -> tuple[Term, ...]:
        """Return the terms as read by a probe of `side`."""
        return self.terms if side == "left" else tuple(term.flip() for term in self.terms)

    def access_of(self, side: Side) -> Access:
        """Return the access as read by a probe of `side`."""
        return self.access if side == "left" else self.access.flip()

    def used(self, side: Side) -> frozenset[int]:
        """Return the key columns that a tuple in the role of `side` is compared by: none of them may be NULL."""
        columns = {term.left if side == "left" else term.right for term in self.terms}
        return frozenset(column for column in columns if column < len(self.side(side).keys))

    def expiry(self, side: Side) -> int | None:
        """Return the word column that decides when a stored row of `side` can go."""
        part = self.side(side)
        if isinstance(self.window, (Within, Tumbling)):
            return part.time if self.window.delays.known is not None else None
        return part.seq

    @property
    def counted(self) -> bool:
        """Tell whether rows are numbered: count windows see every row, even one whose keys are NULL."""
        return isinstance(self.window, (Last, TumblingRows))

    def identity(self) -> dict[str, str]:
        """Return what the state depends on, by name, for the fingerprint and for saying what changed."""
        said = {
            "condition": self.condition.text,
            "window": str(_effective(self.window)),
            "left schema": self.left.schema,
            "right schema": self.right.schema,
            "self join": f"{self.self_join}, unordered {self.unordered}",
            "words": json.dumps([asdict(self.left), asdict(self.right)], sort_keys=True),
        }
        if self.asof is not None:
            said["as of"] = self.asof.told()
        return said if self.kind == INNER else {**said, "how": self.kind.name}  # older states say nothing of it

    def fingerprint(self) -> str:
        """Return a short name of everything the state depends on."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:16]


def _effective(window: Window) -> Window:
    """Return the window as the state depends on it: a delay of one side alone has no effect."""
    if isinstance(window, (Within, Tumbling)) and window.delays.known is None:
        return replace(window, delays=Delays())
    return window


def read_self_join(said: str) -> tuple[bool, bool]:
    """Read what `identity` says of a self join: whether it is one, and whether its pairs are unordered.

    The text is part of the fingerprint of states that exist, so it stays as it is.

    >>> read_self_join("True, unordered False")
    (True, False)
    """
    one, _, two = said.partition(", unordered ")
    return one == "True", two == "True"


def build_spec(
    condition: Condition, window: Window, *, left_schema: str = "", right_schema: str = "",
    self_join: bool = False, unordered: bool = False, kind: Kind = INNER,
) -> JoinSpec:  # fmt: skip
    """Number the words, make the terms, choose the access path."""
    keys: dict[Side, list[Key]] = {"left": [], "right": []}
    if self_join:  # one list for both roles
        keys["right"] = keys["left"]
    terms = [_term(compare, keys) for compare in condition.compares]
    left, right = (
        _side(side, keys[side], terms, window, schema, self_join, unordered)
        for side, schema in zip(SIDES, (left_schema, right_schema), strict=True)
    )
    terms += _window_terms(window, left, right)
    access = _access(left, right, tuple(terms))
    return JoinSpec(condition, window, left, right, tuple(terms), access, self_join, unordered, kind)


def _side(
    side: Side, keys: list[Key], terms: list[Term], window: Window, schema: str, self_join: bool, unordered: bool
) -> SideSpec:  # fmt: skip
    equal = [term.left if side == "left" else term.right for term in terms if term.op is Op.EQ]
    timed, counted = isinstance(window, (Within, Tumbling)), isinstance(window, (Last, TumblingRows))
    numbers = iter(range(len(keys), len(keys) + 7))
    time = next(numbers) if timed else None
    bucket = next(numbers) if isinstance(window, Tumbling) else None
    if bucket is not None:
        equal.append(bucket)
    mix = next(numbers) if len(equal) > 1 else None
    rid = next(numbers) if self_join and not counted else None
    nulls = next(numbers) if unordered and {t.left for t in terms} != {t.right for t in terms} else None
    seq = next(numbers) if counted else None
    return SideSpec(tuple(keys), tuple(equal), time, bucket, mix, seq, rid, nulls, schema)


def _window_terms(window: Window, left: SideSpec, right: SideSpec) -> list[Term]:
    columns = ("time", "bucket", "seq")
    ltime, lbucket, lseq = (getattr(left, name) for name in columns)
    rtime, rbucket, rseq = (getattr(right, name) for name in columns)
    if isinstance(window, Within):
        return [Term(ltime, Op.BAND, rtime, -window.after, window.before)]
    if isinstance(window, Tumbling):
        return [Term(lbucket, Op.EQ, rbucket)]
    if isinstance(window, Last):
        return [Term(lseq, Op.LAST, rseq, hi=window.n)]
    return [Term(lseq, Op.EQ, rseq)] if isinstance(window, TumblingRows) else []


def _term(compare: Compare, keys: dict[Side, list[Key]]) -> Term:
    def column(side: Side, key: Key) -> int:
        if key not in keys[side]:
            keys[side].append(key)
        return keys[side].index(key)

    op = _LOOSE.get(compare.op, compare.op) if compare.weak else compare.op
    return Term(column("left", compare.left), op, column("right", compare.right), compare.lo, compare.hi)


def _access(left: SideSpec, right: SideSpec, terms: tuple[Term, ...]) -> Access:
    """Choose what stored rows are sorted by: all equalities, then the narrowest-looking range.

    A band on a key is narrower than the window, an interval too; a single inequality keeps half of everything, so the
    time band comes before it.
    """
    equal = None
    if left.equal:
        equal = (left.equal[0], right.equal[0]) if left.mix is None or right.mix is None else (left.mix, right.mix)
    timed = [t for t in terms if t.op in _RANGES and t.left == left.time and t.right == right.time]
    bands = [t for t in terms if t.op in _RANGES and t not in timed]
    if bands:
        return Access(equal, bands[0])
    interval = _interval(terms)
    if interval is not None:
        return Access(equal, *interval)
    ordered = [t for t in terms if t.op in _ORDERED]
    return Access(equal, next(iter(timed + ordered), None))


def _interval(terms: tuple[Term, ...]) -> tuple[Term, Term] | None:
    """Find `x >= lo AND x <= hi` with the same `x`, on either side."""
    loose = [Term(t.left, _LOOSE.get(t.op, t.op), t.right) for t in terms if t.op in _ORDERED]
    for low in loose:
        for high in loose:
            x_is_left = low.left == high.left and low.right != high.right
            x_is_right = low.right == high.right and low.left != high.left
            if (low.op, high.op) == (Op.GE, Op.LE) and x_is_left:
                return low, high
            if (low.op, high.op) == (Op.LE, Op.GE) and x_is_right:
                return low, high
    return None


def asof_spec(
    condition: Condition, asked: AsofAsked, counts: AsofOrder, window: Window, *, left_schema: str, right_schema: str,
    payload: dict[int, tuple[int, int]], ties: int | None,
) -> JoinSpec:  # fmt: skip
    """Number the words of an as-of join whose `condition` is that of `asked`, comparison by comparison.

    `payload` has the payload columns of the equal columns whose words are not exact, by their number; without both delays
    the clock of the `window` never goes on.
    """
    timed = isinstance(window, Within) and window.delays.known is not None
    spec = build_spec(
        condition, window if timed else unbounded(), left_schema=left_schema, right_schema=right_schema, kind=asked.kind
    )
    equal, tolerance = len(asked.by), asked.distance(counts)
    by = tuple(
        GroupColumn(*payload[number], exact=False) if number in payload else GroupColumn(term.left, term.right)
        for number, term in enumerate(spec.terms[:equal])
    )
    order = spec.terms[equal].left, spec.terms[equal].right
    if spec.left.time is not None and spec.right.time is not None:  # in microseconds, as the clock
        order = spec.left.time, spec.right.time
        if counts == "day":
            counts, tolerance = "time", None if tolerance is None else tolerance * 86_400_000_000
    further = tuple(spec.terms[equal + 1 : len(condition.compares)])
    right = replace(spec.right, seq=spec.right.columns)
    asof = Asof(
        asked.direction, asked.strict, tolerance, order, counts, by, ties, right.columns - 2, further,
        asked.where or "",
    )  # fmt: skip
    return replace(spec, right=right, asof=asof)


def asof_table_spec(spec: JoinSpec) -> JoinSpec:
    """Return the spec of an as-of join whose right side is a table: its rows arrive in the order in which they are read."""
    assert spec.asof is not None
    return replace(spec, right=replace(spec.right, seq=None), asof=replace(spec.asof, arrival=-1))


def check_asof_ends(asked: AsofAsked, window: Window) -> None:
    """Refuse, on streams, left rows that might never leave, and right rows that would be kept for ever."""
    if not isinstance(window, Within) or window.delays.known is None:
        raise _endless(
            "delay",
            "An as-of join of streams needs to know how late rows can be.",
            "A left row leaves when no nearer right row can come; without a delay on both sides that is never.",
            "set delay='5 seconds', or a watermark on both inputs (withWatermark).",
        )
    if asked.tolerance is None and asked.direction != "backward":
        raise _endless(
            "tolerance",
            f"direction={asked.direction!r} on streams needs a tolerance.",
            "A left row after which its key is never seen again would wait for ever.",
            f"write tolerance={written(window.unit, 10_000_000 if window.unit == 'time' else 10)}.",
        )
    if asked.tolerance is None and asked.where:
        raise _endless(
            "tolerance",
            "where= on streams needs a tolerance.",
            "Any earlier right row may be the nearest that satisfies it, so all of them would be kept for ever.",
            f"write tolerance={written(window.unit, 60_000_000 if window.unit == 'time' else 60)}.",
        )


def _endless(argument: str, *parts: str) -> SpecError:
    error = SpecError.of(*parts)
    error.argument = argument
    return error


def shown_tolerance(asof: Asof) -> str:
    """Return the tolerance as people write it, "" without one."""
    if asof.tolerance is None:
        return ""
    if asof.floating:
        return f"{asof.tolerance:g}"
    unit: Unit = "number" if asof.counts == "whole" else "time"
    return unit_shown(unit)(int(asof.tolerance) * (86_400_000_000 if asof.counts == "day" else 1))
