"""Plain JSON for programs of one's own: every number with all digits, and the formula in words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exports.form import LinearForm

FORMAT = "plackett linear model"
FORMAT_VERSION = 1
FORMULA = "score = intercept + sum of weight * (value - offset) / scale over the features"


def write_json(form: LinearForm, *, name: str) -> str:
    """The model as JSON; features stand in the order of the columns, with their names where these are known."""
    features: list[dict[str, Any]] = []
    for feature in range(form.n_features):
        entry: dict[str, Any] = {} if form.names is None else {"name": form.names[feature]}
        for key, part in (("weight", form.weights), ("offset", form.offset), ("scale", form.scale)):
            entry[key] = float(part[feature])
        features.append(entry)
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "plackett": __version__,
        "name": name,
        "ranker": form.ranker,
        "formula": FORMULA,
        "intercept": form.intercept,
        "features": features,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def score_json(content: str, X: np.ndarray) -> np.ndarray:
    """The formula over rows."""
    document = json.loads(content)
    scores = np.full(X.shape[0], document["intercept"])
    for column, feature in zip(X.T, document["features"], strict=True):
        scores += feature["weight"] * (column - feature["offset"]) / feature["scale"]
    return scores
