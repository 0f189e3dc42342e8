"""`weft state rollback`: take a stopped query back behind a batch that state and checkpoint both have whole."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

import typer

from weft.cli.output import out, print_json
from weft.errors import SpecError
from weft.observe import Rollback, open_state, plan_rollback, roll_back

__all__ = ["rollback_state"]


def rollback_state(
    path: str, query: str, *, to: int | None, checkpoint: str | None, sink: str | None, repeats: bool, idle: int,
    dry_run: bool, yes: bool, as_json: bool,
) -> int:  # fmt: skip
    """Take a query back; 1 if the answer was no."""
    state, now = open_state(path), datetime.now(timezone.utc)
    plan = plan_rollback(state, query, to, checkpoint=checkpoint, sink=sink, repeats=repeats)
    if not as_json:
        _show(plan)
    if not plan.moves and not plan.commit:
        if as_json:
            print_json({**plan.to_dict(), "done": False, "backup": ""})
        else:
            out().print("Nothing to do: the query continues there already.")
        return 0
    if dry_run:
        if as_json:
            print_json({**plan.to_dict(), "done": False, "backup": ""})
        else:
            out().print("Nothing was changed.")
        return 0
    if not yes and not _confirmed(plan, as_json):
        out().print("Nothing was changed.")
        return 1
    backup = roll_back(state, plan, now, timedelta(minutes=idle))
    if as_json:
        print_json({**plan.to_dict(), "done": True, "backup": backup})
    else:
        out().print(f"Done. Copies of all files that went: {backup}")
    return 0


def _show(plan: Rollback) -> None:
    console = out()
    console.print(f"query       {plan.query}")
    console.print(f"checkpoint  {plan.checkpoint.tree}")
    console.print(f"sink        {plan.sink or 'not noted'}")
    console.print(f"back to     batch {plan.to}, of {plan.newest}")
    if plan.same > plan.to:
        console.print(f"then        batch {plan.same} runs again as it was planned")
    if plan.cut_anew:
        which = f"batches {plan.same + 1} to {plan.newest}" if plan.newest > plan.same + 1 else f"batch {plan.newest}"
        console.print(f"            the input of {which} is planned anew")
    if plan.commit:
        console.print(f"commit      that of batch {plan.to} is damaged and written again")
    console.print(f"files       {len(plan.moves):,} go, copies stay in the checkpoint")
    if plan.unlisted:
        console.print(
            f"sink files  {len(plan.unlisted):,} are no longer in the sink's log, and stay: Spark does not read them, other "
            "readers do"
        )


def _confirmed(plan: Rollback, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        why = "--json does not ask." if as_json else "There is no terminal to ask on."
        raise SpecError.of(
            "Nothing was changed: it was not confirmed.",
            f"{why} The query would go back to batch {plan.to}.",
            "add --yes to go back, or --dry-run to see what changes.",
        )
    return typer.confirm(f"Is the query stopped, and should it go back to batch {plan.to}?", err=True)
