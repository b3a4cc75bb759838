"""Options: single ones that many verbs have, and groups of options, which a verb takes as one object.

An option is the default of the parameter of a verb, or of a field of a group: its name and type are those of the
parameter. One with a ``panel`` is only named by ``--help``, and explained by ``--help-all``.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import click

from plackett.cli.help import SETTINGS, Command, Group
from plackett.cli.shared import completion, files

# those of get_normalizer, whose module is slow to import
NORMALIZERS = ("query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "maxabs", "zscore", "quantile")
KINDS: dict[str, dict[str, Any]] = {"bool": {"is_flag": True}, "int": {"type": int}, "float": {"type": float}}
EMPTY = {"bool": False, "tuple": ()}
METHOD, CLICKS, FILES, OUTPUT, COLUMNS = "Method", "Clicks", "Files", "Output", "Columns of a table"


class Option(click.Option):
    """An option in a panel of the help.

    ``complete`` returns the names that the shell offers for its value; ``choice`` are the only ones that it takes, with
    commas between several. ``reads`` names what is read from its file, "file" or "data", which may be a known set;
    ``written`` what is written to it.
    """

    def __init__(
        self,
        names: Any,
        *,
        panel: str | None = None,
        complete: Callable[[str], completion.Pairs] | None = None,
        choice: completion.Names = (),
        reads: str | None = None,
        written: str | None = None,
        show_default: Any = True,
        **about: Any,
    ):
        if choice:
            complete = complete or completion.of_names(choice)
            about = {"metavar": "NAME", **about}
        if complete is not None:
            about["shell_complete"] = completion.of_param(complete)
        super().__init__(names, show_default=show_default, **about)
        self.panel, self.choice, self.reads, self.written = panel, choice, reads, written

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value; raise for an unknown name, and for a file that cannot be written, before any work."""
        value = super().process_value(ctx, value)
        if isinstance(value, str) and not ctx.resilient_parsing:
            if self.choice:
                from plackett.validation import check_choice

                for word in value.split(","):
                    check_choice(word.strip(), str(self.name), tuple(completion.known_names(self.choice)))
            if self.written is not None and (value != "-" or self.written == "model"):
                check = files.check_folder if self.written in ("fits", "simulations") else files.check_target
                check(value, self.written)
        return value


class Argument(click.Argument):
    """An argument with a text in the help."""

    def __init__(self, names: Any, *, help: str, complete: Any = None, reads: str | None = None, **about: Any):
        if complete is not None:
            about["shell_complete"] = completion.of_param(complete)
        super().__init__(names, **about)
        self.help, self.reads = help, reads


@dataclass(frozen=True)
class Declared:
    """An option or an argument, as the default of a parameter of a verb or of a field of a group."""

    kind: type[click.Parameter]
    names: tuple[str, ...]
    about: dict[str, Any]

    def __call__(self, verb: Any) -> Any:
        """Add the option to a verb, which takes it among other values."""
        return getattr(click, self.kind.param_type_name)(*self.names, cls=self.kind, **self.about)(verb)

    def of(self, name: str, annotation: str) -> Declared:
        """Return the option of a parameter."""
        kind, is_option = annotation.removesuffix(" | None"), self.kind is Option
        about = {**KINDS.get(kind, {}), **self.about}
        is_named = len(name) == 1 or any(word.startswith("--") for word in self.names)
        names = self.names if is_named or not is_option else (*self.names, f"--{name.replace('_', '-')}")
        if kind.startswith(("list[str", "tuple[")):
            about = {**({"multiple": True} if is_option else {"nargs": -1}), **about}
        if kind == "list[str]":
            about = {"callback": as_list, **about}
        return Declared(self.kind, (*names, name), about)


def option(text: str, *names: str, min: Any = None, max: Any = None, **about: Any) -> Any:
    """Declare an option: a text for the help, names unless it has that of its parameter, and the least value."""
    if min is not None:
        about["type"] = click.IntRange(min, max) if isinstance(min, int) else Number(min, max)
    return Declared(Option, names, {"help": text, **about})


def argument(text: str, **about: Any) -> Any:
    """Declare an argument with a text for the help."""
    return Declared(Argument, (), {"help": text, **about})


def command(group: Any = click, *names: str, cls: Any = Command) -> Callable:
    """Make a function a verb, or a command of a group; its parameters are options, arguments and groups of options."""

    def decorate(verb: Callable) -> Any:
        taken: Any = verb
        for name, param in list(inspect.signature(verb).parameters.items())[::-1]:
            if isinstance(param.default, Declared):
                taken = param.default.of(name, param.annotation)(taken)
            elif isinstance(param.default, Options):
                taken = param.default.takes(taken)
        return group.command(*names, cls=cls, context_settings=SETTINGS)(taken)

    return decorate


group_of_commands = functools.partial(click.group, cls=Group, context_settings=SETTINGS)


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
    """A finite number in a range."""

    def __init__(self, min: float, max: float | None):
        super().__init__(min, math.inf if max is None else max, max_open=max is None)

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if number != number else number


def several(ctx: Any, param: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split values of a repeatable option at commas."""
    return tuple(name for value in values for part in value.split(",") if (name := part.strip()))


def data_argument(text: str = "LETOR files or tables, '-', or a known set.", *, required: bool = True) -> Any:
    """Return the argument DATA."""
    return argument(text, metavar="DATA", required=required, complete=completion.data, reads="data")


def run_name(ctx: Any, param: Any, tag: str | None) -> str | None:
    """Return the name of a run; raise if it has spaces."""
    if tag is not None and tag.split() != [tag]:
        raise click.UsageError(f"--run {tag!r}: the name of a run must not contain spaces.")
    return tag


def as_list(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str]:
    """Return repeated values as a list."""
    return list(values)


def written(what: str | None, text: str = "Output file; - is standard output.", **about: Any) -> Any:
    """Declare ``-o``, the file of a result; ``what`` is in it. It is standard output by default."""
    about = about or ({"default": "-", "show_default": False} if "standard output" in text else {})
    return option(text, "-o", "--output", **{"metavar": "FILE", "written": what, **about})


def measures_option(text: str, default: str | None = None, *, is_single: bool = False) -> Any:
    """Return ``-m``, measures with commas between them; None if none is given and there is no default."""

    def parsed(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str] | None:
        if ctx.resilient_parsing or not (values or default):
            return None
        from plackett.cli.shared.parameters import parse_measures

        names = parse_measures(values or default or "")
        if is_single and len(names) > 1:
            raise click.UsageError(f"--metrics {','.join(names)}: give one measure.")
        return names

    about: dict[str, Any] = {"multiple": True, "complete": completion.measures, "callback": parsed}
    return option(text, "-m", "--metrics", metavar="NAMES", show_default=default or False, **about)


CONVENTION = option(
    "standard, paper, letor3, letor4, trec, sklearn, lightgbm, xgboost, gdeval, ranx.", "-c", "--convention",
    default="standard", panel=METHOD,
    choice="plackett.metrics.conventions:CONVENTIONS",
)  # fmt: skip
SEED = option("Random seed.", "--seed", min=0, max=2**32 - 1, default=0, panel=METHOD)
JSON = option("Print JSON.", "--json", panel=OUTPUT)
QUIET = option("No progress, no notes.", "-q", panel=OUTPUT)
MODEL = argument("A model of plackett train or another tool.", metavar="MODEL", reads="file")
SETTINGS_OPTION = option("A parameter; repeatable.", "--set", metavar="KEY=VALUE")
FOLDER = option("Store fits, so that a run can resume.", "--folder", metavar="DIR", written="fits")
TAG = option("Write a TREC run of this name.", "--run", metavar="TAG", callback=run_name)


# --- Groups -----------------------------------------------------------------------------------------------------------


class Options:
    """A group of options. Subclasses are frozen dataclasses whose fields are options."""

    declared: ClassVar[dict[str, Declared]]

    def __init_subclass__(cls) -> None:
        cls.declared = {}
        for name, annotation in cls.__annotations__.items():
            found = cls.declared[name] = getattr(cls, name).of(name, annotation)
            setattr(cls, name, found.about.setdefault("default", EMPTY.get(annotation.partition("[")[0])))

    @classmethod
    def takes(cls, verb: Callable) -> Callable:
        """Add the options to a verb, which gets an object of this class, by the name of the class."""

        @functools.wraps(verb)
        def run(**values: Any) -> Any:
            own = {name: values.pop(name) for name in cls.declared}
            return verb(**values, **{cls.__name__.lower(): cls(**own)})

        taken: Any = run
        for declared in list(cls.declared.values())[::-1]:
            taken = declared(taken)
        return taken


@dataclass(frozen=True)
class Source(Options):
    """How DATA are read: the columns of tables, the numbers of features, the cache."""

    qid: str | None = option("Query ids. Default: qid.", metavar="COLUMN", panel=COLUMNS)
    label: str | None = option("Labels. Default: label.", metavar="COLUMN", panel=COLUMNS)
    docid: str | None = option("Names of documents. Default: docid.", metavar="COLUMN", panel=COLUMNS)
    drop: tuple[str, ...] = option(
        "Columns that are not features, comma-separated.", callback=several, metavar="COLUMN", panel=COLUMNS
    )
    categorical: tuple[str, ...] = option(
        "Numeric columns that are categories.", callback=several, metavar="COLUMN", panel=COLUMNS
    )
    sql: str | None = option("Query of an SQLite database: SELECT ...", metavar="QUERY", panel=COLUMNS)
    zero_based: bool = option("Feature numbers of files start at 0.", panel=FILES)
    sparse: bool = option("Read LETOR files as a sparse matrix.", panel=FILES)
    cache: bool = option("Cache the parsed files, memory-mapped.", panel=FILES)

    def columns(self) -> dict[str, Any]:
        """Return the columns that were named, as arguments of ``from_frame``."""
        names = ("qid", "label", "docid", "drop", "categorical", "sql")
        return {name: value for name in names if (value := getattr(self, name))}

    def of_letor(self) -> dict[str, Any]:
        """Return arguments of ``read_letor``."""
        return {"first_index": int(not self.zero_based), "sparse": self.sparse}


@dataclass(frozen=True)
class Preparation(Options):
    """Rules for missing values and categories."""

    missing: str | None = option("zero, mean, median, min or query-median.", metavar="RULE", panel=COLUMNS)
    missing_indicator: bool = option("Also add columns that mark NaN.", panel=COLUMNS)
    encoding: str | None = option("Encode text: one-hot, target.", metavar="HOW", panel=COLUMNS)

    def rules(self) -> dict[str, Any]:
        """Return arguments of ``compare`` and ``select``."""
        return {**vars(self), "missing_indicator": self.missing_indicator or None}


@dataclass(frozen=True)
class Show(Options):
    """The format of a result."""

    json: bool = option("Print JSON.", panel=OUTPUT)
    csv: bool = option("Print CSV.", panel=OUTPUT)
    markdown: bool = option("Print a Markdown table.", panel=OUTPUT)
    latex: bool = option("Print a LaTeX table.", panel=OUTPUT)

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

    host: str = option(
        "Address to listen on; non-loopback addresses need a token.", default="127.0.0.1", metavar="HOST"
    )
    port: int | None = option(
        "Port to listen on; 0 means any free port.",
        metavar="N",
        min=0,
        max=65535,
        show_default="serve 8766, workbench 8765",
    )
    token: str | None = option(
        "Token that requests must send; generated if one is needed.", metavar="TOKEN", envvar="PLACKETT_TOKEN"
    )

    def settings(self) -> dict[str, Any]:
        """Return host, port and token, a new token if the address needs one."""
        import secrets

        from plackett.apps.access.settings import is_loopback

        token = secrets.token_urlsafe(24) if self.token is None and not is_loopback(self.host) else self.token
        port = {} if self.port is None else {"port": self.port}
        return {"host": self.host, "token": token, **port}
