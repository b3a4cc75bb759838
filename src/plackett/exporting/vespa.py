"""Vespa: a ranking expression for linear models, and trees in XGBoost's JSON, which Vespa imports.

Both refer to rank features by name and are computed in float64. Vespa goes left ("yes") where ``x < split_condition``,
so thresholds are written as the next float64. A comparison with NaN is false, and ``missing`` names the side of
missing values.
"""

from __future__ import annotations

import json
import re

import numpy as np

from plackett.exporting.engines import score_xgboost_trees, xgboost_trees
from plackett.exporting.float32 import check_depth
from plackett.exporting.forms import LinearForm, TreeForm
from plackett.scorers.trees import LARGEST

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_WORD = r"[A-Za-z_@][\w@$]*"
_OUTPUT = r"(?:\.[\w@$]+)*"
_CONSTANT = rf'{_NUMBER}|"[^"\\\n]*"'
_INNER = rf"\s*(?:{_WORD}{_OUTPUT}|{_CONSTANT})\s*"
_ARGUMENT = rf"\s*(?:{_WORD}(?:\({_INNER}(?:,{_INNER})*\))?{_OUTPUT}|{_CONSTANT})\s*"
FEATURE = re.compile(rf"{_WORD}(?:\({_ARGUMENT}(?:,{_ARGUMENT})*\))?{_OUTPUT}", re.ASCII)  # as in Vespa's grammar
_TERM = re.compile(rf"([+-]) ({_NUMBER}) \* (?:\((.+) ([+-]) ({_NUMBER})\) / ({_NUMBER})|(.+))")


def write_linear(form: LinearForm) -> str:
    """Return a ranking expression, for ``expression: file:NAME.expression`` of a rank profile."""
    names = _rank_features(form)
    lines = [_number(form.intercept)]
    for name, weight, offset, scale in zip(
        names, form.weights.tolist(), form.offset.tolist(), form.scale.tolist(), strict=True
    ):
        value = name if (offset, scale) == (0.0, 1.0) else f"({name} {_signed(-offset)}) / {scale!r}"
        lines.append(f"{_signed(weight)} * {value}")
    return "\n".join(lines) + "\n"


def score_linear(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that Vespa gives rows whose columns are these features."""
    first, *terms = content.splitlines()
    scores = np.full(X.shape[0], float(first))
    columns = dict(zip(names, X.T, strict=True))
    for term in terms:
        match = _TERM.fullmatch(term)
        assert match is not None
        sign, weight, scaled, side, offset, scale, plain = match.groups()
        values = columns[plain] if scaled is None else (columns[scaled] + float(side + offset)) / float(scale)
        scores += float(sign + weight) * values
    return scores


def write_trees(form: TreeForm) -> str:
    """Return trees as ``xgboost("NAME.json")`` of a ranking expression reads them."""
    names = _rank_features(form)
    form.check_kinds("vespa")
    check_depth(form, "vespa")
    nodes = form.nodes()
    limits = np.nextafter(np.minimum(nodes.thresholds, np.nextafter(LARGEST, 0.0)), np.inf)  # LARGEST stays
    roots = xgboost_trees(nodes, names, limits, form.has_missing, float)
    return "[\n" + ",\n".join(json.dumps(root, ensure_ascii=False, allow_nan=False) for root in roots) + "\n]\n"


def score_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that Vespa gives rows whose columns are these features."""
    return score_xgboost_trees(json.loads(content), X, names, np.float64)


def _rank_features(form: LinearForm | TreeForm) -> list[str]:
    """Return the names of the features; raise unless each is valid in a ranking expression."""
    names = form.distinct_names("vespa")
    for place, name in enumerate(names):
        if not FEATURE.fullmatch(name):
            raise ValueError(
                f"feature_names[{place}] is {name!r}, which is not a rank feature of Vespa, such as bm25(title), "
                "attribute(price) or the name of a function of the rank profile. Pass feature_names (on the command "
                "line: --features FILE)."
            )
    return names


def _number(number: float) -> str:
    return repr(float(number) + 0.0)  # -0.0 becomes 0.0


def _signed(number: float) -> str:
    return f"{'-' if number < 0.0 else '+'} {abs(number)!r}"
