"""Every error message of Weft, read from its source: what it says, what there is, what to try. What varies is shown as `…`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Message", "messages", "messages_page"]

_SOURCE = Path(__file__).parents[1] / "weft"
_GROUPS = {
    "spec": "The condition, the window and the options",
    "planner": "The condition, the window and the options",
    "schemes": "Schemes and indexes",
    "routing": "Schemes and indexes",
    "index": "Schemes and indexes",
    "spark": "Joins on Spark",
    "local": "Joins without Spark",
    "engine": "While a batch runs",
    "state": "The state",
    "observe": "The state",
    "documents": "Documents",
    "cli": "Commands and job files",
}
_ABOUT = """# All error messages

Every message that Weft raises on purpose, with its hint, as it stands in the code; `…` is what varies. Search this page
for a few words of the message that you see. [Errors](errors.md) explains the kinds of errors,
[troubleshooting](../guide/troubleshooting.md) goes by symptom.
"""


@dataclass(frozen=True)
class Message:
    """One message in its three parts, the kind of error, and the package that raises it."""

    what: str
    there_is: str
    hint: str
    kind: str
    package: str


def messages() -> list[Message]:
    """Return all messages, once each, in the order of the source."""
    found = [message for path in sorted(_SOURCE.rglob("*.py")) for message in _in_file(path)]
    return list({(one.what, one.hint): one for one in found}.values())


def messages_page() -> str:
    """Return the page: a section per part of Weft, a paragraph per message."""
    parts = [_ABOUT]
    known = messages()
    for title in dict.fromkeys([*_GROUPS.values(), "Elsewhere"]):
        own = sorted(
            (one for one in known if _GROUPS.get(one.package, "Elsewhere") == title), key=lambda one: one.what.lower()
        )
        if own:
            parts.append(f"## {title}\n\n" + "\n\n".join(_paragraph(one) for one in own))
    return "\n\n".join(parts) + "\n"


def _paragraph(one: Message) -> str:
    lines = [f"**{_plain(one.what)}** ([{one.kind}](errors.md#{one.kind.lower()}))"]
    lines += [_plain(one.there_is)] if one.there_is.strip(" ….") else []
    lines += [f"*Try:* {_plain(one.hint)}"] if one.hint.strip(" ….") else []
    return "<br>\n".join(lines)


def _in_file(path: Path) -> Iterator[Message]:
    package = path.relative_to(_SOURCE).parts[0].removesuffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "of":
            continue
        kind = ast.unparse(node.func.value)
        if not kind[:1].isupper() and kind != "cls":
            continue
        texts = [_text(argument) for argument in node.args]
        if texts and (" " in texts[0]) and ((kind == "cls" and package == "errors") or _is_error(kind)):
            what, there_is, hint = (*texts, "", "", "")[:3]
            yield Message(
                what, there_is, hint, "StateError" if kind == "cls" else kind, "state" if kind == "cls" else package
            )


def _is_error(kind: str) -> bool:
    from weft import errors

    found = getattr(errors, kind, None)
    return isinstance(found, type) and issubclass(found, errors.WeftError)


def _text(node: ast.expr) -> str:
    """Return a text with `…` for what is only known at run time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return _text(node.body) or _text(node.orelse)
    return "…"


def _plain(text: str) -> str:
    """Keep Markdown from reading signs of the message as its own."""
    escaped = "".join(f"\\{sign}" if sign in "*_[]<>#|" else sign for sign in " ".join(text.split()))
    return escaped if "`" not in escaped else escaped.replace("\\", "")
