"""What a join offers to route by: the columns of an equality, of any comparison, of an order; and what a scheme needs of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from weft.spec import JoinSpec, Op, Term, Within

__all__ = ["Need", "compared_columns", "equality_columns", "ordering", "time_columns"]

_INEQUALITIES, _BANDS = (Op.LT, Op.LE, Op.GT, Op.GE), (Op.BAND, Op.FBAND)


def equality_columns(spec: JoinSpec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the word columns of both sides that make the key of a join with an equality.

    The number of a tumbling window is left out where there is another key: with it, every hot key would be a new one in
    every window, and what was learned of it would be lost.
    """
    assert spec.access.equal is not None, "a scheme that calls this needs an equality"
    if spec.left.bucket is None or len(spec.left.equal) == 1:
        return (spec.access.equal[0],), (spec.access.equal[1],)
    pairs = zip(spec.left.equal, spec.right.equal, strict=True)
    kept = [pair for pair in pairs if pair[0] != spec.left.bucket]
    return tuple(left for left, _ in kept), tuple(right for _, right in kept)


def compared_columns(spec: JoinSpec) -> tuple[int, int]:
    """Return the key columns of the first inequality, else of the first other comparison between keys."""
    found = _compared(spec)
    assert found is not None, "a scheme that calls this needs a comparison"
    return found


def _compared(spec: JoinSpec) -> tuple[int, int] | None:
    on_keys = _on_keys(spec)
    for ops in (_INEQUALITIES, _BANDS, (Op.EQ,), (Op.NE,)):
        for term in on_keys:
            if term.op in ops:
                return term.left, term.right
    return None


def time_columns(spec: JoinSpec) -> tuple[int, int]:
    """Return the word columns of the timestamps."""
    assert spec.left.time is not None and spec.right.time is not None, "a scheme that calls this needs event time"
    return spec.left.time, spec.right.time


def ordering(spec: JoinSpec) -> Term | None:
    """Return the comparison that orders the tuple matrix: an equality, else a band, else an inequality on keys.

    None where only `!=` or no comparison is left: the result cells of the others are monotone (001-18). Time and the number
    of a tumbling window are passed over: new tuples would all fall beyond the last cut. Row numbers of count windows are not
    known yet when a tuple is routed.
    """
    left, right = spec.left, spec.right
    if left.equal and right.equal and left.equal[0] != left.bucket:
        if left.bucket is None and spec.access.equal is not None:
            return Term(
                spec.access.equal[0], Op.EQ, spec.access.equal[1]
            )  # of several equalities: finer than the first
        return Term(left.equal[0], Op.EQ, right.equal[0])
    on_keys = _on_keys(spec)
    return next((term for ops in (_BANDS, _INEQUALITIES) for term in on_keys if term.op in ops), None)


def _on_keys(spec: JoinSpec) -> list[Term]:
    return [term for term in spec.terms if term.left < len(spec.left.keys) and term.right < len(spec.right.keys)]


class Need(Enum):
    """What a join must have for a scheme to serve it: in words, how to tell, and what to use where it has not."""

    def __init__(self, what: str, met: Callable[[JoinSpec], bool], instead: str) -> None:
        self.what, self.met, self.instead = what, met, instead

    EQUALITY = (
        "an equality between the sides",
        lambda spec: spec.access.equal is not None,
        "use scheme='auto', 'matrix' (any condition) or 'range' (bands and inequalities).",
    )
    RANGE = (
        "a band or an inequality between the sides",
        lambda spec: spec.access.within is not None,
        "use scheme='hash' for equalities, 'matrix' for anything.",
    )
    ORDER = (
        "a band, an inequality or an equality between keys",
        lambda spec: ordering(spec) is not None,
        "use scheme='matrix', which supports any condition.",
    )
    COMPARISON = (
        "a comparison between the sides",
        lambda spec: _compared(spec) is not None,
        "use scheme='matrix', which supports any condition.",
    )
    WINDOW_IN_TIME = (
        "a time window",
        lambda spec: isinstance(spec.window, Within),
        "use scheme='matrix', or window=weft.within('10 seconds', on='ts').",
    )
    EVENT_TIME = (
        "event time, which its checkpoints follow",
        lambda spec: spec.left.time is not None and spec.right.time is not None,
        "use a time window (within, tumbling), or the exact mode, which needs no checkpoint.",
    )
