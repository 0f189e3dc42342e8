"""Words that follow from their row numbers need not be looked up."""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.types import Words

__all__ = ["counts_up"]


@kernel
def counts_up(words: Words) -> bool:
    """Tell whether every word is the one before plus one."""
    wrong = 0
    for i in range(1, len(words)):
        wrong += np.int64(words[np.uint64(i)] != words[np.uint64(i - 1)] + 1)
    return wrong == 0
