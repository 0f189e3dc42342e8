"""Schemes by the name users write. A scheme registers itself, in its own file; everything that lists schemes asks here.

Other packages bring schemes of their own, the laboratory those that a paper compares with: as entry points of the group
`weft.schemes`, which are looked at only when a name is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from pkgutil import walk_packages
from typing import Generic, TypeVar, cast

from weft.errors import SpecError, UnknownName
from weft.routing.plan import PLUGINS
from weft.routing.scheme import Scheme
from weft.spec.names import load, read_name

__all__ = ["SCHEMES", "Registry", "find_schemes", "scheme_named"]

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
