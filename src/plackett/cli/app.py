"""The application: its verbs, error messages and exit statuses."""

from __future__ import annotations

import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from plackett import __version__
from plackett._names import did_you_mean, similar_names
from plackett.cli.errors import MEANT, show_error
from plackett.cli.help import VerbCommand, help_of_verbs
from plackett.cli.shared import completion, output
from plackett.cli.verbs import VERBS

STOPPED = 130  # the exit status that shells expect after Ctrl-C
SETTINGS = {"help_option_names": ["-h", "--help"]}
OPTIONS = [
    ("--version, --install-completion", "Show the version; install completion."),
]


class Verbs(TyperGroup):
    """The verbs; the module of a verb is imported when the verb is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb, or None."""
        return load_verb(cmd_name) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb and its arguments; for an unknown verb, fail and name similar ones."""
        if args[0] not in VERBS:
            similar = [MEANT[args[0]]] if args[0] in MEANT else similar_names(args[0], VERBS)
            ctx.fail(f"there is no verb {args[0]!r}.{did_you_mean(similar)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return verbs, without importing them, and options."""
        verbs = [(name, verb.summary) for name, verb in VERBS.items() if name.startswith(incomplete)]
        return completion.items(verbs) or super(TyperGroup, self).shell_complete(ctx, incomplete)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, verb in VERBS.items():
            panels.setdefault(verb.panel, []).append((name, verb.summary))
        formatter.write(help_of_verbs(panels, OPTIONS))


def load_verb(name: str) -> Any:
    """Import the module of a verb, and return its command."""
    verb = typer.Typer(add_completion=False, context_settings=SETTINGS, pretty_exceptions_enable=False)
    function = getattr(import_module(f"plackett.cli.{name}"), name)
    examples = "\n".join(f"plackett {words}" for words in VERBS[name].examples)
    verb.command(name, cls=VerbCommand, epilog=examples)(function)
    return typer.main.get_command(verb)


def make_app() -> typer.Typer:
    """Return the command."""
    app = typer.Typer(
        name="plackett",
        cls=Verbs,
        invoke_without_command=True,
        context_settings=SETTINGS,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    return app


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"plackett {__version__}")
        raise typer.Exit


def _options(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    if ctx.invoked_subcommand is None:
        from plackett.cli.welcome import show_welcome

        show_welcome()


# --- Errors -----------------------------------------------------------------------------------------------------------


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    output.alert("warning", str(message))


def main() -> None:
    """Run the command: exit status 0, 1 for a failed run, 2 for wrong usage, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        app = typer.main.get_command(make_app())
        completion.join_words_of_bash()
        status = app.main(prog_name="plackett", standalone_mode=False)
    except KeyboardInterrupt:
        status = STOPPED
    except Exception as error:
        if os.environ.get("PLACKETT_DEBUG"):
            raise
        word = next(iter(sys.argv[1:]), None)
        status = show_error(error, load_verb(word) if word in VERBS else None)
    if status == STOPPED:
        typer.echo("plackett: stopped.", err=True)
    sys.exit(status or 0)
