"""The application: its verbs, error messages and exit statuses."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module

import typer

from plackett import __version__
from plackett.rankers.registry import ENTRIES

STOPPED = 130  # the exit status that shells expect after Ctrl-C
RANKERS = f"Rankers: {', '.join(ENTRIES)}."

# verbs, each a function in the module of its name, with the last lines of their help
VERBS: dict[str, list[str]] = {
    "info": ["Example: plackett info train.txt"],
    "train": [
        RANKERS,
        "Example: plackett train train.txt --validation vali.txt -r ranksvm --tune-l2 -o model.plackett",
    ],
    "tune": [
        RANKERS,
        "Example: plackett tune train.txt --validation vali.txt -r ranksvm --grid l2=1,0.1,0.01 -o model.plackett",
    ],
    "rank": ["Example: plackett rank model.plackett test.txt --run mine -o test.run"],
    "explain": ["Example: plackett explain model.plackett test.txt --query 18219"],
    "evaluate": [
        "Example: plackett evaluate test.txt scores.txt -m ndcg@10,map --convention letor4",
        "Example: plackett evaluate qrels.txt bm25.run dense.run --report runs.html",
        "Example: plackett evaluate new.run logged --clicks log.csv --propensities em",
    ],
    "compare": ["Example: plackett compare mq2008 -r listmle,ranksvm,adarank --folder runs --report mq2008.html"],
    "refine": ["Example: plackett refine lists.txt --base bm25 --feedback clicks.csv --run refined -o refined.run"],
    "clicks": [
        "Example: plackett clicks info ubi_queries.ndjson ubi_events.ndjson",
        "Example: plackett clicks judge clicks.csv -m ubm -o clicks.qrels",
        "Example: plackett clicks compare clicks.csv -m pbm,ubm,dbn",
    ],
    "interleave": ["Example: plackett interleave simulate test.txt --ranker-a bm25 --ranker-b model.plackett -n 5000"],
    "export": ["Example: plackett export model.plackett --to solr --features names.txt --check test.txt -o solr.json"],
    "serve": ["Example: plackett serve shop=model.plackett other=model2.plackett --shadow other"],
    "index": ["Example: plackett index notes/ -o notes.index"],
    "search": ["Example: plackett search notes.index 'learning to rank' -k 5"],
    "workbench": ["Example: plackett workbench notes/ --no-browser"],
    "reproduce": ["Example: plackett reproduce p-listmle --quick --data ~/data > p-listmle.md"],
}


def make_app(verbs: Iterable[str] = tuple(VERBS)) -> typer.Typer:
    """Return the command with these verbs; only their modules are imported."""
    app = typer.Typer(
        name="plackett",
        help="Learning to rank: describe judged lists, train and compare rankers, rank, and evaluate rankings.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for verb in verbs:
        function = getattr(import_module(f"plackett.cli.{verb}"), verb)
        app.command(epilog="\n\n".join(VERBS[verb]))(function)
    return app


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"plackett {__version__}")
        raise typer.Exit


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
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    named = [word for word in sys.argv[1:2] if word in VERBS]
    try:
        make_app(named or VERBS)()
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
