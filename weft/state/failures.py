"""When a file cannot be read, written or deleted: what is tried again, and what is told in the end.

Every operation on the state may be made twice: a read changes nothing, a file is written whole and always with the same
content, and what is deleted may be gone already. So a service that is busy, slow or out of reach is asked again, a little later
each time, and not for ever. What cannot pass (no permission, no such bucket, no room) is told at once: which file, why, what was
tried, and how much room there is.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from itertools import count
from random import SystemRandom
from typing import TypeVar

from weft.errors import StateError, StateLost

__all__ = ["GaveUp", "missing", "patiently", "undeleted", "unread", "unwritten"]

T = TypeVar("T")

_FIRST = 0.1
"""Seconds before the second try; every further one waits twice as long."""
_LONGEST = 5.0
_CHANCE = SystemRandom()
"""Tasks that failed together shall not come back together; forked workers would draw alike from a seed."""
_PASSING = {
    errno.EAGAIN, errno.EINTR, errno.EIO, errno.EPIPE, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED,
    errno.ECONNABORTED, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH,
}  # fmt: skip
_LASTING = re.compile(
    r"ACCESS_DENIED|NO_SUCH_BUCKET|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN"
    r"|HTTP status (30\d|401|403|404|405|411|412|413|501)|InvalidBucketName|PERMISSION_DENIED|UNAUTHENTICATED"
)
"""Answers of a service that the next request would get as well."""


class GaveUp(OSError):
    """An operation that failed again and again; `last` is how it failed last."""

    def __init__(self, last: OSError, times: int, seconds: float) -> None:
        super().__init__(str(last))
        self.last, self.times, self.seconds = last, times, seconds


def patiently(operation: Callable[[], T], patience: float) -> T:
    """Return what an operation returns, which may be tried for `patience` seconds while it fails for reasons that may pass."""
    began = time.monotonic()
    for times in count(1):
        try:
            return operation()
        except OSError as error:
            wait = min(_LONGEST, _FIRST * 2 ** (times - 1)) * _CHANCE.uniform(0.5, 1.0)
            spent = time.monotonic() - began
            if not _passing(error):
                raise
            if spent + wait > patience:
                raise GaveUp(error, times, spent) from error
        time.sleep(wait)
    raise AssertionError


def _passing(error: OSError) -> bool:
    """Tell whether what failed may succeed later."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)):
        return False
    if error.errno is not None:
        return error.errno in _PASSING
    return not _LASTING.search(str(error))


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def missing(path: str) -> StateError:
    """Tell which file is gone."""
    return StateLost.of(
        f"{path} is missing.",
        "An earlier batch of this query wrote it, and the query needs it to continue.",
        "restore the file, or go back to the last whole batch: `weft state rollback`; inside foreachBatch, consume "
        "the whole DataFrame of every batch.",
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
