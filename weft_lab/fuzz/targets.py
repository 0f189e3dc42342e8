"""The targets by name, each imported when it is asked for: the guided run instruments what a target imports."""

from __future__ import annotations

from importlib import import_module

from weft_lab.fuzz.target import Target

__all__ = ["TARGETS", "target_named"]

TARGETS = ("conditions", "jobs", "documents", "state")


def target_named(name: str) -> Target:
    """Return a target.

    >>> target_named("jobs").name
    'jobs'
    """
    if name not in TARGETS:
        from weft.errors import UnknownName  # nothing of weft may be imported before it is instrumented

        raise UnknownName.among("fuzz target", name, TARGETS)
    found = import_module(f"weft_lab.fuzz.{name}").TARGET
    assert isinstance(found, Target)
    return found
