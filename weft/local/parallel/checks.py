"""What a parallel join asks of its condition: whether it can serve it, and whether its terms hold on pairs found.

A self join reads each pair once, so its condition must say the same of (a, b) and of (b, a). What the trees and the words decide
is compared as terms; what is checked on the pairs, such as the equality of two strings whose words are hashes, as text in one
spelling: operands of what commutes in one order, `>` turned to `<`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
from sqlglot import exp

from weft.errors import SpecError
from weft.index import span_of
from weft.kernels import narrow
from weft.kernels.emit import Checks, passing
from weft.spec import JoinSpec, Op, Term
from weft.spec.parse import conjuncts, parse
from weft.spec.window import Last, Within
from weft.types import WORD_MAX, WORD_MIN, Bools, Side, Words

__all__ = ["check_served", "of_window", "reads_alike", "term_holds", "text_reads_alike"]

_COMMUTE = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.And, exp.Or, exp.Add, exp.Mul)
_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}


def reads_alike(spec: JoinSpec) -> bool:
    """Tell whether a self join's condition says the same of (a, b) and of (b, a).

    `a.x` and `b.x` are two keys, and so two columns, that hold the same words.
    """
    names = [re.sub(r"\b[ab]\.", "", key.text) for key in spec.left.keys]
    names += [f"word {number}" for number in range(len(names), spec.left.columns + 1)]

    def said(terms: Iterable[Term]) -> Counter[tuple[str, Op, str, float, float]]:
        return Counter((names[term.left], term.op, names[term.right], term.lo, term.hi) for term in terms)

    alike = said(spec.terms) == said(term.flip() for term in spec.terms)
    return alike and text_reads_alike(spec.condition.residual)


def text_reads_alike(condition: str) -> bool:
    """Tell the same of text; no text says nothing, which is alike. It may say no where only arithmetic shows a yes.

    >>> text_reads_alike("a.s = b.s AND abs(a.x - b.x) < 2"), text_reads_alike("a.s < b.s")
    (True, False)
    """
    if not condition:
        return True
    tree = parse(condition, ("a", "b"))
    swapped = tree.copy()
    for column in list(swapped.find_all(exp.Column)):
        column.set("table", exp.to_identifier("b" if column.table == "a" else "a"))
    one, two = (sorted(_spelled(part) for part in conjuncts(side)) for side in (tree, swapped))
    return one == two


def _spelled(node: object) -> str:
    """Write an expression so that all spellings of it that are known to mean the same give one text."""
    if isinstance(node, list):
        return f"[{', '.join(map(_spelled, node))}]"
    if not isinstance(node, exp.Expr):
        return repr(node)
    node = node.unnest()
    name, inner = type(node).__name__, node.this.unnest() if isinstance(node, exp.Abs) else None
    if isinstance(node, exp.Column):
        return f"{node.table}.{node.name}"
    if isinstance(inner, exp.Sub):
        return f"Distance({', '.join(sorted(map(_spelled, (inner.left, inner.right))))})"
    if isinstance(node, _COMMUTE):
        return f"{name}({', '.join(sorted(map(_spelled, (node.left, node.right))))})"
    if isinstance(node, (exp.GT, exp.GTE)):
        return f"{_TURNED[type(node)].__name__}({_spelled(node.right)}, {_spelled(node.left)})"
    if isinstance(node, exp.Binary):
        return f"{name}({_spelled(node.left)}, {_spelled(node.right)})"
    return f"{name}({', '.join(f'{key}={_spelled(value)}' for key, value in node.args.items() if value is not None)})"


def term_holds(term: Term, left: Words, right: Words) -> Bools:
    """Decide one term on columns of pairs, by the kernel that the indexes use."""
    n = left.shape[1]
    span = span_of(term)
    if span is not None:
        lo, hi, alive = np.full(n, WORD_MIN), np.full(n, WORD_MAX), np.ones(n, np.bool_)
        narrow(left[term.left], span.least, True, lo, alive)
        narrow(left[term.left], span.most, False, hi, alive)
        return alive & (right[term.right] >= lo) & (right[term.right] <= hi)
    pairs = np.arange(n)
    odd = np.array([[term.op, term.left, term.right]], np.int64)
    none = np.empty((0, 0), np.int64)
    checks = Checks(np.empty(0, np.int64), none, none, odd, np.array([float(term.lo)]), np.array([float(term.hi)]))
    kept, partner = np.empty(n, np.int64), np.empty(n, np.int64)
    count = passing(pairs, pairs, 0, left, right, -1, 0, checks, kept, partner)
    keep = np.zeros(n, np.bool_)
    keep[kept[:count]] = True
    return keep


def of_window(spec: JoinSpec, term: Term, side: Side) -> bool:
    """Tell whether a term is the window's own, which the protocol decides."""
    return term.op is Op.LAST or (spec.side(side).time is not None and term.left == spec.side(side).time)


def check_served(spec: JoinSpec) -> None:
    """Refuse what the protocol of the paper cannot do."""
    window = spec.window
    if not isinstance(window, (Last, Within)):
        raise SpecError.of(
            f"The window is {window}.",
            "The parallel join slides: over a count or over time.",
            "use last(n) or within(...).",
        )
    if spec.self_join and not reads_alike(spec):
        raise SpecError.of(
            f"The condition is {spec.condition.text}.",
            "A parallel self join tries each pair once, so the condition must be symmetric.",
            "use weft.local.self_join, which tries both.",
        )
