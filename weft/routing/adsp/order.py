"""Which comparison orders the tuple matrix: one whose result cells are monotone (001-18), on words known when routing."""

from __future__ import annotations

from weft.spec import JoinSpec, Op, Term

__all__ = ["ordering"]


def ordering(spec: JoinSpec) -> Term | None:
    """Return an equality, else a band, else an inequality on keys; None where only `!=` or no comparison is left.

    Time and the number of a tumbling window are passed over: new tuples would all fall beyond the last cut. Row numbers
    of count windows are not known yet when a tuple is routed.
    """
    left, right = spec.left, spec.right
    if left.equal and right.equal and left.equal[0] != left.bucket:
        if (
            left.bucket is None and spec.access.equal is not None
        ):  # one word for several equalities: finer than the first
            return Term(spec.access.equal[0], Op.EQ, spec.access.equal[1])
        return Term(left.equal[0], Op.EQ, right.equal[0])
    on_keys = [term for term in spec.terms if term.left < len(left.keys) and term.right < len(right.keys)]
    bands = [term for term in on_keys if term.op in (Op.BAND, Op.FBAND)]
    inequalities = [term for term in on_keys if term.op in (Op.LT, Op.LE, Op.GT, Op.GE)]
    return next(iter(bands + inequalities), None)
