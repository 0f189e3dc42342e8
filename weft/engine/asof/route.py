"""Route an as-of join: right rows carry their number of arrival, and those at the border of a slice go to several tasks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.engine.asof.candidates import is_nan
from weft.engine.asof.search import tie_words
from weft.engine.route import PROBE, STORE, Roles, Router
from weft.routing import AsofPlan
from weft.types import U32, Block, Rows, Words

__all__ = ["AsofRouter"]


class AsofRouter(Router):
    """Routes the rows of one side and one map partition."""

    def _ordered(self, table: pa.Table, columns: list[Words], u: U32, payload: pa.Table) -> tuple[Block, Rows]:
        """Let right rows carry their position: the task that joins knows what came before them (`number_rows`)."""
        rows = table.num_rows
        position = np.arange(self.position - rows, self.position, dtype=np.int64)
        words = np.stack([*columns, np.zeros(rows, np.int64), position])
        return Block(words, u, payload), np.arange(rows)

    def _roles(self, block: Block) -> tuple[Block, Roles]:
        plan, asof = self.plan, self.spec.asof
        assert isinstance(plan, AsofPlan) and asof is not None
        store = plan.store(self.side, block.words, block.u)
        if self.side == "left":
            return block, store.astype(np.uint8) * np.uint8(STORE | PROBE)
        if asof.floating:
            store[:, is_nan(plan.place("right", block.words))] = False
        if plan.length and plan.tasks > 1:
            kept = np.flatnonzero(store.any(axis=0))
            ties = None if asof.ties is None else tie_words(block.payload, asof.ties)[kept]
            borders = kept[plan.borders(block.words[:, kept], ties)]
            store[:, borders] |= plan.reached(block.words[:, borders])
        return block, store.astype(np.uint8) * np.uint8(STORE)

    def _order_of(self, block: Block) -> None:
        """Keep rows as they came: mostly that is in the order in which they are searched."""
