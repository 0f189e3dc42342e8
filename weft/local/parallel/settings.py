"""The settings of a parallel join, and what `explain` says about them. Invalid settings are rejected by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import SpecError
from weft.index.trees import Workload, predict_pim_tree
from weft.planner import MATCH_RATE, TYPICAL, Explanation, show_ratio
from weft.spec import JoinSpec
from weft.spec.options import check_count, check_number, check_switch

if TYPE_CHECKING:
    from weft.local.parallel.word_join import WordJoin

__all__ = ["Settings", "check_settings", "explain_parallel"]

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
