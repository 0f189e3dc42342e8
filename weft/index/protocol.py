"""What an index is: one side of one task, a set of runs and a way to find partners in them.

An index never sees a clock, a file or Spark. It is handed blocks and probes, and it *is* its snapshot: the list of
runs it holds is exactly what the state store writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from weft.index.run import Run
from weft.spec.terms import Access, Term
from weft.types import Block, Rows

__all__ = ["Index", "Matches", "Probe"]


@dataclass(frozen=True)
class Probe:
    """Rows of the other side that look for partners.

    `access` and `terms` are read from the probing side: `left` is a word column of the probe, `right` one of the
    stored rows. Every term must hold; `access` follows from the terms and says where to look.
    """

    block: Block
    access: Access
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Matches:
    """Pairs by row number: `probe[i]` of the probe block meets payload row `stored[i]` of `run`."""

    run: Run
    probe: Rows
    stored: Rows

    @classmethod
    def filled(cls, run: Run, probe: Rows, stored: Rows, count: int) -> Matches:
        """Return the filled part of two buffers; copied when most of them is empty, so that they do not live on."""
        if count * 2 < len(probe):
            return cls(run, probe[:count].copy(), stored[:count].copy())
        return cls(run, probe[:count], stored[:count])

    def __len__(self) -> int:
        return len(self.probe)


class Index(Protocol):
    """One side of one task.

    Call order per batch: `probe` any number of times, `expire`, `insert`; `snapshot` at the end.
    """

    name: ClassVar[str]

    def insert(self, block: Block) -> None:
        """Keep the rows of `block`; may merge runs."""
        ...

    def probe(self, probe: Probe, chunk: int) -> Iterator[Matches]:
        """Yield every match once, at most `chunk` pairs at a time."""
        ...

    def expire(self, before: int) -> None:
        """Forget rows whose expiry word is less than `before`, at once or when their run is next merged."""
        ...

    def snapshot(self) -> Sequence[Run]:
        """Return the runs that are the whole content."""
        ...

    def restore(self, runs: Sequence[Run], before: int) -> None:
        """Take over the runs of an earlier snapshot, and the expiry bound that held then."""
        ...

    def validate(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        ...
