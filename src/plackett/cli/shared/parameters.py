"""Parsing parameters of rankers: ``key=value``, and ``key=value,value`` for grids."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any

import click

PLAIN = {"None": None, "True": True, "False": False}
RANGE = ".."
LOG = ":log"
TAKES_FEATURES = ("query_features", "base_column")


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors about values of options into usage errors with the same message."""
    from plackett.exceptions import ParameterError, UnknownNameError

    try:
        yield
    except (ParameterError, UnknownNameError):
        raise
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error)) from error


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


def settings_of(words: list[str], option: str = "--set") -> dict[str, Any]:
    """Parse parameters given as ``key=value``, each once."""
    pairs = _pairs(words, option, "key=value").items()
    return {name: _as_parameter(name, value_of(text), f"{option} {name}") for name, text in pairs}


def _as_parameter(name: str, value: Any, option: str) -> Any:
    """Convert values that have a special form on the command line: feature numbers, a loss as ``module:name``."""
    from plackett.cli.shared import own_parts

    return own_parts.loss(value, option) if name == "loss" else as_features(name, value)


def contestant(text: str, option: str) -> Any:
    """Return the contestant of a text such as ``trees(num_leaves=15)``: a ranker, and parameters in brackets."""
    from plackett.cli.shared import own_parts
    from plackett.evaluation.compare.contestants import Contestant, contestant_of
    from plackett.evaluation.select.grids import check_names, with_params
    from plackett.metrics.measure import split_list

    name, bracket, inside = text.partition("(")
    named = own_parts.ranker(name.strip(), option)
    if not bracket:
        return named
    if not inside.endswith(")"):
        raise click.BadParameter(f"{option} {text}: expected a closing bracket at the end, as in trees(num_leaves=15).")
    found = contestant_of(named)
    params = settings_of([part for part in split_list(inside[:-1], "[]") if part], f"{option} {name}")
    check_names(found.estimator, params, f"the ranker {found.name!r}")
    default: Any = found.grid
    grid = {param: values for param, values in default.items() if param not in params}
    return Contestant(text, with_params(found.estimator, params), grid)


def as_features(name: str, value: Any) -> Any:
    """Convert feature numbers to names like ``feature 3``: on the command line they count as in the file."""
    if name not in TAKES_FEATURES or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return f"feature {value}"
    return [as_features(name, one) for one in value] if isinstance(value, list) else value


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
            answer[name] = [_as_parameter(name, one, f"{option} {name}") for one in values]
    return answer


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


def check_values(estimator: Any) -> None:
    """Raise for invalid parameters before any data are read."""
    estimator.check_parameters()
    if getattr(estimator, "normalize", None) is not None:
        from plackett.data.preprocessing.scaling import get_normalizer

        get_normalizer(estimator.normalize)
