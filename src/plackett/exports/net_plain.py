"""A net as plain JSON for programs of one's own: every number with all digits, and the formula in words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exports.net_form import NetForm
from plackett.exports.tree_nodes import with_one_per_line
from plackett.scorers.plain_net import FORMULAS, PlainNet

FORMAT = "plackett net"
FORMAT_VERSION = 1
FORMULA = (
    "x = (value - offset) / scale for each feature; for each layer z = weight * x + bias (one z for each row of the "
    "weights), and x = activation(z) but behind the last layer, whose one z is the score"
)


def write_json_net(form: NetForm, *, name: str) -> str:
    """The net as JSON; features stand in the order of the columns, with their names where these are known."""
    features: list[dict[str, Any]] = []
    for feature in range(form.n_features):
        entry: dict[str, Any] = {} if form.names is None else {"name": form.names[feature]}
        features.append({**entry, "offset": float(form.offset[feature]), "scale": float(form.scale[feature])})
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "plackett": __version__,
        "name": name,
        "ranker": form.ranker,
        "formula": FORMULA,
        "activation": form.net.activation,
        "activation_formula": FORMULAS[form.net.activation],
        "features": features,
        "layers": [],
    }
    layers = [
        {"weight": weight.tolist(), "bias": bias.tolist()}
        for weight, bias in zip(form.net.weights, form.net.biases, strict=True)
    ]
    return with_one_per_line(document, "layers", layers)


def score_json_net(content: str, X: np.ndarray) -> np.ndarray:
    """The formula over rows."""
    document = json.loads(content)
    offset, scale = ([feature[key] for feature in document["features"]] for key in ("offset", "scale"))
    weights, biases = ([np.array(layer[key]) for layer in document["layers"]] for key in ("weight", "bias"))
    net = PlainNet(weights, biases, document["activation"])
    return net.scores((X - offset) / scale)
