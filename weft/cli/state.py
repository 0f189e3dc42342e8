"""`weft state ls` and `weft state show`: what is in the state folder, for a person and as JSON."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.cli.output import out, print_json, size
from weft.control import draw
from weft.observe import QueryView, inspect_query, list_queries
from weft.routing import AreaPlan, plan_from_json
from weft.types import SIDES, Side

__all__ = ["list_state", "show_state"]


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
            facts.append(("watermark", f"{view.clock.watermark}; what is older is late"))
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
    how = "files and checksums verified" if view.verified else "sizes compared; --verify reads them too"
    if view.last_good is None:
        return Text("no batch: the query cannot go on from this state", style="bold red")
    if view.last_good == view.last_batch:
        return Text(f"batch {view.last_good}, the last one there is ({how})", style="green")
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
