"""The application: its verbs, error messages and exit statuses."""

from __future__ import annotations

import io
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from plackett import __version__
from plackett._names import did_you_mean, similar_names
from plackett.cli.errors import MEANT, as_options, show_error
from plackett.cli.help import SETTINGS, help_of_verbs
from plackett.cli.shared import completion, output
from plackett.cli.verbs import VERBS

STOPPED = 130  # the exit status that shells expect after Ctrl-C
OPTIONS = [("--version, --install-completion", "Show the version; install completion.")]


class Verbs(click.Group):
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

    def invoke(self, ctx: Any) -> Any:
        """Run the verb. Ctrl-C ends it here: click would print an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            return ctx.exit(STOPPED)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return verbs, without importing them, and options."""
        verbs = [(name, summary) for name, (summary, *_) in VERBS.items() if name.startswith(incomplete)]
        return completion.items(verbs) or click.Command.shell_complete(self, ctx, incomplete)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs."""
        formatter.write(help_of_verbs(OPTIONS))


def load_verb(name: str) -> Any:
    """Import the module of a verb, and return its command."""
    return getattr(import_module(f"plackett.cli.{name}"), name)


def _install_completion(ctx: Any, param: Any, is_asked: bool) -> None:
    if not is_asked:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in completion.STARTS:
        ctx.fail(f"the shell {shell!r} is not known; completion works in {', '.join(completion.STARTS)}.")
    click.echo(completion.install(shell))
    ctx.exit()


@click.group("plackett", cls=Verbs, invoke_without_command=True, context_settings=SETTINGS)
@click.version_option(__version__, message="plackett %(version)s")
@click.option("--install-completion", is_flag=True, is_eager=True, expose_value=False, callback=_install_completion)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Learning to rank."""
    if ctx.invoked_subcommand is None:
        from plackett.cli.welcome import show_welcome

        show_welcome()


# --- Errors -----------------------------------------------------------------------------------------------------------


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    output.alert("warning", as_options(str(message)))


def main() -> None:
    """Run the command: exit status 0, 1 for a failed run, 2 for wrong usage, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app.main(prog_name="plackett", standalone_mode=False)
    except KeyboardInterrupt:
        status = STOPPED
    except Exception as error:
        if os.environ.get("PLACKETT_DEBUG"):
            raise
        status = show_error(error, *command_of(sys.argv[1:]))
    if status == STOPPED:
        click.echo("plackett: stopped.", err=True)
    sys.exit(status or 0)


def command_of(words: list[str]) -> tuple[Any, str]:
    """Return the command that words begin with, or None, and how a user calls it."""
    if not words or words[0] not in VERBS:
        return None, "plackett"
    verb, path = load_verb(words[0]), f"plackett {words[0]}"
    if isinstance(verb, click.Group):
        name = words[1] if words[1:] and words[1] in verb.commands else ""
        return verb.commands.get(name, verb), f"{path} {name}".strip()
    return verb, path
