"""The command's frame: its verbs, how errors look, and how it ends."""

from __future__ import annotations

import io
import os
import sys
import warnings

import typer

from plackett import __version__
from plackett.cli.compare import EXAMPLE as EXAMPLE_OF_COMPARE
from plackett.cli.compare import compare
from plackett.cli.evaluate import evaluate
from plackett.cli.explain import explain
from plackett.cli.export import EXAMPLE as EXAMPLE_OF_EXPORT
from plackett.cli.export import export
from plackett.cli.index import index
from plackett.cli.info import info
from plackett.cli.rank import rank
from plackett.cli.refine import refine
from plackett.cli.reproduce import EXAMPLE as EXAMPLE_OF_REPRODUCE
from plackett.cli.reproduce import reproduce
from plackett.cli.search import search
from plackett.cli.train import TrainCommand, train
from plackett.cli.tune import EXAMPLE as EXAMPLE_OF_TUNE
from plackett.cli.tune import tune

STOPPED = 130  # what shells expect of a command that Ctrl-C ended

app = typer.Typer(
    name="plackett",
    help="Learning to rank: look at judged lists, train rankers, rank, measure rankings by every tool's rules.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(info)
app.command(cls=TrainCommand)(train)
app.command(epilog=EXAMPLE_OF_TUNE)(tune)
app.command()(rank)
app.command()(explain)
app.command()(evaluate)
app.command(epilog=EXAMPLE_OF_COMPARE)(compare)
app.command()(refine)
app.command(epilog=EXAMPLE_OF_EXPORT)(export)
app.command()(index)
app.command()(search)
app.command(epilog=EXAMPLE_OF_REPRODUCE)(reproduce)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"plackett {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    typer.echo(f"plackett: warning: {message}", err=True)


def main() -> None:
    """Run the command: exit status 0, 1 for a failed run, 2 for wrong usage, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an id that the terminal cannot show is escaped, not fatal
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != STOPPED:  # typer turns Ctrl-C into this exit
            raise
        typer.echo("plackett: stopped.", err=True)
        sys.exit(STOPPED)
    except Exception as error:
        if os.environ.get("PLACKETT_DEBUG"):
            raise
        message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        typer.echo(f"plackett: error: {message or type(error).__name__}", err=True)
        if not isinstance(error, (ValueError, OSError, KeyError, ModuleNotFoundError, MemoryError)):
            typer.echo(f"  ({type(error).__name__}; PLACKETT_DEBUG=1 shows where it comes from)", err=True)
        sys.exit(1)
