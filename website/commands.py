"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo, CommandInfo

from weft.cli.app import app

__all__ = ["Parameter", "command_page", "commands", "parameters"]

_ABOUT = """# Command line

`weft` comes with the package. Every command explains itself with `--help`, and most print JSON with `--json`: then stdout holds
nothing else.

Exit codes: 0 success, 1 failure or damaged state, 2 invalid request, 130 stopped.
"""


@dataclass(frozen=True)
class Parameter:
    """One argument or option: how it is written, what it is without being given, and what it does."""

    written: str
    default: str
    about: str


def commands() -> dict[str, CommandInfo]:
    """Return every command by what one types, such as `weft state ls`."""
    return dict(_below("weft", app))


def parameters(command: CommandInfo) -> list[Parameter]:
    """Return what a command takes, in its own order."""
    function = inspect.unwrap(_called(command))
    hints = get_type_hints(function, include_extras=True)
    return [_parameter(one, hints[one.name]) for one in inspect.signature(function).parameters.values()]


def command_page() -> str:
    """Return the page: a table of commands, then each with its arguments, options and examples."""
    found = commands()
    rows = [f"| [`{name}`](#{_anchor(name)}) | {_summary(command)} |" for name, command in found.items()]
    parts = [_ABOUT, "| command | |\n|---|---|\n" + "\n".join(rows)]
    return "\n\n".join([*parts, *(_entry(name, command) for name, command in found.items())]) + "\n"


def _below(name: str, group: typer.Typer) -> Iterator[tuple[str, CommandInfo]]:
    for command in group.registered_commands:
        if not command.hidden:
            yield f"{name} {command.name or _called(command).__name__.replace('_', '-')}", command
    for below in group.registered_groups:
        if below.typer_instance is not None and not below.hidden:
            yield from _below(f"{name} {below.name or below.typer_instance.info.name}", below.typer_instance)


def _called(command: CommandInfo) -> Callable[..., Any]:
    assert command.callback is not None
    return command.callback


def _parameter(given: inspect.Parameter, hint: Any) -> Parameter:
    kind, *told = get_args(hint)
    info = next((one for one in told if hasattr(one, "param_decls")), None)
    base = next((one for one in get_args(kind) if one is not type(None)), kind)
    optional = given.default is not inspect.Parameter.empty
    if isinstance(info, ArgumentInfo):
        written = f"`{info.metavar or given.name.upper()}`"
    else:
        decls = (
            [info.default, *(info.param_decls or ())] if info is not None else []
        )  # typer keeps the first as a default
        named = [one for one in decls if isinstance(one, str) and one.startswith("-")]
        flags = named or [f"--{given.name.replace('_', '-')}"]
        if base is bool:
            pair = [] if named else [f"--no-{given.name.replace('_', '-')}"]
            written = ", ".join(f"`{flag}`" for flag in [*flags, *pair])
        else:
            shown = {int: "NUMBER", Path: "PATH"}.get(base, "TEXT")
            written = ", ".join(f"`{flag} {shown}`" for flag in flags)
    default = "" if given.default in (None, False) or not optional else f"`{given.default}`"
    if base is bool and given.default is True:
        default = "on"
    return Parameter(
        written, "required" if not optional else default, _cell((info.help if info is not None else "") or "")
    )


def _entry(name: str, command: CommandInfo) -> str:
    words = [f"## `{name}` {{ #{_anchor(name)} }}", _prose(inspect.getdoc(_called(command)) or "")]
    rows = [f"| {one.written} | {one.default} | {one.about} |" for one in parameters(command)]
    if rows:
        words.append("| | default | |\n|---|---|---|\n" + "\n".join(rows))
    called = [line.strip() for line in _plain(command.epilog or "").splitlines() if line.strip().startswith("weft ")]
    if called:
        words.append("```sh\n" + "\n".join(called) + "\n```")
    return "\n\n".join(words)


def _summary(command: CommandInfo) -> str:
    return _cell((inspect.getdoc(_called(command)) or "").split("\n\n")[0])


def _prose(text: str) -> str:
    """Return a help text, with what typer leaves as it stands (after a backspace) as a block."""
    told, _, block = text.partition("\b")
    block = "\n".join(line.strip() for line in _plain(block).strip().splitlines())
    return _cell(told) + (f"\n\n```toml\n{block}\n```" if block else "")


def _cell(text: str) -> str:
    return " ".join(_plain(text).split()).replace("|", "\\|")


def _plain(text: str) -> str:
    r"""Remove rich's markup: [bold]x[/bold] is x, and \[left] is [left]."""
    return re.sub(r"(?<!\\)\[/?(?:bold|dim|italic|cyan|green|yellow|red)\b[^\]]*\]", "", text).replace("\\[", "[")


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
