"""Files and folders on a local disk: for nobody but their owner, and synced where they are to outlive a power cut."""

from __future__ import annotations

import contextlib
import os

__all__ = ["forget", "fresh_file", "made_folder", "synced"]


def made_folder(path: str, *, lasting: bool = False) -> None:
    """Make a folder and those above it that are missing, mode 0700 whatever the umask; one that is there stays as it is."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        made_folder(above, lasting=lasting)
    with contextlib.suppress(FileExistsError):  # another task was faster, or it is a file: then writing says so
        os.mkdir(path, 0o700)
    if lasting:
        synced(above)


def fresh_file(path: str) -> int:
    """Make a file that was not there, mode 0600 whatever the umask, and return its handle."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def forget(path: str) -> None:
    """Delete what was written aside; if even that fails, the first error is the one to tell."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def synced(path: str) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
