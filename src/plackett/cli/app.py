"""The application: its verbs, error messages and exit statuses."""

from __future__ import annotations

import difflib
import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from plackett import __version__
from plackett.cli.help import VerbCommand, help_of_verbs
from plackett.cli.shared import output
from plackett.cli.verbs import VERBS

STOPPED = 130  # the exit status that shells expect after Ctrl-C
UsageError: Any = typer.BadParameter.__base__  # click's; recent versions of typer have a copy of click inside
SETTINGS = {"help_option_names": ["-h", "--help"]}
OPTIONS = [
    ("VERB --help", "Show the usual options of a verb; --help-all explains all."),
    ("--install-completion", "Install completion for this shell."),
    ("--version", "Show the version."),
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
            similar = difflib.get_close_matches(args[0], VERBS)
            meant = f" Did you mean {' or '.join(similar)}?" if similar else ""
            ctx.fail(f"there is no verb {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return verbs, without importing them, and options."""
        from plackett.cli.shared.completion import items

        verbs = [(name, verb.summary) for name, verb in VERBS.items() if name.startswith(incomplete)]
        return items(verbs) or super(TyperGroup, self).shell_complete(ctx, incomplete)

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
        status = typer.main.get_command(make_app()).main(prog_name="plackett", standalone_mode=False)
    except KeyboardInterrupt:
        status = STOPPED
    except UsageError as error:
        path = "plackett" if error.ctx is None else error.ctx.command_path
        output.alert("error", _usage_message(error), f"{path} --help shows the usage.")
        status = error.exit_code
    except Exception as error:
        if os.environ.get("PLACKETT_DEBUG"):
            raise
        output.alert("error", _message(error), _hint(error))
        status = 1
    if status == STOPPED:
        typer.echo("plackett: stopped.", err=True)
    sys.exit(status or 0)


def _usage_message(error: Any) -> str:
    """Return the message; click adds "Invalid value" and the option to messages about one option."""
    names_option = getattr(error, "param", None) is not None or getattr(error, "param_hint", None) is not None
    if hasattr(error.__cause__, "errors"):  # pydantic's, in recent versions of typer, which do not show the value
        first = error.__cause__.errors()[0]
        error.message = first["msg"].partition(", unable")[0].replace("Input", repr(first["input"]), 1) + "."
    return error.message if isinstance(error, typer.BadParameter) and not names_option else error.format_message()


def _message(error: Exception) -> str:
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return message or type(error).__name__


def _hint(error: Exception) -> str | None:
    """Return a hint for an error whose message does not say what to do, or None."""
    if notes := getattr(error, "__notes__", None):
        return " ".join(notes)
    if isinstance(error, (ValueError, OSError, KeyError, ModuleNotFoundError, MemoryError)):
        return None
    return f"this is a {type(error).__name__}; set PLACKETT_DEBUG=1 to see the traceback."
