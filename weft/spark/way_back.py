"""What the driver tells when state is lost: which batch is the last whole one, and the command that goes back to it.

A task that meets a damaged file knows that file alone. The driver looks at what else there is, once per failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa

from weft.errors import StateLost, WeftError
from weft.state import Care, Verifier, open_folder

__all__ = ["with_way_back"]

_NAMED = re.compile(r"(.+?)(?: is (?:missing|damaged)|, segment .* is damaged| does not belong here)")


def with_way_back(cause: WeftError, query: str, paths: Iterable[str]) -> WeftError:
    """Return the error with the last whole batch of a query and how to go back; as it is where there is none.

    `paths` are the state paths of the joins that this process has built.
    """
    text = str(cause)
    found = _NAMED.match(text)
    if not isinstance(cause, StateLost) or not found:
        return cause
    for path in dict.fromkeys(paths):
        batch = _last_good(path, query, found[1])
        if batch is not None:
            rest = text.partition("\nHint: ")[0]
            return StateLost(
                f"{rest}\nBatch {batch} is the last one that is whole.\n"
                f"Hint: restore the file from a backup, or stop the query and go back behind batch {batch}: "
                f"weft state rollback {path} {query} --to {batch}"
            )
    return cause


@lru_cache(maxsize=64)
def _last_good(path: str, query: str, lost: str) -> int | None:
    """Return the newest batch that all joins of a query have whole, as far as names and sizes tell."""
    try:
        state = open_folder(path, Care(patience=5.0))
        folders = [state / name for name in state.names() if name.partition(".")[0] == query]
        checks = [Verifier(folder, deep=False, known={lost}) for folder in folders]
        kept = set.intersection(*(set(check.batches()) for check in checks)) if checks else set[int]()
        return next((batch for batch in sorted(kept, reverse=True) if all(one.good(batch) for one in checks)), None)
    except (WeftError, OSError, pa.ArrowException):  # the first error is the one to tell
        return None
