"""Whether the checkpoint of a query is still there. In doubt it is: what is deleted does not come back."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from weft.errors import WeftError
from weft.state import Folder, open_folder

__all__ = ["Seen", "look_at"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


@dataclass(frozen=True)
class Seen:
    """Whether a checkpoint is gone, and what else is to be said of it."""

    gone: bool
    note: str = ""


def look_at(path: str, query: str, *, beside: bool) -> Seen:
    """Look for the checkpoint of a query; `beside` says that its state is on this machine's file system.

    A query without a `metadata` file cannot go on: Spark keeps the query's id there. One with another id belongs to another
    query, which was started where the checkpoint of this one was deleted.
    """
    doubt = f"its checkpoint {path} cannot be looked at from here, so it counts as there"
    scheme = _SCHEME.match(path)
    if (scheme and scheme[1] != "file" and "://" not in path) or not (scheme or path.startswith("/")):
        return Seen(False, doubt)  # dbfs:/x is no folder of ours, and where x is depends on who asks
    try:
        folder = open_folder(path)
        if folder.local and not beside:
            return Seen(False, f"its checkpoint {path} may be on another machine, so it counts as there")
        if not folder.exists("metadata"):
            return Seen(True)
        return Seen(True, "another query has its place") if _other(folder, query) else Seen(False)
    except (WeftError, OSError, pa.ArrowException):
        return Seen(False, doubt)


def _other(folder: Folder, query: str) -> bool:
    """Tell whether a checkpoint names another query; what cannot be read names none."""
    system: fs.FileSystem = folder.system
    with system.open_input_file(f"{folder}/metadata") as file:
        raw = file.read()
    try:
        named = json.loads(raw)["id"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(named, str) and named != query
