"""Files and folders on a local disk, for nobody but their owner; and what is told when one cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os

from weft.errors import StateError

__all__ = ["forget", "fresh_file", "made_folder", "undeleted", "unwritten"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def made_folder(path: str) -> None:
    """Make a folder and those above it that are missing, mode 0700 whatever the umask; one that is there stays as it is."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        made_folder(above)
    with contextlib.suppress(FileExistsError):  # another task was faster, or it is a file: then writing says so
        os.mkdir(path, 0o700)


def fresh_file(path: str) -> int:
    """Make a file that was not there, mode 0600 whatever the umask, and return its handle."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def forget(path: str) -> None:
    """Delete what was written aside; if even that fails, the first error is the one to tell."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def unwritten(path: str, needed: int | None, error: OSError, local: bool) -> StateError:
    """Tell which file could not be written, how large it would be, and how much room there is."""
    why = os.strerror(error.errno) if error.errno else str(error).splitlines()[0].rstrip(".")
    facts = [] if needed is None else [f"It takes {needed:,} bytes"]
    free = _free(os.path.dirname(path)) if local else None
    if free is not None:
        facts.append(f"{free:,} are free there" if facts else f"{free:,} bytes are free there")
    again = "then start the query again: it goes on from the last finished batch."
    hint = "check the disk or service behind the state path, "
    if error.errno in _FULL:
        hint = "make room there, or move the state to a larger disk, "
    elif error.errno in _CLOSED:
        hint = "make the state path writable for the driver and every executor, "
    told = ", and ".join(facts) + ". " if facts else ""
    return StateError.of(
        f"{path} cannot be written: {why}.", f"{told}The state of the batch before is whole.", hint + again
    )


def undeleted(path: str, error: OSError) -> StateError:
    """Tell which file could not be deleted."""
    why = os.strerror(error.errno) if error.errno else str(error).splitlines()[0].rstrip(".")
    return StateError.of(
        f"{path} cannot be deleted: {why}.",
        "No version that may be asked for needs it.",
        "make the state path writable for the driver and every executor, then start the query again.",
    )


def _free(folder: str) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize
