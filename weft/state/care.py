"""How files are handled: whether they outlive a power cut, how long a service may fail, how much of it is copied here."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import SpecError

__all__ = ["DURABILITIES", "Care"]

DURABILITIES = ("process", "power")
"""What a finished batch outlives: the processes that wrote it, or also the power of their machine."""


@dataclass(frozen=True)
class Care:
    """What a user may set about the files of the state."""

    durability: str = "process"
    """`power` syncs every local file, and the folder that names it, before anybody goes by it."""
    patience: float = 60.0
    """Seconds for which a request that fails is made again."""
    cache: int = 8 << 30
    """Bytes of remote files that are kept on this machine."""

    @classmethod
    def of(cls, durability: str, cache: str) -> Care:
        """Read the settings as they stand in the session's conf."""
        if durability not in DURABILITIES:
            raise SpecError.of(
                f"spark.weft.durability is {durability!r}.",
                "It is 'process' (state outlives killed processes) or 'power' (it also outlives a power cut).",
                "leave it out for 'process'.",
            )
        if not (cache.isascii() and cache.isdigit()):
            raise SpecError.of(
                f"spark.weft.cache.bytes is {cache!r}.",
                "It is a number of bytes: how much of a remote state each machine may keep on its disk.",
                f"write '{cls.cache}', which is the default, or '0' for no copies.",
            )
        return cls(durability, cache=int(cache))
