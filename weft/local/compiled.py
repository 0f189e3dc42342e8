"""Whether the kernels are compiled: what `weft warm` left behind, and what of it is still there.

The list of variants lies beside the machine code, so that it goes where that goes.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.kernels.compiled import cache_folder, kept_variants

__all__ = ["Compiled", "compiled", "note_compiled"]

_RECORD = "weft-warm.json"


@dataclass(frozen=True)
class Compiled:
    """How many of the variants that joins need are compiled; nobody knows how many they need where `weft warm` never ran."""

    ready: int
    wanted: int | None
    folder: str

    @property
    def all(self) -> bool:
        """Tell whether no join has to compile."""
        return self.wanted is not None and self.ready == self.wanted

    def __str__(self) -> str:
        """Say it in a line.

        >>> print(Compiled(12, 211, "/cache"))
        partly compiled: 12 of 211, in /cache
        """
        if not self.ready:
            return f"not compiled, in {self.folder}"
        many = f"{self.ready:,} by earlier joins" if self.wanted is None else f"{self.ready:,} of {self.wanted:,}"
        return f"{'' if self.all else 'partly '}compiled: {many}, in {self.folder}"


def note_compiled() -> Compiled:
    """Write down what is compiled now, after all kinds of joins have run."""
    folder, there = cache_folder(), sorted(_there())
    aside = Path(folder) / f".{_RECORD}.{os.getpid()}"
    try:
        aside.write_text(json.dumps({"weft": _version(), "variants": there}), encoding="utf-8")
        aside.replace(Path(folder) / _RECORD)
    except OSError as error:
        hint = "set NUMBA_CACHE_DIR to a writable folder."
        raise WeftError.of(
            f"Nothing can be kept in {folder}: {error}.", "Numba keeps machine code there.", hint
        ) from error
    return Compiled(len(there), len(there), folder)


def compiled() -> Compiled:
    """Compare what is compiled with what was written down by this version of Weft."""
    folder, there = cache_folder(), _there()
    try:
        record = json.loads((Path(folder) / _RECORD).read_text(encoding="utf-8"))
        wanted = set(record["variants"]) if record["weft"] == _version() else None
    except (OSError, ValueError, KeyError, TypeError):
        wanted = None
    return Compiled(len(there if wanted is None else there & wanted), None if wanted is None else len(wanted), folder)


def _there() -> set[str]:
    return {variant for variant, file in kept_variants().items() if Path(file).exists()}


def _version() -> str:
    from weft import __version__

    return __version__
