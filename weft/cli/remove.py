"""`weft state rm`: list what would go and why, ask, remove it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import typer
from rich.text import Text

from weft.cli.output import complain, out, print_json, size
from weft.errors import SpecError, WeftError
from weft.observe import Leftover, asked_for, open_state, remove_query, stale_queries
from weft.state import Folder

__all__ = ["remove_state"]


def remove_state(
    path: str, query: str | None, *, stale: bool, idle: int, dry_run: bool, yes: bool, as_json: bool
) -> int:  # fmt: skip
    """Remove one query, or all stale ones; 1 if one could not be removed, or the answer was no."""
    if (query is None) != stale:
        what = "Which queries should go was not said." if query is None else "Both a query and --stale were given."
        there_is = "One query goes by the start of its id, or all that no checkpoint can go on from."
        raise SpecError.of(what, there_is, f"write weft state rm {path} QUERY, or weft state rm {path} --stale.")
    state, now = open_state(path), datetime.now(timezone.utc)
    go, stay = ([asked_for(state, query)], []) if query else stale_queries(state, timedelta(minutes=idle), now)
    if not as_json:
        _show(path, go, stay, now, dry_run=dry_run)
    if dry_run or not go:
        return _end(path, go, stay, {}, dry_run=dry_run) if as_json else 0
    if not yes and not _confirmed(go, as_json):
        out().print("Nothing was removed.")
        return 1
    failed = _remove(state, go)
    if as_json:
        return _end(path, go, stay, failed, dry_run=False)
    for error in failed.values():
        complain(error)
    gone = [one for one in go if one.query not in failed]
    out().print(f"Removed: {_total(gone)}.")
    return 1 if failed else 0


def _remove(state: Folder, go: Sequence[Leftover]) -> dict[str, WeftError]:
    """Remove what is listed; return what went wrong, by query."""
    told = {one.query: _trouble(state, one) for one in go}
    return {query: error for query, error in told.items() if error is not None}


def _trouble(state: Folder, one: Leftover) -> WeftError | None:
    try:
        remove_query(state, one)
    except WeftError as error:
        return error
    return None


def _confirmed(go: Sequence[Leftover], as_json: bool) -> bool:
    if as_json or not _terminal():
        why = "--json does not ask." if as_json else "There is no terminal to ask on."
        raise SpecError.of(
            "Nothing was removed: nobody has said yes.",
            f"{why} What would go: {_total(go)}.",
            "add --yes to remove it, or --dry-run to see it.",
        )
    return typer.confirm(f"Remove {_total(go)}?", err=True)


def _terminal() -> bool:
    return sys.stdin.isatty()


def _end(
    path: str, go: Sequence[Leftover], stay: Sequence[Leftover], failed: dict[str, WeftError], *, dry_run: bool
) -> int:  # fmt: skip
    data: dict[str, Any] = {"path": path, "dry_run": dry_run}
    data["queries"] = [
        {**one.to_dict(), "removed": not dry_run and one.query not in failed, "error": str(failed.get(one.query, ""))}
        for one in go
    ]
    print_json({**data, "left": [one.to_dict() for one in stay]})
    return 1 if failed else 0


def _total(queries: Sequence[Leftover]) -> str:
    many = f"{len(queries):,} queries" if len(queries) != 1 else "1 query"
    return f"{many}, {sum(one.files for one in queries):,} files, {size(sum(one.bytes for one in queries))}"


def _show(path: str, go: Sequence[Leftover], stay: Sequence[Leftover], now: datetime, *, dry_run: bool) -> None:
    console = out()
    for one in go:
        facts = (f"{size(one.bytes)} in {one.files:,} files", _ago(one, now))
        console.print(Text.assemble((one.query, "bold cyan"), "  ", (one.why, "yellow"), "  ", ", ".join(facts)))
        for folder, join in zip(one.folders, one.joins, strict=True):
            name = folder.removeprefix(one.query).removeprefix(".")
            console.print(Text.assemble("  ", (join, "bold"), f"  ({name})" if name else ""))
        if one.checkpoint:
            console.print(Text(f"  checkpoint {one.checkpoint}"))
        if one.note:
            console.print(Text(f"  {one.note}", style="yellow"))
    quiet = [one for one in stay if one.why == "checkpoint there" and not one.note]
    for one in stay:
        if one not in quiet:
            note = f": {one.note}" if one.note else ""
            console.print(Text(f"Left out: {one.query}, {one.why}{note}; {_ago(one, now)}"))
    if quiet:
        console.print(f"Left out: {len(quiet):,} with a checkpoint.")
    if not go:
        console.print(f"No query under {path} is stale.")
    elif dry_run:
        console.print(f"Would go: {_total(go)}. Nothing was removed.")


def _ago(one: Leftover, now: datetime) -> str:
    if one.written is None:
        return "last written at an unknown time"
    seconds = max(0, int((now - one.written).total_seconds()))
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)):
        if seconds >= 2 * length or length == 1:
            return f"last written {one.written:%Y-%m-%d %H:%M:%S} UTC, {seconds // length} {unit} ago"
    raise AssertionError(seconds)
