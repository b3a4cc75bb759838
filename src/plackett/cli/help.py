"""Help of a verb on one screen, in panels.

An option without a panel is explained by ``--help``. Options in a panel are listed there by name, and explained by
``--help-all``, unless a verb has too few of them to save lines.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from plackett._names import did_you_mean, similar_names
from plackett.cli.shared import output
from plackett.cli.verbs import PANELS, VERBS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SETTINGS = {"help_option_names": ["-h", "--help"]}
HELP_ALL = "--help-all"
METAVARS = {"integer": "N", "integer range": "N", "float": "X", "float range": "X", "text": "TEXT"}
COMMAND, NAME = "bold cyan", "bold"
FEW = 2  # options in panels that ``--help`` explains too


class Command(click.Command):
    """A command with ``--help`` on one screen and ``--help-all``."""

    explained = ""  # a panel that ``--help`` explains, too

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with ``--help-all``."""

        def show(ctx: Any, param: Any, is_asked: bool) -> None:
            if is_asked and not ctx.resilient_parsing:
                output.write(help_of_verb(self, ctx, is_full=True))
                ctx.exit()

        full = click.Option(
            [HELP_ALL], is_flag=True, is_eager=True, expose_value=False, callback=show, help="Explain all options."
        )
        return [*super().get_params(ctx), full]

    def invoke(self, ctx: Any) -> Any:
        """Run the command, if the files that it reads exist."""
        from plackett.cli.shared import files

        files.check_files(ctx, self.params)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help on one screen."""
        formatter.write(help_of_verb(self, ctx, is_full=False))


class Group(click.Group):
    """A verb with commands of its own. Words that name none of them go to the command without a name, if it has one."""

    command_class = Command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the command without a name."""
        if "" in self.commands and (args[:1] or ["-"])[0] not in self.commands:
            args = ["", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of their definition."""
        return [name for name in self.commands if name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; for an unknown one, fail and name those that exist."""
        if args[0] not in self.commands:
            names = self.list_commands(ctx)
            *first, last = names
            ctx.fail(
                f"there is no {ctx.command_path} {args[0]!r}.{did_you_mean(similar_names(args[0], names))} "
                f"Its commands are {', '.join(first)} and {last}."
            )
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the commands."""
        path = ctx.command_path
        lines = [f"Usage: {path} COMMAND …; {path} COMMAND --help explains a command.", _text_of(self)]
        rows = [(name, _text_of(self.commands[name]).partition("\n")[0]) for name in self.list_commands(ctx)]
        formatter.write(_page(lines, {"Commands": _grid(rows, COMMAND)}, _examples(path)))


def help_of_verbs(options: Iterable[tuple[str, str]]) -> str:
    """Return the verbs of the command in panels, and its own options."""
    usage = "Usage: plackett VERB [OPTIONS] …; plackett VERB --help explains a verb."
    width = max(map(len, VERBS))
    panels = {
        title: _grid(((name.ljust(width), summary) for name, (summary, *_) in verbs.items()), COMMAND)
        for title, verbs in PANELS.items()
    }
    return _page([usage], panels, [_grid(options)])


def help_of_verb(command: Any, ctx: Any, *, is_full: bool) -> str:
    """Return the usage, the description, the panels of options and the examples of a verb."""
    path = ctx.command_path.strip()
    main: list[Any] = []
    others: dict[str, list[Any]] = {}
    for param in sorted(command.get_params(ctx), key=lambda param: param.param_type_name):  # arguments first
        if param.name in ("help", "help_all") or getattr(param, "hidden", False):
            continue
        panel = getattr(param, "panel", None)
        (main if panel is None else others.setdefault(panel, [])).append(param)
    is_full = is_full or sum(map(len, others.values())) <= FEW
    explained = {"Options": main}
    explained |= {title: own for title, own in others.items() if is_full or title == command.explained}
    panels = {title: _grid(row_of(param, ctx) for param in params) for title, params in explained.items()}
    folded = {title: own for title, own in others.items() if title not in explained}
    if folded:
        names = [(panel, " ".join(map(long_name, params))) for panel, params in folded.items()]
        panels[f"More options: {path} {HELP_ALL}"] = _grid(names)
    return _page([f"Usage: {path} {_usage(command, ctx)}", _text_of(command)], panels, _examples(path))


def _text_of(command: Any) -> str:
    return inspect.cleandoc(command.help or "").replace("\n\n", "\n").replace("\b\n", "")


def _examples(path: str) -> list[str]:
    """Return the examples of a verb, or those of one of its commands."""
    words = path.split()[1:]
    every = VERBS.get(words[0], ())[1:] if words else ()
    return [f"Example: plackett {example}" for example in every if f"{example} ".startswith(f"{' '.join(words)} ")]


def _usage(command: Any, ctx: Any) -> str:
    arguments = [param for param in command.get_params(ctx) if param.param_type_name == "argument"]
    shown = [(param, f"{_metavar(param)}{'…' if param.nargs == -1 else ''}") for param in arguments]
    return " ".join([*(text if param.required else f"[{text}]" for param, text in shown), "[OPTIONS]"])


def row_of(param: Any, ctx: Any) -> tuple[str, str]:
    """Return the names of a parameter with its value, and its text with the default."""
    text = getattr(param, "help", None) or ""
    if param.param_type_name == "argument":
        return _metavar(param), text
    shown = param.show_default if isinstance(param.show_default, str) else _default(param, ctx)
    if shown:
        text = f"{text.rstrip('.')} ({shown})."
    names = ", ".join(sorted([*param.opts, *param.secondary_opts], key=lambda name: name.startswith("--")))
    return (names if param.is_flag else f"{names} {_metavar(param)}", f"Required. {text}" if param.required else text)


def _default(param: Any, ctx: Any) -> str:
    value = param.to_info_dict().get("default") if param.show_default else None
    return "" if value is None or value is False or value in ("", (), []) else f"{value}"


def _metavar(param: Any) -> str:
    if param.metavar:
        return param.metavar
    return METAVARS.get(param.type.name, "TEXT") if param.param_type_name == "option" else str(param.name).upper()


def long_name(param: Any) -> str:
    """Return the first long name of an option, or its short name."""
    return next((name for name in param.opts if name.startswith("--")), param.opts[0])


# --- Drawing ----------------------------------------------------------------------------------------------------------


def _page(lines: Iterable[str], panels: dict[str, Table], end: Iterable[Any]) -> str:
    from rich.console import Console

    console = Console(color_system="auto" if output.is_coloured("stdout") else None, highlight=False, emoji=False)
    with console.capture() as captured:
        for line in lines:
            console.print(line, markup=False)
        _print_panels(console, panels)
        for part in end:
            console.print(part, markup=False, soft_wrap=isinstance(part, str))  # an example in one line can be copied
    return captured.get()


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
