"""Parsing of parameters (``key=value``, and ``key=value,value`` for grids), rankers with parameters, and measures."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import own_parts
from plackett.exceptions import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from plackett.evaluation.compare.contestants import Contestant

PLAIN = {"None": None, "True": True, "False": False}
RANGE = ".."
LOG = ":log"
TAKES_FEATURES = ("query_features", "base_column")


@contextlib.contextmanager
def usage_errors(where: str = "") -> Iterator[None]:
    """Turn errors about values of options into usage errors with the same message, after ``where``."""
    try:
        yield
    except UnknownNameError:
        raise
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError) and not where:  # shown as the option of its name
            raise
        raise click.UsageError(f"{where}{error}") if where else click.BadParameter(str(error)) from error


# --- Values -----------------------------------------------------------------------------------------------------------


def settings_of(words: list[str], option: str = "--set") -> dict[str, Any]:
    """Parse parameters given as ``key=value``, each once."""
    pairs = _pairs(words, option, "key=value").items()
    return {name: as_parameter(name, value_of(text), f"{option} {name}") for name, text in pairs}


def grid_of(words: list[str], option: str = "--grid") -> dict[str, Any]:
    """Parse a grid: ``key=value,value`` as lists, ``key=low..high`` as distributions."""
    from plackett.metrics.measure import split_list

    answer: dict[str, Any] = {}
    for name, text in _pairs(words, option, "l2=1,0.1,0.01").items():
        where = f"{option} {name}={text}"
        if not text:
            raise click.BadParameter(f"{where}: {name} has no values.")
        if RANGE in text:
            answer[name] = _distribution(text, where)
        else:
            values = [value_of(part) for part in split_list(text, "[]")]
            answer[name] = [as_parameter(name, one, f"{option} {name}") for one in values]
    return answer


def _pairs(words: list[str], option: str, example: str) -> dict[str, str]:
    """Split ``key=value`` words, each key once."""
    answer: dict[str, str] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{option} {word}: write it like {option} {example}.")
        if name in answer:
            raise click.BadParameter(f"{option} {word}: {name} is given twice.")
        answer[name] = rest.strip()
    return answer


def as_parameter(name: str, value: Any, option: str) -> Any:
    """Convert values that have a special form on the command line: a loss as ``module:name``, numbers of features.

    Features count as in the file, and become names like ``feature 3``.
    """
    if name == "loss":
        return own_parts.loss(value, option)
    if name not in TAKES_FEATURES or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return f"feature {value}"
    return [as_parameter(name, one, option) for one in value] if isinstance(value, list) else value


def value_of(text: str) -> Any:
    """Parse a number, true, false, None, or a list of these; return other text unchanged."""
    if text in PLAIN:
        return PLAIN[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_text(value: Any) -> str:
    """Format a value as ``--set`` parses it."""
    return value if isinstance(value, str) else json.dumps(value)


def _distribution(text: str, where: str) -> Any:
    """Parse ``1..20`` (integers, both ends included), ``0.0..1`` (uniform) or ``1e-4..1:log`` (log-uniform)."""
    from scipy.stats import loguniform, randint, uniform

    is_log = text.endswith(LOG)
    low, high = (value_of(part.strip()) for part in text.removesuffix(LOG).split(RANGE, 1))
    if not all(type(bound) in (int, float) and math.isfinite(bound) for bound in (low, high)) or not low < high:
        raise click.BadParameter(f"{where}: a range is written like 1..20, 0.1..0.9 or 1e-4..1:log.")
    if is_log and low <= 0:
        raise click.BadParameter(f"{where}: a range with {LOG} must start above 0.")
    if is_log:
        return loguniform(low, high)
    if type(low) is int and type(high) is int:
        return randint(low, high + 1)
    return uniform(low, high - low)


# --- Rankers ----------------------------------------------------------------------------------------------------------


def parse_contestant(text: str, option: str) -> Any:
    """Return the contestant of a text such as ``trees(num_leaves=15)``: a ranker, and parameters in brackets."""
    from plackett.metrics.measure import split_list

    name, bracket, inside = text.partition("(")
    name = name.strip()
    if not bracket:
        return own_parts.ranker(name, option)
    if not inside.endswith(")"):
        raise click.BadParameter(f"{option} {text}: expected a closing bracket at the end, as in trees(num_leaves=15).")
    params = settings_of([part for part in split_list(inside[:-1], "[]") if part], f"{option} {name}")
    return dataclasses.replace(contestant(name, option, params), name=text)


def contestant(name: str, option: str, params: dict[str, Any], grid: dict[str, Any] | None = None) -> Contestant:
    """Return a ranker with parameters, and a grid; the default one has values for other parameters only."""
    from plackett.evaluation.compare.contestants import contestant_of
    from plackett.evaluation.select.grids import check_names, with_params

    named = contestant_of(own_parts.ranker(name, option))
    check_names(named.estimator, [*params, *(grid or ())], f"the ranker {named.name!r}")
    estimator = with_params(named.estimator, params)
    if grid is None:
        default: Any = named.grid
        grid = {param: values for param, values in default.items() if param not in params}
    return dataclasses.replace(named, estimator=estimator, grid=grid)


# --- Measures ---------------------------------------------------------------------------------------------------------


def parse_measures(texts: str | Sequence[str], option: str = "--metrics") -> list[str]:
    """Return the names of the measures, comma-separated or repeated; raise for unknown ones and duplicates.

    A name ``module:name`` is a user-defined measure.
    """
    from plackett.metrics.measure import Measure, split_measures

    names = [name for text in ([texts] if isinstance(texts, str) else texts) for name in split_measures(text)]
    measures = set()
    for name in names:
        with usage_errors(f"{option} {name}: "):
            _register_own(name, option)
            measures.add(Measure.parse(name))
    if not names or len(measures) < len(names):
        raise click.UsageError(f"{option}: give at least one measure, and each one once.")
    return names


def _register_own(text: str, option: str) -> None:
    """Register the measure ``module:name``, with or without a cut-off and parameters, under that name."""
    name = re.split(r"[@(]", text, maxsplit=1)[0].strip()
    if own_parts.is_own(name):
        from plackett.metrics.measure import Measure
        from plackett.metrics.own import own_kind, register_kind

        found = own_parts.load(name, option)
        kind = found.kind if isinstance(found, Measure) else own_kind(found)
        register_kind(dataclasses.replace(kind, name=name))
