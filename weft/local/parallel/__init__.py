"""The parallel window join of the PIM-Tree paper: several threads over shared trees, pairs in order of arrival."""

from __future__ import annotations

from weft.local.parallel.join import ParallelJoin
from weft.local.parallel.request import Settings
from weft.local.parallel.word_join import FedTuples, Interleaved, Threads, WordJoin

__all__ = ["FedTuples", "Interleaved", "ParallelJoin", "Settings", "Threads", "WordJoin"]
