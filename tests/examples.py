"""How many examples a property test looks at: as many as it says, never more than the profile allows."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["at_most", "share"]


def at_most(count: int) -> settings:
    """Return settings for so many examples, fewer where the profile is in a hurry (`make check`)."""
    return settings(max_examples=min(count, settings().max_examples))


def share(part: float) -> settings:
    """Return settings with a part of the profile's number of examples."""
    return settings(max_examples=max(1, round(part * settings().max_examples)))
