"""The parameters of rankers as options, with the sentences of their docstrings.

They are read in the source of the class: importing it takes half a second, which help and completion would wait for.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from plackett._names import similar_names
from plackett.cli.help import Command
from plackett.cli.shared import completion, own_parts
from plackett.cli.shared.options import NORMALIZERS, Option
from plackett.cli.shared.parameters import as_text, value_of
from plackett.rankers import registry

DEFAULT = "listmle"
METAVARS = {"int": "N", "float": "X", "bool": "BOOL"}


class Value(click.ParamType):
    """A value as ``--set`` takes it: a number, true, false, None or a list of these, or text."""

    name = "value"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a text."""
        return value_of(value) if isinstance(value, str) else value


class RankerCommand(Command):
    """A command with an option ``-r NAME``, whose parameters are options of the command, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for the ranker first."""
        name = ranker_in(args)
        ctx.obj = "linear" if name is None else name
        self.explained = "" if name is None else _title(name)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._unknown(error, name or DEFAULT, ctx) from error

    def _unknown(self, error: click.NoSuchOption, name: str, ctx: Any) -> click.UsageError:
        """Return the error for an option of another ranker, or for a misspelled one."""
        own = [param for param in self.get_params(ctx) if isinstance(param, RankerOption) and not param.hidden]
        options = [opt for param in [*self.params, *own] for opt in param.opts if opt.startswith("--")]
        if similar_names(error.option_name, options, cutoff=0.8):
            return error
        takes = ", ".join(map(_with_default, own))
        return click.BadParameter(
            f"{error.option_name}: the ranker {name!r} has no such option. It takes {takes} (the defaults), and all "
            "its parameters by --set."
        )

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command and those of the ranker."""
        usual = super().get_params(ctx)
        taken = {name for param in usual for name in (*param.opts, param.name)}
        own = [param for param in options_of(ctx.obj or "linear") if not taken & {*param.opts, param.name}]
        return [*usual, *own]

    def invoke(self, ctx: Any) -> Any:
        """Pass the options of the ranker that were given as ``params``."""
        own = [str(param.name) for param in self.get_params(ctx) if isinstance(param, RankerOption)]
        values = {name: ctx.params.pop(name) for name in own}
        is_default = {name: ctx.get_parameter_source(name) is ParameterSource.DEFAULT for name in own}
        ctx.params["params"] = {name: value for name, value in values.items() if not is_default[name]}
        return super().invoke(ctx)


class RankerOption(Option):
    """A parameter of a ranker as an option."""


def ranker_in(args: list[str]) -> str | None:
    """Return the name that ``-r`` gives."""
    for word, following in zip(args, [*args[1:], ""], strict=False):
        if word in ("-r", "--ranker"):
            return following
        if word.startswith("--ranker="):
            return word.partition("=")[2]
        if word.startswith("-r") and len(word) > 2:
            return word[2:]
    return None


def options_of(name: str) -> list[RankerOption]:
    """Return the parameters of a ranker as options; those of the linear one for rankers of users and unknown names."""
    if own_parts.is_own_ranker(name) or not registry.is_known(name):
        name = "linear"
    entry = registry.entry_of(name)
    if entry is None:  # of another package
        defaults, texts = registry.parameters(name), _documented(inspect.getdoc(registry.class_of(name)) or "")
    else:
        texts = _parameters(entry.class_name)
        defaults = {param: ast.literal_eval(kind.partition("default=")[2]) for param, (kind, _) in texts.items()}
    found = [
        _option(param, default, *texts.get(param, ("", "")), _title(name))
        for param, default in defaults.items()
        if param != "verbose"
    ]
    for option in found:  # given another value, the ranker says which name takes any
        option.hidden = entry is not None and option.name in entry.fixed
    return found


def _title(name: str) -> str:
    return f"Parameters of {name}"


def _option(param: str, default: Any, kind: str, text: str, panel: str) -> RankerOption:
    names = ["--seed"] if param == "random_state" else [f"--{param.replace('_', '-')}"]
    about: dict[str, Any] = {"panel": panel, "help": text, "default": default}
    if isinstance(default, bool):
        return RankerOption([f"{names[0]}/--no{names[0][1:]}" if default else names[0], param], is_flag=True, **about)
    words = re.findall(r'"([\w-]+)"', kind) or (NORMALIZERS if param == "normalize" else ())
    first = re.match(r"\w+", kind)
    about["metavar"] = METAVARS.get(first[0] if first else "", "NAME" if words else "VALUE")
    complete = {"loss": completion.losses, "metric": completion.measures}.get(param)
    if complete is None and words:
        complete = completion.of_names(words)
    return RankerOption([*names, param], type=Value(), complete=complete, **about)


def _with_default(param: RankerOption) -> str:
    value = param.default
    return param.opts[0] if value is None or isinstance(value, bool) else f"{param.opts[0]} {as_text(value)}"


# --- Docstrings -------------------------------------------------------------------------------------------------------


@functools.cache
def _parameters(class_name: str) -> dict[str, tuple[str, str]]:
    """Return the parameters in the docstring of a class; those "as in" another class have the texts of that one."""
    spec: Any = find_spec(registry.home_of(class_name))
    module = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    params = _documented(ast.get_docstring(classes[class_name]) or "")
    for name, (kind, _) in params.items():
        if kind.startswith("as in "):
            params[name] = _parameters(re.findall(r"\w+", kind)[-1])[name]
    return params


def _documented(doc: str) -> dict[str, tuple[str, str]]:
    """Return the type and the first sentence of each parameter in a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.S | re.M)
    found = re.findall(
        r"^(\w[\w, ]*?) : ([^\n]*)\n((?:(?: {4}[^\n]*)?\n)*)", section[1] + "\n" if section else "", re.M
    )
    params: dict[str, tuple[str, str]] = {}
    for names, kind, text in found:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0].replace("`", "")
        params |= {name.strip(): (kind, sentence) for name in names.split(",")}
    return params
