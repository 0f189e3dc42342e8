"""Whether the condition of a self join says the same of (a, b) and of (b, a): then each pair need be read only once.

What the trees and the words decide is compared as terms; what is checked on the pairs, such as the equality of two strings
whose words are hashes, as text in one spelling: operands of what commutes in one order, `>` turned to `<`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from sqlglot import exp

from weft.spec import JoinSpec, Op, Term
from weft.spec.parse import conjuncts, parse

__all__ = ["reads_alike"]

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
