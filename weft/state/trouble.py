"""What is told when a file cannot be read, written or deleted: which one, why, what was tried, and how much room there is."""

from __future__ import annotations

import errno
import os

from weft.errors import StateError
from weft.state.retries import GaveUp

__all__ = ["missing", "undeleted", "unread", "unwritten"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def missing(path: str) -> StateError:
    """Tell which file is gone."""
    return StateError.of(
        f"{path} is missing.",
        "An earlier batch of this query wrote it, and the query needs it to continue.",
        "restore the state folder, or start from a new checkpoint to rebuild the state; "
        "inside foreachBatch, consume the whole DataFrame of every batch.",
    )


def unwritten(path: str, needed: int | None, error: OSError, local: bool) -> StateError:
    """Tell which file could not be written, how large it would be, and how much room there is."""
    facts = [] if needed is None else [f"It takes {needed:,} bytes"]
    free = _free(os.path.dirname(path)) if local else None
    if free is not None:
        facts.append(f"{free:,} are free there" if facts else f"{free:,} bytes are free there")
    again = "then start the query again: it continues from the last finished batch."
    hint = "check the disk or service behind the state path, "
    if error.errno in _FULL:
        hint = "free some space, or move the state to a larger disk, "
    elif error.errno in _CLOSED:
        hint = "make the state path writable for the driver and every executor, "
    told = ", and ".join(facts) + ". " if facts else ""
    return StateError.of(
        f"{path} cannot be written: {_why(error)}.",
        f"{_tried(error)}{told}The state of the previous batch is intact.",
        hint + again,
    )


def undeleted(path: str, error: OSError) -> StateError:
    """Tell which file could not be deleted."""
    return StateError.of(
        f"{path} cannot be deleted: {_why(error)}.",
        f"{_tried(error)}No version that can still be read needs it.",
        "make the state path writable for the driver and every executor, then start the query again.",
    )


def unread(path: str, error: OSError) -> StateError:
    """Tell which file or folder could not be read or looked up."""
    return StateError.of(
        f"{path} cannot be read: {_why(error)}.",
        f"{_tried(error)}Nothing was changed.",
        "check the disk or service behind the state path and its permissions, then start the query again.",
    )


def _tried(error: OSError) -> str:
    if not isinstance(error, GaveUp):
        return ""
    return f"Tried {error.times} times in {error.seconds:.0f} seconds. "


def _why(error: OSError) -> str:
    if isinstance(error, GaveUp):
        return _why(error.last)
    return (
        os.strerror(error.errno) if error.errno else (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    )


def _free(folder: str) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize
