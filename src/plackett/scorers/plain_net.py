"""A net without attention in numpy and double precision, from which it is written down, checked and explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

from plackett.scorers.net_shape import NetShape

ROUNDING = 4.0 * np.finfo(np.float64).eps  # of a sum, relative to the sizes of its terms
FORMULAS = {
    "relu": "relu(z) = max(z, 0)",
    "gelu": "gelu(z) = z / 2 * (1 + erf(z / sqrt(2)))",
    "silu": "silu(z) = z / (1 + exp(-z))",
    "tanh": "tanh(z)",
}
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: np.maximum(z, 0.0),
    "gelu": lambda z: z * ndtr(z),
    "silu": lambda z: z * expit(z),
    "tanh": np.tanh,
}
_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: (z > 0.0).astype(float),
    "gelu": lambda z: ndtr(z) + z * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi),
    "silu": lambda z: expit(z) * (1.0 + z * (1.0 - expit(z))),
    "tanh": lambda z: 1.0 - np.tanh(z) ** 2,
}


@dataclass(frozen=True)
class PlainNet:
    """Layers one behind the other: ``x ← weight x + bias``, then the activation, except behind the last.

    Attributes
    ----------
    weights : list of ndarrays of shape (n_to, n_from)
    biases : list of ndarrays of shape (n_to,)
    activation : str
    """

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    activation: str

    @classmethod
    def of(cls, shape: NetShape, arrays: Mapping[str, np.ndarray]) -> PlainNet:
        """The net of this shape and these arrays; it must have no attention."""
        assert not shape.attention
        names = [*(f"hidden{place}" for place in range(len(shape.hidden))), "output"]
        weights = [np.asarray(arrays[f"{name}.weight"], dtype=np.float64) for name in names]
        biases = [
            np.asarray(arrays.get(f"{name}.bias", np.zeros(weight.shape[0])), dtype=np.float64)
            for name, weight in zip(names, weights, strict=True)
        ]
        return cls(weights, biases, shape.activation)

    @property
    def n_inputs(self) -> int:
        return self.weights[0].shape[1]

    def scores(self, X: np.ndarray) -> np.ndarray:
        """One score per row."""
        return self._sums(X)[-1][:, 0]

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """Of the score of each row, by its features; where ReLU has a corner, the slope on its lower side."""
        *hidden, _ = self._sums(X)
        slope = _SLOPES[self.activation]
        back = np.broadcast_to(self.weights[-1], (X.shape[0], self.weights[-1].shape[1]))
        for weight, sums in zip(self.weights[-2::-1], reversed(hidden), strict=True):
            back = (back * slope(sums)) @ weight
        return back

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """By about how much the score of each row may be wrong, as its sums are rounded, layer by layer."""
        sums, slope, activate = self._sums(X), _SLOPES[self.activation], _ACTIVATIONS[self.activation]
        found, back = np.zeros(X.shape[0]), np.ones((X.shape[0], 1))
        for place in range(len(self.weights) - 1, -1, -1):
            weight, bias, given = self.weights[place], self.biases[place], activate(sums[place - 1]) if place else X
            found += (np.abs(back) * (np.abs(given) @ np.abs(weight).T + np.abs(bias))).sum(axis=1)
            back = back @ weight * (slope(sums[place - 1]) if place else 1.0)
        return ROUNDING * found

    def corners(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Where on the way from one row (0) to another (1) a ReLU turns on or off; with both ends, in order.

        Between two of these places the score is a straight line. Layer by layer: what enters a layer is straight
        between the corners of the layers before it, and so a change of sign lies where the line says.
        """
        assert self.activation == "relu"
        places, values = np.array([0.0, 1.0]), np.stack([start, end])
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            sums = values @ weight.T + bias
            before, after = sums[:-1], sums[1:]
            segment, unit = np.nonzero((before < 0.0) != (after < 0.0))
            share = before[segment, unit] / (before[segment, unit] - after[segment, unit])
            new = places[segment] + share * (places[segment + 1] - places[segment])
            between = sums[segment] + share[:, np.newaxis] * (sums[segment + 1] - sums[segment])
            order = np.argsort(np.concatenate([places, new]), kind="stable")
            places = np.concatenate([places, new])[order]
            values = np.maximum(np.concatenate([sums, between])[order], 0.0)
        return places

    def _sums(self, X: np.ndarray) -> list[np.ndarray]:
        """What enters the activation of each layer; for the last one, what comes out."""
        sums: list[np.ndarray] = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            sums.append((_ACTIVATIONS[self.activation](sums[-1]) if sums else X) @ weight.T + bias)
        return sums
