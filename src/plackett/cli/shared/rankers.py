"""The parameters of rankers as options, with the sentences of their docstrings.

They are read from the source of the class: importing it takes half a second, which help and completion would wait for.
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
    from plackett.rankers import registry

    if own_parts.is_own_ranker(name) or not registry.is_known(name):
        name = "linear"
    entry = registry.entry_of(name)
    defaults, texts = _parameters(name)
    options = []
    for param, default in defaults.items():
        if param != "verbose":
            options.append(_option(param, default, *texts.get(param, ("", "")), _title(name)))
            # given another value, the ranker says which name takes any
            options[-1].hidden = entry is not None and param in entry.fixed
    return options


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


# --- Source -----------------------------------------------------------------------------------------------------------


def _parameters(name: str) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Return the parameters with their defaults; and the type and first sentence of each in the docstring."""
    from plackett.rankers import registry

    entry = registry.entry_of(name)
    if entry is None:  # of another package
        return registry.parameters(name), _texts(inspect.getdoc(registry.class_of(name)) or "")
    return _source(entry.class_name, registry.home_of(entry.class_name))[0], _texts_of(entry.class_name)


def _texts_of(class_name: str) -> dict[str, tuple[str, str]]:
    """Return the texts of a class's parameters; those "as in" another class are taken from there."""
    from plackett.rankers.registry import home_of

    texts = _texts(_source(class_name, home_of(class_name))[1])
    for name, (kind, _) in texts.items():
        if kind.startswith("as in "):
            texts[name] = _texts_of(re.findall(r"\w+", kind)[-1]).get(name, ("", ""))
    return texts


@functools.cache
def _source(class_name: str, module: str) -> tuple[dict[str, Any], str]:
    """Return the parameters of a class with their defaults, those of its bases too, and its docstring."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    found = next((node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name), None)
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    homes = {name.name: str(node.module) for node in imports for name in node.names}
    if found is None:
        home = homes.get(class_name, "")
        return _source(class_name, home) if home.startswith("plackett.") else ({}, "")
    doc = ast.get_docstring(found) or ""
    make = next((node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    if make is not None:
        names = [one.arg for one in make.args.args[1:]]
        return dict(zip(names, map(_default, make.args.defaults), strict=True)), doc
    defaults = {}
    for node in found.body:
        if (
            isinstance(node, ast.AnnAssign)
            and node.value is not None
            and "ClassVar" not in ast.unparse(node.annotation)
        ):
            name = ast.unparse(node.target)
            if not name.endswith("_"):
                defaults[name] = _default(node.value)
    for base in map(ast.unparse, found.bases):
        inherited = _source(base, module)[0] if base.isidentifier() else {}
        defaults |= {name: default for name, default in inherited.items() if name not in defaults}
    return defaults, doc


def _default(node: ast.expr) -> Any:
    """Return a default, which may be the first argument of ``param`` or the ``default`` of a field."""
    if isinstance(node, ast.Call):
        given = [*node.args, *(one.value for one in node.keywords if one.arg == "default")]
        return _default(given[0]) if given else None
    try:
        return ast.literal_eval(node)
    except ValueError:  # a constant by its name
        return None


def _texts(doc: str) -> dict[str, tuple[str, str]]:
    """Return the type and the first sentence of each parameter in a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.S | re.M)
    found = re.findall(
        r"^(\w[\w, ]*?) : ([^\n]*)\n((?:(?: {4}[^\n]*)?\n)*)", section[1] + "\n" if section else "", re.M
    )
    texts: dict[str, tuple[str, str]] = {}
    for names, kind, text in found:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0].replace("`", "")
        texts |= {name.strip(): (kind, sentence) for name in names.split(",")}
    return texts
