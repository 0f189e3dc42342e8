"""The rows of one side that a task holds: runs in which those that are done with are flagged, and the new ones.

What a run has lost is a bit per row in the manifest, so its file is not written again; it is when a quarter of it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.index import Run
from weft.types import WORD_MIN, Block, Bools

__all__ = ["Held", "live_rows", "run_whole"]

_RUNS = 8
"""More runs than that are made one."""


def run_whole(block: Block) -> Run:
    """Return rows as a run, in their order."""
    whole = replace(block, payload=block.payload.combine_chunks(), matched=None)
    return Run.of(whole, np.arange(len(block), dtype=np.int32), WORD_MIN)


def live_rows(run: Run) -> Block:
    """Return the rows of a run that are not done with."""
    done = run.matched
    return replace(run.block.filter(~done) if done.any() else run.block, matched=None)


@dataclass(frozen=True)
class Held:
    """Runs of before the batch, and the rows that came with it."""

    runs: tuple[Run, ...]
    fresh: Block

    @cached_property
    def live(self) -> tuple[Block, ...]:
        """Return the rows that are not done with, run by run; the new ones come last."""
        return (*(live_rows(run) for run in self.runs), self.fresh)

    @cached_property
    def block(self) -> Block:
        """Return them as one block."""
        whole = Block.concat([block for block in self.live if len(block)] or [self.fresh])
        return replace(whole, payload=whole.payload.combine_chunks())

    def after(self, done: Bools, *, flagged: bool = True) -> tuple[Run, ...]:
        """Return the runs without the rows of `block` that are done with now; not `flagged`, such rows are gone at once."""
        kept, start = list[Run](), 0
        for run, live in zip((*self.runs, None), self.live, strict=True):
            gone = done[start : start + len(live)]
            start += len(live)
            if gone.all():
                continue
            if run is not None and not gone.any():
                kept.append(run)
            elif run is None or not flagged or 4 * (len(live) - int(gone.sum())) < 3 * run.rows:
                kept.append(run_whole(live.filter(~gone)))
            else:
                flags = run.matched.copy()
                flags[np.flatnonzero(~flags)[gone]] = True
                kept.append(run.flagged(flags))
        if len(kept) > _RUNS:
            return (run_whole(Block.concat([live_rows(run) for run in kept])),)
        return tuple(kept)
