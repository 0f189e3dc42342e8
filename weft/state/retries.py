"""Asking a service again that was busy, slow or out of reach: a little later each time, and not for ever.

Every operation on the state may be made twice: a read changes nothing, a file is written whole and always with the same
content, and what is deleted may be gone already. So whatever may pass is tried again; what cannot pass (no permission, no such
bucket, no room) is told at once.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable
from itertools import count
from random import SystemRandom
from typing import TypeVar

__all__ = ["GaveUp", "patiently"]

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
