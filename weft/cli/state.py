"""`weft state ls`, `show` and `rm`: what is in the state folder, for a person and as JSON; what may go from it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.cli.output import complain, out, print_json, size
from weft.errors import SpecError, WeftError
from weft.observe import (
    Leftover,
    QueryView,
    asked_for,
    inspect_query,
    list_queries,
    open_state,
    remove_query,
    stale_queries,
)
from weft.planner import draw
from weft.routing import AreaPlan, plan_from_json
from weft.state import Folder
from weft.types import SIDES, Side

__all__ = ["list_state", "remove_state", "show_state"]


def list_state(path: str, *, as_json: bool) -> int:
    """List the queries under a state path; 1 if what one of them is about cannot be read."""
    lines = list_queries(path)
    failed = int(any(line.trouble for line in lines))
    if as_json:
        print_json([line.to_dict() for line in lines])
        return failed
    console = out()
    if not lines:
        console.print(f"No query has state under {path}.")
        return 0
    for line in lines:  # not a table: ids and conditions are long, terminals are not
        batch = "no batch yet" if line.batch is None else f"batch {line.batch}"
        facts = (batch, f"{line.tasks} tasks", f"{line.rows:,} rows", f"{size(line.bytes)} on disk", line.scheme)
        console.print(Text.assemble((line.query, "bold cyan"), "  ", ", ".join(fact for fact in facts if fact)))
        console.print(Text.assemble("  ", (line.condition or "?", "bold"), f", {line.window}" if line.window else ""))
        if line.trouble:
            console.print(Text(f"  {line.trouble}", style="red"))
    return failed


def show_state(path: str, *, batch: int | None, verify: bool, as_json: bool) -> int:
    """Show one query; 1 if something is damaged."""
    view = inspect_query(path, batch, verify=verify)
    if as_json:
        print_json(view.to_dict())
    else:
        _show(out(), view)
    return 1 if view.damage else 0


def _show(console: Console, view: QueryView) -> None:
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="cyan", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, text in _facts(view):
        facts.add_row(name, text if isinstance(text, Text) else Text(text))
    console.print(facts, soft_wrap=False)
    if view.tasks:
        console.print()
        console.print(_tasks(view), soft_wrap=False)
    if view.damage:
        console.print()
        console.print(Text("Damaged", style="bold red"))
        for damage in view.damage:
            console.print(Text.assemble("  ", (damage.file, "bold"), f": {damage.why}"), soft_wrap=True)
    if view.foreign:
        console.print()
        console.print(
            Text(f"Not Weft's, or left over from an interrupted write: {', '.join(view.foreign)}", style="yellow")
        )


def _facts(view: QueryView) -> list[tuple[str, str | Text]]:
    facts: list[tuple[str, str | Text]] = [
        ("query", view.query), ("join", Text(view.condition or "unknown: spec.json cannot be read", style="bold")),
        ("window", view.window), *((f"{side} keeps", view.schemas[side]) for side in SIDES if view.schemas[side]),
        ("plan", _plan(view)), ("last good", _health(view)),
    ]  # fmt: skip
    if view.plan.get("scheme") == AreaPlan.scheme:
        held = {task.task: sum(task.rows.values()) for task in view.tasks}
        facts.append(("matrix", draw(plan_from_json(view.plan), held)))
    if view.migrations:
        lines = [
            f"{len(view.migrations)} in the batches kept",
            *(f"batch {n}: {event}" for n, event in view.migrations),
        ]
        facts.append(("migrations", "\n".join(lines)))
    if view.moving:
        facts.append(("migrating", Text(f"the next batch starts with a new plan: {view.moving}", style="yellow")))
    if view.unfinished:
        facts.append(
            ("unfinished", Text(f"{view.unfinished}: still running, or interrupted and replayed at the next start"))
        )
    if view.clock is not None:
        count = view.clock.count
        facts.append(("rows so far", f"{count['left']:,} left, {count['right']:,} right"))
        if view.clock.newest["left"] or view.clock.newest["right"]:
            newest = ", ".join(f"{side} {view.clock.newest[side] or 'none'}" for side in SIDES)
            facts.append(("newest", newest))
        if view.clock.watermark:
            facts.append(("watermark", f"{view.clock.watermark}; older rows are late"))
    facts += [("late", _late(view)), ("on disk", f"{size(view.bytes)} in {view.files:,} files under {view.path}")]
    return facts


def _late(view: QueryView) -> str:
    """Say how many rows were dropped, per side: in the batch shown, in all that are kept, and in which of them."""

    def counts(late: dict[Side, int]) -> str:  # a self join has one stream, which is read in both roles
        return f"{late['left']:,}" if view.self_join else f"{late['left']:,} left, {late['right']:,} right"

    text = f"{counts(view.late)} in batch {view.batch}; {counts(view.late_kept)} in the batches kept"
    shown = [f"batch {number}: {counts(late)}" for number, late in view.late_batches]
    return "\n".join([text, *shown])


def _plan(view: QueryView) -> str:
    scheme = view.plan.get("scheme", "unknown")
    shape = f", {view.plan['rows']} x {view.plan['columns']}" if scheme == "matrix" else ""
    return f"{scheme}{shape}, {view.plan.get('tasks', '?')} tasks" + (f": {view.reason}" if view.reason else "")


def _health(view: QueryView) -> Text:
    how = "files and checksums verified" if view.verified else "sizes compared; --verify also checks contents"
    if view.last_good is None:
        return Text("no batch: the query cannot continue from this state", style="bold red")
    if view.last_good == view.last_batch:
        return Text(f"batch {view.last_good}, the latest ({how})", style="green")
    style = "yellow" if view.unfinished and not view.damage else "bold red"
    return Text(f"batch {view.last_good}, of {view.last_batch} ({how})", style=style)


def _tasks(view: QueryView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="cyan", title_justify="left")
    table.title = f"after batch {view.batch}, imbalance {view.imbalance:.2f}"
    for name in ("task", "left rows", "right rows", "segments", "bytes", "late"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("versions", no_wrap=True)
    for task in view.tasks:
        kept = f"{task.versions[0]} to {task.versions[-1]}" if task.versions else "none"
        table.add_row(
            str(task.task), f"{task.rows['left']:,}", f"{task.rows['right']:,}",
            f"{task.segments['left']} + {task.segments['right']}", size(task.bytes),
            f"{task.late['left']:,} + {task.late['right']:,}", kept,
        )  # fmt: skip
    return table


def remove_state(
    path: str, query: str | None, *, stale: bool, idle: int, dry_run: bool, yes: bool, as_json: bool
) -> int:  # fmt: skip
    """Remove one query, or all stale ones; 1 if one could not be removed, or the answer was no."""
    if (query is None) != stale:
        what = "No query was named." if query is None else "Both a query and --stale were given."
        there_is = "Name one query by the start of its id, or remove all that no checkpoint can continue from."
        raise SpecError.of(what, there_is, f"write weft state rm {path} QUERY, or weft state rm {path} --stale.")
    state, now = open_state(path), datetime.now(timezone.utc)
    go, stay = ([asked_for(state, query)], []) if query else stale_queries(state, timedelta(minutes=idle), now)
    if not as_json:
        _show_leftovers(path, go, stay, now, dry_run=dry_run)
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
            "Nothing was removed: it was not confirmed.",
            f"{why} Would be removed: {_total(go)}.",
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


def _show_leftovers(
    path: str, go: Sequence[Leftover], stay: Sequence[Leftover], now: datetime, *, dry_run: bool
) -> None:
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
            console.print(Text(f"Skipped: {one.query}, {one.why}{note}; {_ago(one, now)}"))
    if quiet:
        console.print(f"Skipped: {len(quiet):,} with a checkpoint.")
    if not go:
        console.print(f"No query under {path} is stale.")
    elif dry_run:
        console.print(f"Would be removed: {_total(go)}. Nothing was removed.")


def _ago(one: Leftover, now: datetime) -> str:
    if one.written is None:
        return "last written at an unknown time"
    seconds = max(0, int((now - one.written).total_seconds()))
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)):
        if seconds >= 2 * length or length == 1:
            return f"last written {one.written:%Y-%m-%d %H:%M:%S} UTC, {seconds // length} {unit} ago"
    raise AssertionError(seconds)
