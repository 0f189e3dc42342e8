"""What a worker of the parallel join is about to do, and what a step of it says."""

from __future__ import annotations

MOVED, WAITS, FULL, DONE, LEFT = range(5)
"""What a step says: it did something; it would have to wait; the output is full; all is done; the worker has left."""

(
    IDLE, START, PROBE_S, LOCK_T, PROBE_T, SCAN, LOCK_I, INSERT, EDGE_TRY, EDGE_MOVE, NEXT, OUT_TRY, OUT_MOVE,
    MERGE_WAIT, MERGE_BUILD, MERGE_BLOCK, MERGE_SWAP, MERGE_LOCK, MERGE_INSERT,
) = range(19)  # fmt: skip
