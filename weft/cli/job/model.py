"""A job as frozen data, and its mistakes: all of them at once, each with key, line, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import Self

from weft.errors import JobError
from weft.spec import Window

__all__ = ["CheckedJob", "JobMistakes", "Mistake", "SinkPart", "SourcePart"]


@dataclass(frozen=True)
class SourcePart:
    """A stream to read: `[left]`, `[right]` or `[stream]`."""

    format: str
    options: dict[str, str]
    schema: str | None = None
    where: str | None = None
    select: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SinkPart:
    """Where the pairs go: `[sink]`."""

    format: str
    options: dict[str, str]
    mode: str = "append"
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedJob:
    """A job file that holds together. `right` is None for a self join."""

    path: Path
    left: SourcePart
    right: SourcePart | None
    on: str
    window: Window
    sink: SinkPart
    checkpoint: str
    state: str
    scheme: str = "auto"
    index: str = "auto"
    tasks: int | None = None
    select: tuple[str, ...] | None = None
    suffix: str = "_right"
    unordered: bool = False
    how: str = "inner"
    trigger: dict[str, str | bool] = field(default_factory=dict)
    master: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    """The line of every key, by its dotted path: what Spark finds wrong later is told with it."""


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong: its key as `[join].on`, its line (0 if the key is not there), and what would be right."""

    key: str
    line: int
    what: str
    right: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the mistake as JSON data."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        place = f"line {self.line}, {self.key}" if self.line else self.key
        return f"{place}: {self.what}" + (f"\n    -> {self.right}" if self.right else "")


class JobMistakes(JobError):
    """Everything that is wrong with one job file."""

    path: str
    mistakes: tuple[Mistake, ...]

    @classmethod
    def found(cls, path: Path, mistakes: list[Mistake]) -> Self:
        """Sort the mistakes by line and say how many there are."""
        ordered = sorted(mistakes, key=lambda mistake: (mistake.line == 0, mistake.line))
        count = f"{len(ordered)} mistakes" if len(ordered) > 1 else "a mistake"
        error = cls.of(f"{path} has {count}.", "\n".join(f"  {mistake}" for mistake in ordered))
        error.path, error.mistakes = str(path), tuple(ordered)
        return error
