"""Options: single ones that many verbs have, and groups of options, which a verb takes as one object.

An option with a ``panel`` is only named by ``--help``, and explained by ``--help-all``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import click

from plackett.cli.help import SETTINGS, Command, Group
from plackett.cli.shared import completion

# those of get_normalizer, whose module is slow to import
NORMALIZERS = ("query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "maxabs", "zscore", "quantile")
METHOD, CLICKS, FILES, OUTPUT, COLUMNS = "Method", "Clicks", "Files", "Output", "Columns of a table"
command = functools.partial(click.command, cls=Command, context_settings=SETTINGS)
group_of_commands = functools.partial(click.group, cls=Group, context_settings=SETTINGS)


class Option(click.Option):
    """An option in a panel of the help; ``complete`` returns the names that the shell offers for its value."""

    def __init__(
        self,
        names: Any,
        *,
        panel: str | None = None,
        complete: Callable[[str], completion.Pairs] | None = None,
        show_default: Any = True,
        **about: Any,
    ):
        if complete is not None:
            about["shell_complete"] = completion.of_param(complete)
        super().__init__(names, show_default=show_default, **about)
        self.panel = panel


class Argument(click.Argument):
    """An argument with a text in the help."""

    def __init__(self, names: Any, *, help: str, complete: Any = None, **about: Any):
        if complete is not None:
            about["shell_complete"] = completion.of_param(complete)
        super().__init__(names, **about)
        self.help = help


option = functools.partial(click.option, cls=Option)
argument = functools.partial(click.argument, cls=Argument)


class Numbers(click.ParamType):
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """Return the numbers."""
        try:
            return [float(part) for part in value.split(",")]
        except ValueError:
            return self.fail(f"{value!r}: expected numbers separated by commas, such as 1,0.1,0.01.", param, ctx)


class Number(click.FloatRange):
    """A number in a range; NaN is in none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if number != number else number


def flag(*names: str, **about: Any) -> Callable:
    """Return an option without a value."""
    return option(*names, is_flag=True, **about)


def several(ctx: Any, param: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split values of a repeatable option at commas."""
    return tuple(name for value in values for part in value.split(",") if (name := part.strip()))


def data_argument(text: str = "LETOR files or tables, '-', or a known set.", *, required: bool = True) -> Callable:
    """Return the argument DATA."""
    return argument(
        "data", metavar="DATA", nargs=-1, required=required, help=text, complete=completion.data, callback=as_list
    )


def as_list(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str]:
    """Return repeated values as a list."""
    return list(values)


def measures_option(text: str, default: str | None = None, panel: str | None = None) -> Callable:
    """Return ``-m``, measures with commas between them; None if none is given and there is no default."""
    return option(
        "-m", "--metrics", "metrics", metavar="NAMES", multiple=True, help=text, panel=panel,
        show_default=default or False, complete=completion.measures,
        callback=lambda ctx, param, values: list(values) or default,
    )  # fmt: skip


CONVENTION = option(
    "-c", "--convention", metavar="NAME", default="standard", panel=METHOD, complete=completion.conventions,
    help="standard, paper, letor3, letor4, trec, sklearn, lightgbm, xgboost, gdeval, ranx.",
)  # fmt: skip
SEED = option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.", panel=METHOD)
JSON = flag("--json", "as_json", help="Print JSON.", panel=OUTPUT)
QUIET = flag("-q", "--quiet", help="No progress, no notes.", panel=OUTPUT)
MODEL = argument("model", metavar="MODEL", help="A model of plackett train or another tool.")
SETTINGS_OPTION = option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, callback=as_list, help="A parameter; repeatable."
)


# --- Groups -----------------------------------------------------------------------------------------------------------


def one(*names: str, default: Any = None, **about: Any) -> Any:
    """Return a field of a group: an option, declared once for all verbs."""
    return field(default=default, metadata={"names": names, "about": {"default": default, **about}})


class Options:
    """A group of options. Subclasses are frozen dataclasses whose fields are made by ``one``."""

    @classmethod
    def takes(cls, verb: Callable) -> Callable:
        """Add the options to a verb, which gets an object of this class, by the name of the class."""

        @functools.wraps(verb)
        def run(**values: Any) -> Any:
            own = {part.name: values.pop(part.name) for part in fields(cls)}  # type: ignore[arg-type]
            return verb(**values, **{cls.__name__.lower(): cls(**own)})

        for part in reversed(fields(cls)):  # type: ignore[arg-type]
            run = option(*part.metadata["names"], part.name, **part.metadata["about"])(run)
        return run


@dataclass(frozen=True)
class Source(Options):
    """How DATA are read: the columns of tables, the numbers of features, the cache."""

    qid: str | None = one("--qid", metavar="COLUMN", help="Query ids. Default: qid.", panel=COLUMNS)
    label: str | None = one("--label", metavar="COLUMN", help="Labels. Default: label.", panel=COLUMNS)
    docid: str | None = one("--docid", metavar="COLUMN", help="Names of documents. Default: docid.", panel=COLUMNS)
    drop: tuple[str, ...] = one(
        "--drop", default=(), multiple=True, callback=several, metavar="COLUMN", panel=COLUMNS,
        help="Columns that are not features, comma-separated.",
    )  # fmt: skip
    categorical: tuple[str, ...] = one(
        "--categorical", default=(), multiple=True, callback=several, metavar="COLUMN", panel=COLUMNS,
        help="Numeric columns that are categories.",
    )  # fmt: skip
    sql: str | None = one("--sql", metavar="QUERY", help="Query of an SQLite database: SELECT ...", panel=COLUMNS)
    zero_based: bool = one(
        "--zero-based", default=False, is_flag=True, help="Feature numbers of files start at 0.", panel=FILES
    )
    sparse: bool = one(
        "--sparse", default=False, is_flag=True, help="Read LETOR files as a sparse matrix.", panel=FILES
    )
    cache: bool = one(
        "--cache", default=False, is_flag=True, help="Cache the parsed files, memory-mapped.", panel=FILES
    )

    def columns(self) -> dict[str, Any]:
        """Return the columns that were named, as arguments of ``from_frame``."""
        names = ("qid", "label", "docid", "drop", "categorical", "sql")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass(frozen=True)
class Preparation(Options):
    """Rules for missing values and categories."""

    missing: str | None = one(
        "--missing", metavar="RULE", help="zero, mean, median, min or query-median.", panel=COLUMNS
    )
    missing_indicator: bool = one(
        "--missing-indicator", default=False, is_flag=True, help="Also add columns that mark NaN.", panel=COLUMNS
    )
    encoding: str | None = one("--encoding", metavar="HOW", help="Encode text: one-hot, target.", panel=COLUMNS)

    def of(self, contestant: Any) -> Any:
        """Return a contestant with these rules, where it has the parameters."""
        from plackett.evaluation.compare.contestants import with_preparation

        return with_preparation(contestant, self.missing, self.missing_indicator or None, self.encoding)


@dataclass(frozen=True)
class Show(Options):
    """The format of a result."""

    json: bool = one("--json", default=False, is_flag=True, help="Print JSON.", panel=OUTPUT)
    csv: bool = one("--csv", default=False, is_flag=True, help="Print CSV.", panel=OUTPUT)
    markdown: bool = one("--markdown", default=False, is_flag=True, help="Print a Markdown table.", panel=OUTPUT)
    latex: bool = one("--latex", default=False, is_flag=True, help="Print a LaTeX table.", panel=OUTPUT)

    @property
    def form(self) -> str:
        """The one format that was chosen, or "table"; raises a usage error for several."""
        names = [part.name for part in fields(self) if getattr(self, part.name)]
        if len(names) > 1:
            raise click.BadParameter("choose one of --json, --csv, --markdown and --latex.")
        return names[0] if names else "table"


@dataclass(frozen=True)
class Server(Options):
    """Where a service listens, and the token that it asks for."""

    host: str = one(
        "--host", default="127.0.0.1", metavar="HOST",
        help="Address to listen on; non-loopback addresses need a token.",
    )  # fmt: skip
    port: int | None = one(
        "--port",
        metavar="N",
        type=click.IntRange(0, 65535),
        help="Port to listen on; 0 means any free port.",
        show_default="serve 8766, workbench 8765",
    )
    token: str | None = one(
        "--token", metavar="TOKEN", envvar="PLACKETT_TOKEN",
        help="Token that requests must send; generated if one is needed.",
    )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """Return host, port and token, a new token if the address needs one."""
        import secrets

        from plackett.apps.access.settings import is_loopback

        token = secrets.token_urlsafe(24) if self.token is None and not is_loopback(self.host) else self.token
        port = {} if self.port is None else {"port": self.port}
        return {"host": self.host, "token": token, **port}
