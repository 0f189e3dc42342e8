"""What a scheme is: how a user asks for a routing, and what it may learn. A scheme makes plans; a plan routes.

Schemes are found by the name users write. A scheme registers itself, in its own file; everything that lists schemes asks here.
Other packages bring schemes of their own, the laboratory those that a paper compares with: as entry points of the group
`weft.schemes`, which are looked at only when a name is not known.

Statistics travel in the manifests: each task *watches* its batch and notes what its scheme wants to know, and control, in
one place and one batch later, reads the notes of all tasks. All of it is pure, so a replay notes and decides the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, ClassVar, Generic, TypeVar, cast

from weft.errors import SpecError, UnknownName
from weft.routing.conditions import Need
from weft.routing.plan import PLUGINS, Plan
from weft.spec import JoinSpec
from weft.spec.names import load, read_name
from weft.spec.shapes import check_shape, listed
from weft.types import SIDES, U32, Side, Words

__all__ = ["SCHEMES", "BatchView", "Notes", "Registry", "Scheme", "TaskStats", "find_schemes", "scheme_named"]


Notes = dict[str, Any]
"""JSON data of bounded size: what one task tells control beyond the counts that all schemes get."""


@dataclass(frozen=True)
class BatchView:
    """One task's batch as a scheme may look at it.

    `stored` are the words of rows that came to stay, `probed` of rows that came to look for partners, and `draws` the
    `u` of the stored ones; `held` gives the words and draws of everything the task holds after the batch, in no
    particular order (it costs a copy: ask only when the notes need it).
    """

    task: int
    plan: Plan
    stored: dict[Side, Words]
    probed: dict[Side, Words]
    draws: dict[Side, U32]
    held: Callable[[Side], tuple[Words, U32]]


@dataclass(frozen=True)
class TaskStats:
    """What one task saw in one batch: rows that arrived, rows it holds, late rows, a sample of its range words, notes.

    `alive` are the rows held that have not expired, where that is known. Expired rows that await a merge say nothing about
    the load.
    """

    arrived: dict[Side, int]
    held: dict[Side, int]
    late: dict[Side, int]
    sample: dict[Side, tuple[int, ...]]
    notes: Notes = field(default_factory=dict)
    alive: dict[Side, int] = field(default_factory=dict)

    def keeps(self, side: Side) -> int:
        """Return how many rows of a side this task has to keep."""
        return self.alive.get(side, self.held[side])

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return dict(self.__dict__)

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> TaskStats:
        """Read them back."""
        sample = {side: tuple(listed(data["sample"][side])) for side in SIDES}
        counts = [{side: data[name][side] for side in SIDES} for name in ("arrived", "held", "late")]
        made = cls(counts[0], counts[1], counts[2], sample, data.get("notes", {}), data.get("alive", {}))
        check_shape(made)
        return made


class Scheme:
    """A routing scheme as configured by the user: a frozen dataclass with a name, which is registered. Every method is pure."""

    name: ClassVar[str]
    """What users write: `scheme="hash"`, or with settings `scheme="fastjoin(threshold=1.3)"`."""
    reaches: ClassVar[tuple[str, ...]] = ()
    """Plans of other kinds than the first one that the scheme changes to by itself."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a join must have to be served."""
        return ()

    @property
    def least_tasks(self) -> int:
        """How many tasks it needs at least."""
        return 1

    @property
    def adapts(self) -> bool:
        """Whether its plan follows what the tasks note."""
        return True

    @property
    def exact(self) -> bool:
        """Whether it finds every pair; a baseline of a paper may miss some by design."""
        return True

    def at_need(self, spec: JoinSpec) -> str:
        """Say what it turns to if the statistics call for it, for `explain`; "" if the plans say it themselves."""
        del spec
        return ""

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return settings for tests; where it adapts, settings with which a few rows are enough to change the plan."""
        return (cls(),)

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        """Return the plan to start with; raise SpecError when the scheme cannot serve this join."""
        for need in self.needs:
            if not need.met(spec):
                raise SpecError.of(
                    f"scheme={self.name!r} needs {need.what}.",
                    f"The condition is {spec.condition.text}, the window {spec.window}.",
                    need.instead,
                )
        plan = self.first_plan(spec, tasks)
        if not plan.preserves(spec):
            raise SpecError.of(
                f"scheme={self.name!r} does not support how={spec.kind.name!r}.",
                "It stores a row on several tasks, so no single task can tell whether the row has a match.",
                "use scheme='auto', or 'hash', 'range', 'matrix' or 'fastjoin(biclique=false)', which store it on one task.",
            )
        return plan

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        """Return the plan to start with, for a join that has what the scheme needs."""
        raise NotImplementedError

    def later_plan(self, spec: JoinSpec, tasks: int) -> Plan | None:
        """Return the kind of plan that soon follows the first one, where that is known beforehand; for `explain`."""
        del spec, tasks
        return None

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        """Return the plan for the batch after next, and why it changed ("" if it did not)."""
        del spec, stats
        return plan, ""

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        """Return what this task notes for control; `before` is what it noted last time ({} at first)."""
        del spec, view, before
        return {}

    def serves(self, spec: JoinSpec) -> bool:
        """Tell whether a join has what the scheme needs."""
        if not all(need.met(spec) for need in self.needs):
            return False
        return not spec.kind.preserved or self.first_plan(spec, max(self.least_tasks, 4)).preserves(spec)


Kind = TypeVar("Kind", bound=Scheme)
One = TypeVar("One", bound=Scheme)


class Registry(dict[str, type[Kind]], Generic[Kind]):
    """The schemes of one kind of join, by name."""

    def __init__(self, base: type[Kind], example: str) -> None:
        super().__init__()
        self.base, self.example = base, example

    def register(self, scheme: type[One]) -> type[One]:
        """Take a scheme in; a decorator, above `@dataclass(frozen=True)`."""
        assert scheme.name not in self, f"two schemes are named {scheme.name!r}"
        self[scheme.name] = cast("type[Kind]", scheme)  # a bound of a type variable cannot be another one
        return scheme

    def has(self, name: str) -> bool:
        """Tell whether there is a scheme of this name, here or in another package that is installed."""
        if name not in self:
            load(PLUGINS, name)  # it registers itself when it is imported
        return name in self

    def named(self, scheme: object) -> Kind:
        """Return the scheme of a name, which may carry settings, or a configured one as it is."""
        if isinstance(scheme, str):
            name, settings = read_name("scheme", scheme, self.example)
            if not self.has(name):
                raise UnknownName.among("scheme", name, {*self, "auto"})
            kind = self[name]
            self._check(scheme, kind, list(settings))
            return kind(**settings)
        if isinstance(scheme, type) and issubclass(scheme, Scheme):
            made = f"{scheme.__name__}()"
            raise SpecError.of(
                f"scheme={scheme.__name__} is a class, not an instance.", f"Create one: {made}.", f"use scheme={made}."
            )
        if not isinstance(scheme, self.base):
            raise UnknownName.among("scheme", scheme, {*self, "auto"})
        return scheme

    def _check(self, text: str, kind: type[Kind], settings: Sequence[str]) -> None:
        """Refuse settings that a scheme does not have."""
        known = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]
        for setting in settings:
            if setting not in known:
                near = get_close_matches(setting, known, n=1)
                raise SpecError.of(
                    f"scheme={text!r}: {kind.name} has no setting {setting!r}.",
                    f"It has: {', '.join(known)}." if known else "It has none.",
                    f"did you mean {near[0]!r}?" if near else f"write scheme={kind.name!r}.",
                )


SCHEMES: Registry[Scheme] = Registry(Scheme, "fastjoin(threshold=1.3)")
"""Schemes of joins with a condition."""


def scheme_named(scheme: str | Scheme) -> Scheme:
    """Return a scheme by name, or the configured one as it is.

    >>> scheme_named("matrix(rows=2)")
    Matrix(rows=2, columns=None)
    """
    return SCHEMES.named(scheme)


def find_schemes(paths: Sequence[str], package: str) -> None:
    """Import every module of a package, so that the schemes in it register themselves."""
    for module in walk_packages(paths, f"{package}."):
        import_module(module.name)
