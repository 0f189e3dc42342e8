"""`weft ui` and `weft state plot`: the pages of `weft.ui`, served, or written into one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from weft.cli.output import err, on_stop, out, print_json
from weft.errors import NoSuchState, SpecError
from weft.ui import PORT, RunningUi, Watcher, frozen_page, serve

__all__ = ["plot_state", "run_ui", "shown_beside"]


def run_ui(
    paths: list[str], *, host: str, port: int, token: str | None, every: float, as_json: bool
) -> int:  # fmt: skip
    """Serve the pages until Ctrl-C."""
    running = serve(paths, host=host, port=port, token=token, every=every)
    if as_json:
        print_json({"url": running.url, "paths": paths}, indent=None)
    else:
        out().print(Text.assemble(("Weft is at ", ""), (running.url, "bold cyan")), soft_wrap=True)
        err().print(Text("Ctrl-C ends it; the queries go on.", style="dim"))
    with on_stop() as stopped:
        while not stopped() and not running.wait(0.2):
            pass
    running.stop()
    return 0


def plot_state(path: str, *, file: Path, as_json: bool) -> int:
    """Write the pages of the queries at a path into one file."""
    watcher = Watcher([path])
    watcher.look_at_all()
    lines = watcher.lines()
    if not lines["queries"]:
        hint = "`weft state ls PATH` lists the queries under a state path."
        raise NoSuchState.of(f"No query has state at {path}.", "; ".join(lines["trouble"]), hint)
    page = frozen_page(watcher)
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SpecError.of(f"{file} cannot be written: {error}.", "", "give --out another file.") from error
    if as_json:
        print_json(
            {"file": str(file), "bytes": len(page.encode()), "queries": [line["query"] for line in lines["queries"]]}
        )
    else:
        out().print(
            Text.assemble((str(file), "bold cyan"), f"  {len(page.encode()) / 1000:,.0f} kB, opens in any browser")
        )
    return 0


@contextmanager
def shown_beside(state: str, *, wanted: bool, quiet: bool) -> Iterator[RunningUi | None]:
    """Serve the pages of a state path while something runs, at the usual port or any that is free."""
    if not wanted:
        yield None
        return
    try:
        running = serve([state])
    except SpecError as error:
        if f":{PORT}" not in str(error):
            raise
        running = serve([state], port=0)
    if not quiet:
        err().print(Text.assemble(("Watch it at ", ""), (running.url, "bold cyan")), soft_wrap=True)
    try:
        yield running
    finally:
        running.stop()
