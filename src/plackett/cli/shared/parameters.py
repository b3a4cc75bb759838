"""Parameters of rankers as users write them on the command line: ``key=value``, and ``key=value,value`` for grids."""

from __future__ import annotations

import json
import math
from typing import Any

import typer

PLAIN = {"None": None, "True": True, "False": False}
RANGE = ".."
LOG = ":log"
TAKES_FEATURES = ("query_features", "base_column")


def split_pair(text: str, option: str, example: str) -> tuple[str, str]:
    """The name and the rest of ``key=value``."""
    name, equals, rest = text.partition("=")
    name, rest = name.strip(), rest.strip()
    if not equals or not name.isidentifier():
        raise typer.BadParameter(f"{option} {text}: write it like {option} {example}.")
    return name, rest


def settings_of(words: list[str], option: str = "--set") -> dict[str, Any]:
    """Parameters given as ``key=value``, each once."""
    answer: dict[str, Any] = {}
    for word in words:
        name, text = split_pair(word, option, "key=value")
        if name in answer:
            raise typer.BadParameter(f"{option} {word}: {name} is given twice.")
        answer[name] = as_features(name, value_of(text))
    return answer


def as_features(name: str, value: Any) -> Any:
    """Features that a parameter names by number, in words: on the command line numbers are those of the file."""
    if name not in TAKES_FEATURES or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return f"feature {value}"
    return [as_features(name, one) for one in value] if isinstance(value, list) else value


def value_of(text: str) -> Any:
    """A number, true, false, None, or a list of these, where it reads as one; otherwise the text itself."""
    if text in PLAIN:
        return PLAIN[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_text(value: Any) -> str:
    """A parameter's value as ``--set`` reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def grid_of(words: list[str], option: str = "--grid") -> dict[str, Any]:
    """Values to choose from: ``key=value,value`` as lists, ``key=low..high`` as distributions to draw from."""
    answer: dict[str, Any] = {}
    for word in words:
        name, text = split_pair(word, option, "l2=1,0.1,0.01")
        if name in answer:
            raise typer.BadParameter(f"{option} {word}: {name} is given twice.")
        if not text:
            raise typer.BadParameter(f"{option} {word}: {name} has no values.")
        answer[name] = (
            _distribution(text, f"{option} {word}")
            if RANGE in text
            else [as_features(name, one) for one in _listed(text)]
        )
    return answer


def _listed(text: str) -> list[Any]:
    """The values between commas, but for commas inside square brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [value_of(part.strip()) for part in parts]


def _distribution(text: str, where: str) -> Any:
    """``1..20`` draws whole numbers, both ends among them, ``0.0..1`` any, ``1e-4..1:log`` their logarithms alike."""
    from scipy.stats import loguniform, randint, uniform

    is_log = text.endswith(LOG)
    low, high = (value_of(part.strip()) for part in text.removesuffix(LOG).split(RANGE, 1))
    if not all(type(bound) in (int, float) and math.isfinite(bound) for bound in (low, high)) or not low < high:
        raise typer.BadParameter(f"{where}: a range is written like 1..20, 0.1..0.9 or 1e-4..1:log.")
    if is_log and low <= 0:
        raise typer.BadParameter(f"{where}: a range with {LOG} must begin above 0.")
    if is_log:
        return loguniform(low, high)
    if type(low) is int and type(high) is int:
        return randint(low, high + 1)
    return uniform(low, high - low)


def check_seed(seed: int, option: str = "--seed") -> None:
    """A seed that is too large is wrong usage, before any data are read."""
    from plackett.validation import check_seed as check

    try:
        check(seed, option)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_values(estimator: Any) -> None:
    """All that can be wrong with parameters before there are data."""
    estimator.check_parameters()
    if getattr(estimator, "normalize", None) is not None:
        from plackett.data.preprocessing.scaling import get_normalizer

        get_normalizer(estimator.normalize)
