"""`weft warm`: have all kernels compiled before the first join needs them, with a bar that shows how far it is.

What is compiled then is written down beside the machine code, so that it goes where that goes, and compared later with what is
still there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from weft.cli.output import err, out, print_json
from weft.cli.warm_joins import STEPS, WarmStep
from weft.errors import WeftError
from weft.kernels.jit import cache_folder, kept_variants, told_of_compiling

__all__ = ["CompiledKernels", "compiled", "note_compiled", "run_warm", "warm_for"]


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


def _run(steps: Sequence[WarmStep], *, quiet: bool) -> list[dict[str, str | float | int]]:
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


_RECORD = "weft-warm.json"


@dataclass(frozen=True)
class CompiledKernels:
    """How many of the variants that joins need are compiled; nobody knows how many they need where `weft warm` never ran."""

    ready: int
    wanted: int | None
    folder: str

    @property
    def all(self) -> bool:
        """Tell whether no join has to compile."""
        return self.wanted is not None and self.ready == self.wanted

    def __str__(self) -> str:
        """Say it in a line.

        >>> print(CompiledKernels(12, 211, "/cache"))
        partly compiled: 12 of 211, in /cache
        """
        if not self.ready:
            return f"not compiled, in {self.folder}"
        many = f"{self.ready:,} by earlier joins" if self.wanted is None else f"{self.ready:,} of {self.wanted:,}"
        return f"{'' if self.all else 'partly '}compiled: {many}, in {self.folder}"


def note_compiled() -> CompiledKernels:
    """Write down what is compiled now, after all kinds of joins have run."""
    folder, there = cache_folder(), sorted(_there())
    hint = "set NUMBA_CACHE_DIR to a writable folder."
    if folder is None:
        raise WeftError.of("Compiled kernels cannot be cached: no folder is writable.", "", hint)
    aside = folder / f".{_RECORD}.{os.getpid()}"
    try:
        aside.write_text(json.dumps({"weft": _version(), "variants": there}), encoding="utf-8")
        aside.replace(folder / _RECORD)
    except OSError as error:
        raise WeftError.of(
            f"Nothing can be cached in {folder}: {error}.", "Compiled kernels are cached there.", hint
        ) from error
    return CompiledKernels(len(there), len(there), str(folder))


def compiled() -> CompiledKernels:
    """Compare what is compiled with what was written down by this version of Weft."""
    folder, there = cache_folder(), _there()
    if folder is None:
        return CompiledKernels(0, None, "no folder")
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        wanted = set(record["variants"]) if record["weft"] == _version() else None
    except (OSError, ValueError, KeyError, TypeError):
        wanted = None
    return CompiledKernels(
        len(there if wanted is None else there & wanted), None if wanted is None else len(wanted), str(folder)
    )


def _there() -> set[str]:
    return {variant for variant, file in kept_variants().items() if Path(file).exists()}


def _version() -> str:
    from weft import __version__

    return __version__
