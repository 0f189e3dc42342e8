"""What a parallel join is asked: its settings, and a condition, which it can serve or not; and what `explain` says about them.

Invalid settings are rejected by name.

A self join reads each pair once, so its condition must say the same of (a, b) and of (b, a). What the trees and the words decide
is compared as terms; what is checked on the pairs, such as the equality of two strings whose words are hashes, as text in one
spelling: operands of what commutes in one order, `>` turned to `<`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from weft.errors import SpecError
from weft.index import span_of
from weft.index.trees import Workload, predict_pim_tree
from weft.kernels import narrow
from weft.kernels.emit import Checks, passing
from weft.planner import MATCH_RATE, TYPICAL, Explanation, show_ratio
from weft.spec import JoinSpec, Op, Term
from weft.spec.options import check_count, check_number, check_switch
from weft.spec.parse import conjuncts, parse
from weft.spec.window import Last, Within
from weft.types import WORD_MAX, WORD_MIN, Bools, Side, Words

if TYPE_CHECKING:
    from weft.local.parallel.word_join import WordJoin

__all__ = [
    "Settings", "check_served", "check_settings", "explain_parallel", "of_window", "reads_alike", "term_holds",
    "text_reads_alike",
]  # fmt: skip

_MOST = 1 << 32
"""Beyond all memory, and still far from where the sizes of arrays overflow."""


@dataclass(frozen=True)
class Settings:
    """Settings of a parallel join; the defaults are the paper's best values for many threads (002-28)."""

    merge_ratio: float | None = None
    """m: T_I is merged into T_S when it holds this share of the window. By default, the cost model chooses it for the window
    and the initial number of threads: the paper's 1 is best only for many threads (002-27)."""
    depth: int = 2
    """D_I: the depth of T_S whose nodes have sub-indexes; clamped to the height."""
    task: int = 8
    """Tuples per acquisition."""
    blocking: bool = False
    """Whether a merge stops the other threads, instead of letting them continue without index updates."""
    batch: int = 1 << 16
    """Tuples in the queue at a time."""
    output: int = 1 << 18
    """Results held ready at a time."""
    leaf: int = 32
    fan: int = 32
    workers: int = 16
    """The maximum number of threads."""

    def __post_init__(self) -> None:
        if self.merge_ratio is not None:
            hint = "leave it out for the cheapest by the cost model, or use 1."
            check_number("merge_ratio", self.merge_ratio, "a share of the window", hint, above=True, most=1)
        for name, what, least, most in (
            ("depth", "levels between the root of T_S and the nodes that have sub-indexes", 0, 64),
            ("task", "tuples that a thread takes at a time", 1, _MOST),
            ("batch", "tuples in the queue at a time", 1, _MOST),
            ("output", "results that are ready at a time", 1, _MOST),
            ("leaf", "entries per leaf", 2, 1 << 16),
            ("fan", "children per inner node", 4, 1 << 16),
            ("workers", "threads allowed", 1, 62),  # one bit of a word each
        ):
            check_count(name, getattr(self, name), what, "leave it out for the default.", least=least, most=most)
        check_switch("blocking", self.blocking)


def check_settings(settings: object) -> Settings:
    """Return the settings, or the defaults for None; refuse what is none."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise SpecError.of(
            f"settings={settings!r} is not valid.",
            "It must be a weft.local.parallel.Settings.",
            "write settings=weft.local.parallel.Settings(task=4).",
        )
    return settings


def explain_parallel(spec: JoinSpec, join: WordJoin) -> Explanation:
    """Explain merge ratio, insertion depth and tasks, and predict the cost of a tuple by the paper's model (002-07)."""
    settings = join.settings
    rows = join.window or TYPICAL
    ratio = join.ratio_for(rows)
    chosen = "as requested" if settings.merge_ratio is not None else "the cheapest by the cost model"
    cost = predict_pim_tree(Workload(rows, MATCH_RATE, join.sides), ratio, settings.depth)
    share = "the size of the window" if ratio == 1 else f"{show_ratio(ratio)} of the window"
    window = str(spec.window)
    if (
        spec.self_join
    ):  # the window's text speaks of l and r, and is part of what names a state: only here it is reworded
        window = re.sub(r"\bl\.", "a.", re.sub(r"\br\.", "b.", window)).replace(" of the other side", "")
    guess = "" if join.window else " (a guess: the window has no row count)"
    predicted = (
        f"{cost.total:,.0f} ns of work per tuple (searching {cost.search:.0f}, scanning {cost.scan:.0f}, merging "
        f"{cost.delete:.0f}, inserting {cost.insert:.0f}), without contention between threads, with {rows:,} rows per "
        f"window{guess} and {MATCH_RATE:g} matches per tuple"
    )
    return Explanation(
        (
            ("join", f"{spec.condition.text}{' (self join)' if spec.self_join else ''}"),
            ("window", window),
            ("index", f"pim-tree, shared by {join.threads} thread{'s' if join.threads != 1 else ''}"),
            (
                "merge",
                f"at {share}, {chosen}; {'all threads wait' if settings.blocking else 'other threads continue'}",
            ),
            ("sub-indexes", f"one per node of T_S at depth {settings.depth}, or at its last level of inner nodes"),
            ("task", f"{settings.task} tuples"),
            ("predicted", predicted),
        )
    )


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
