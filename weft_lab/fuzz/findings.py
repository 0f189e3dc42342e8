"""Findings: one file per cause, the shortest input that shows it, with the traceback beside it."""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from pathlib import Path

__all__ = ["Findings", "cause_of"]


class Findings:
    """The findings of one target, in a folder.

    Inputs that fail at the same line of Weft with the same kind of error have one cause.
    """

    def __init__(self, target: str, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.causes: Counter[str] = Counter()
        self.lengths: dict[str, int] = {}

    def note(self, data: bytes, error: BaseException) -> bool:
        """Keep an input that failed; tell whether its cause is new."""
        cause = cause_of(error)
        new = cause not in self.causes
        self.causes[cause] += 1
        if new or len(data) < self.lengths[cause]:
            self.lengths[cause] = len(data)
            self.folder.mkdir(parents=True, exist_ok=True)
            name = f"{self.target}-{hashlib.sha256(cause.encode()).hexdigest()[:10]}"
            (self.folder / name).write_bytes(data)
            told = "".join(traceback.format_exception(error))
            (self.folder / f"{name}.txt").write_text(f"{cause}\n\n{told}", encoding="utf-8", errors="backslashreplace")
        return new


def cause_of(error: BaseException) -> str:
    """Return the kind of an error and the innermost line of Weft that it passed."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if "/weft/" in frame.filename or "/weft_lab/" in frame.filename
    ]  # fmt: skip
    at = f"{Path(frames[-1].filename).name}:{frames[-1].name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {at}"
