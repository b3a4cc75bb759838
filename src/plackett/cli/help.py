"""Help of a verb on one screen, in panels.

An option without ``rich_help_panel`` is explained by ``--help``. Options in a panel are listed there by name, and
explained by ``--help-all``, unless a verb has too few of them to save lines.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from typer.core import TyperCommand

from plackett.cli.shared import output

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HELP_ALL = "--help-all"
METAVARS = {int: "N", float: "X", str: "TEXT"}  # for options without a metavar
COMMAND, NAME = "bold cyan", "bold"
FEW = 2  # options in panels that ``--help`` explains too


class VerbCommand(TyperCommand):
    """A command with ``--help`` on one screen and ``--help-all``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with ``--help-all``."""

        def show(ctx: Any, param: Any, is_asked: bool) -> None:
            if is_asked and not ctx.resilient_parsing:
                output.write(help_of_verb(self, ctx, is_full=True))
                ctx.exit()

        *params, usual = super().get_params(ctx)
        full: Any = copy.copy(usual)  # versions of typer build options in different ways
        full.name, full.opts, full.callback, full.help = "help_all", [HELP_ALL], show, "Explain all options."
        return [*params, usual, full]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help on one screen."""
        formatter.write(help_of_verb(self, ctx, is_full=False))


def help_of_verb(command: Any, ctx: Any, *, is_full: bool) -> str:
    """Return the usage, the description, the panels of options and the examples of a verb."""
    console = _console()
    with console.capture() as captured:
        _print_verb(console, command, ctx, is_full)
    return captured.get()


def help_of_verbs(panels: dict[str, list[tuple[str, str]]], options: Iterable[tuple[str, str]]) -> str:
    """Return the verbs of the command in panels, and its own options."""
    console = _console()
    with console.capture() as captured:
        console.print("Usage: plackett VERB [OPTIONS] …; plackett VERB --help explains a verb.")
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        aligned = {title: [(name.ljust(width), summary) for name, summary in rows] for title, rows in panels.items()}
        _print_panels(console, {title: _grid(rows, COMMAND) for title, rows in aligned.items()})
        console.print(_grid(options))
    return captured.get()


def _print_verb(console: Console, command: Any, ctx: Any, is_full: bool) -> None:
    console.print(f"Usage: {ctx.command_path} {' '.join(_usage(command, ctx))}", markup=False)
    console.print(inspect.cleandoc(command.help or "").replace("\n\n", "\n"), markup=False)
    hints = get_type_hints(inspect.unwrap(command.callback))
    main: list[tuple[Any, Any]] = []
    others: dict[str, list[tuple[Any, Any]]] = {}
    for param in sorted(command.get_params(ctx), key=lambda param: param.param_type_name):  # arguments first
        if param.name in ("help", "help_all") or getattr(param, "hidden", False):
            continue
        panel = getattr(param, "rich_help_panel", None)
        (main if panel is None else others.setdefault(panel, [])).append((param, hints.get(param.name, str)))
    is_full = is_full or sum(map(len, others.values())) <= FEW
    explained = {"Options": main, **others} if is_full else {"Options": main}
    panels = {title: _grid(_row(param, kind, ctx) for param, kind in params) for title, params in explained.items()}
    if not is_full:
        names = [(panel, " ".join(map(_long_name, params))) for panel, params in others.items()]
        panels[f"More options: {ctx.command_path} {HELP_ALL}"] = _grid(names)
    _print_panels(console, panels)
    for example in (command.epilog or "").splitlines():
        console.print(f"Example: {example}", markup=False, soft_wrap=True)


def _usage(command: Any, ctx: Any) -> list[str]:
    arguments = [param for param in command.get_params(ctx) if param.param_type_name == "argument"]
    shown = [(param, f"{_metavar(param, str)}{'…' if param.nargs == -1 else ''}") for param in arguments]
    return [*(text if param.required else f"[{text}]" for param, text in shown), "[OPTIONS]"]


def _row(param: Any, kind: Any, ctx: Any) -> tuple[str, str]:
    """Return the names of a parameter with its value, and its text with the default."""
    text = getattr(param, "help", None) or ""
    shown = param.show_default if isinstance(param.show_default, str) else _default(param, ctx)
    if shown:
        text = f"{text.rstrip('.')} ({shown})."
    if param.param_type_name == "argument":
        return _metavar(param, kind), text
    names = ", ".join(sorted([*param.opts, *param.secondary_opts], key=lambda name: name.startswith("--")))
    return (
        names if param.is_flag else f"{names} {_metavar(param, kind)}",
        f"Required. {text}" if param.required else text,
    )


def _default(param: Any, ctx: Any) -> str:
    value = param.get_default(ctx, call=False) if param.show_default else None
    return "" if value is None or value is False or value in ("", (), []) else f"{value}"


def _metavar(param: Any, kind: Any) -> str:
    if param.metavar:
        return param.metavar
    kinds = [one for one in METAVARS if one is kind or one in get_args(kind)]
    return METAVARS[kinds[0]] if kinds and param.param_type_name == "option" else str(param.name).upper()


def _long_name(named: tuple[Any, Any]) -> str:
    return next((name for name in named[0].opts if name.startswith("--")), named[0].opts[0])


# --- Drawing ----------------------------------------------------------------------------------------------------------


def _console() -> Console:
    from rich.console import Console

    return Console(color_system="auto" if output.is_coloured("stdout") else None, highlight=False, emoji=False)


def _grid(rows: Iterable[Sequence[str]], style: str = NAME) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column()
    for left, right in rows:
        grid.add_row(Text(left), Text(right))
    return grid


def _print_panels(console: Console, panels: dict[str, Table]) -> None:
    """Print panels one below the other; the upper border of a panel is the lower one of the panel before."""
    from rich.box import ROUNDED, Box
    from rich.panel import Panel
    from rich.segment import Segment, Segments
    from rich.text import Text

    below = Box("\n".join(["├──┤", *str(ROUNDED).split("\n")[1:]]))
    for number, (title, content) in enumerate(panels.items(), 1):
        box = ROUNDED if number == 1 else below
        lines = console.render_lines(Panel(content, box, title=Text(title), title_align="left", border_style="dim"))
        shown = lines if number == len(panels) else lines[:-1]
        console.print(Segments([piece for line in shown for piece in [*line, Segment.line()]]), end="")
