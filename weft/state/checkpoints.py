"""Which Spark checkpoint a query goes on from: a note beside its state, so that state nobody can go on from is found.

    <state>/<query id>/checkpoint.json           where the checkpoint of the query is

Read by people and by `weft state rm`, never by the join.
"""

from __future__ import annotations

from weft.errors import WeftError
from weft.state.documents import read_document, write_document
from weft.state.paths import Folder

__all__ = ["CHECKPOINT", "known_checkpoint", "note_checkpoint"]

CHECKPOINT = "checkpoint.json"


def note_checkpoint(folder: Folder, path: str) -> None:
    """Write down where the checkpoint of a query is, as Spark resolved it; nothing is written where that is known.

    >>> from tempfile import TemporaryDirectory
    >>> from weft.state import open_folder
    >>> with TemporaryDirectory() as where:
    ...     note_checkpoint(open_folder(where), "file:/var/checkpoint")
    ...     known_checkpoint(open_folder(where))
    'file:/var/checkpoint'
    """
    if known_checkpoint(folder) != path:
        write_document(folder, CHECKPOINT, {"path": path})


def known_checkpoint(folder: Folder) -> str | None:
    """Return where the checkpoint of a query is; None where nobody has said so, or what was said is damaged."""
    try:
        path = read_document(folder, CHECKPOINT)["path"] if folder.exists(CHECKPOINT) else None
    except (WeftError, OSError, KeyError, TypeError, ValueError):
        return None
    return path if isinstance(path, str) and path else None
