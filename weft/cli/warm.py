"""`weft warm`: have all kernels compiled before the first join needs them, with a bar that shows how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from weft.cli.output import err, out, print_json
from weft.kernels.compiled import kept_variants, told_of_compiling
from weft.local.compiled import compiled, note_compiled
from weft.local.warm import STEPS, Step

__all__ = ["run_warm", "warm_for"]


def run_warm(*, as_json: bool) -> int:
    """Run all kinds of joins."""
    started, before = time.perf_counter(), len(kept_variants())
    steps = _run(STEPS, quiet=as_json)
    now, seconds = note_compiled(), time.perf_counter() - started
    new = now.ready - before
    if as_json:
        facts = {"seconds": round(seconds, 2), "compiled": new, "variants": now.ready, "folder": now.folder}
        print_json({**facts, "steps": steps})
    else:
        when = f"{new:,} of them now, in {seconds:.0f} s" if new else "all of them before"
        out().print(Text(f"Kernels {now}; {when}."), soft_wrap=True)
    return 0


def warm_for(name: str, *, quiet: bool) -> None:
    """Have what one kind of join needs compiled, unless it is."""
    if not compiled().all:
        _run([step for step in STEPS if step.name == name], quiet=quiet)


def _run(steps: Sequence[Step], *, quiet: bool) -> list[dict[str, str | float | int]]:
    """Run steps; return name, seconds and number of variants compiled of each."""
    done: list[dict[str, str | float | int]] = []
    with _shown(sum(len(step.joins) for step in steps), quiet) as (begin, compiling), told_of_compiling(compiling):
        for step in steps:
            started, before = time.perf_counter(), len(kept_variants())
            for join in step.joins:
                begin(step.name)
                join()
            new, seconds = len(kept_variants()) - before, round(time.perf_counter() - started, 2)
            done.append({"name": step.name, "seconds": seconds, "compiled": new})
            if not quiet and not err().is_terminal:
                err().print(Text(f"{step.name}: {new} compiled, {seconds:.1f} s"), soft_wrap=True)
    return done


@contextmanager
def _shown(total: int, quiet: bool) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Show a bar on a terminal; yield what tells it of the next join, and of a kernel that is compiled."""
    console = err()
    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("[dim]{task.fields[now]:.32}"))
    hidden = quiet or not console.is_terminal
    with Progress(
        SpinnerColumn(), TextColumn("compiling"), *columns, console=console, transient=True, disable=hidden
    ) as bar:
        task, begun = bar.add_task("", total=total, now=""), count()
        yield (
            lambda name: bar.update(task, completed=next(begun), now=name),
            lambda name: bar.update(task, now=name),
        )
