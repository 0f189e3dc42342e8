"""How a parallel join works: the settings of `weft.local.ParallelJoin`, each refused by name where it cannot hold."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import SpecError
from weft.spec.options import check_count, check_number, check_switch

__all__ = ["Settings", "check_settings"]

_MOST = 1 << 32
"""Beyond all memory, and still far from where the sizes of arrays overflow."""


@dataclass(frozen=True)
class Settings:
    """How a parallel join works; the defaults are the paper's best for many threads (002-28)."""

    merge_ratio: float | None = None
    """m: T_I is merged into T_S when it holds this share of the window. Left open, the cost model chooses it for the window
    and the threads that there are at the beginning: the paper's 1 is best for many threads only (002-27)."""
    depth: int = 2
    """D_I: the depth of T_S whose nodes have sub-indexes; clamped to the height."""
    task: int = 8
    """Tuples per acquisition."""
    blocking: bool = False
    """Whether a merge stops the others instead of letting them go on without index updates."""
    batch: int = 1 << 16
    """Tuples that are in the queue at a time."""
    output: int = 1 << 18
    """Results that are ready at a time."""
    leaf: int = 32
    fan: int = 32
    workers: int = 16
    """Threads that there can be at most."""

    def __post_init__(self) -> None:
        if self.merge_ratio is not None:
            hint = "leave it out for the cheapest by the cost model, or use 1."
            check_number("merge_ratio", self.merge_ratio, "a share of the window", hint, above=True, most=1)
        for name, what, least, most in (
            ("depth", "levels between the root of T_S and the nodes that have sub-indexes", 0, 64),
            ("task", "tuples that a thread takes at a time", 1, _MOST),
            ("batch", "tuples that are in the queue at a time", 1, _MOST),
            ("output", "results that are ready at a time", 1, _MOST),
            ("leaf", "entries per leaf", 2, 1 << 16),
            ("fan", "children per inner node", 4, 1 << 16),
            ("workers", "threads that there can be at most", 1, 62),  # one bit of a word each
        ):
            check_count(name, getattr(self, name), what, "leave it out for the default.", least=least, most=most)
        check_switch("blocking", self.blocking)


def check_settings(settings: object) -> Settings:
    """Return the settings, or the defaults for None; refuse what is none."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise SpecError.of(
            f"settings={settings!r}.", "They are a weft.local.Settings.", "write settings=weft.local.Settings(task=4)."
        )
    return settings
