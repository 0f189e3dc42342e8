"""The commands of the laboratory. Each is in its own module and is added here: an import and a line."""

from __future__ import annotations

from typing import Annotated

import typer

from weft.cli.output import SETTINGS
from weft_lab.cli.bench import bench_app
from weft_lab.cli.fuzz import FUZZ_EXAMPLES, fuzz
from weft_lab.cli.paper import EXAMPLES, paper
from weft_lab.cli.torture import TORTURE_EXAMPLES, torture

__all__ = ["app", "main"]

app = typer.Typer(
    name="weft-lab", no_args_is_help=True, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False,
    context_settings=SETTINGS, help="Measure and torture Weft: benchmarks, figures of the papers, torture, fuzzing.",
)  # fmt: skip
app.add_typer(bench_app, name="bench")
app.command(epilog=EXAMPLES)(paper)
app.command(epilog=TORTURE_EXAMPLES)(torture)
app.command(epilog=FUZZ_EXAMPLES)(fuzz)


def _version(wanted: bool) -> None:
    if wanted:
        from weft import __version__

        typer.echo(f"weft-lab {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure and torture Weft: benchmarks, figures of the papers, torture, fuzzing."""


def main() -> None:
    """Run the command line."""
    app()
