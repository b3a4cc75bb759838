"""A net without attention in NumPy and float64, for exports, checks and explanations."""

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
    """A feed-forward net: ``x ← weight x + bias`` in each layer, then the activation, except after the last."""

    weights: list[np.ndarray]  # of shape (n_to, n_from)
    biases: list[np.ndarray]
    activation: str

    @classmethod
    def of(cls, shape: NetShape, arrays: Mapping[str, np.ndarray]) -> PlainNet:
        """Return the net of this shape and these arrays; it must have no attention."""
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
        """Return one score per row."""
        return self._sums(X)[-1][:, 0]

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """Return the gradient of each score with respect to its features; at the kink of ReLU, the lower slope."""
        *hidden, _ = self._sums(X)
        slope = _SLOPES[self.activation]
        back = np.broadcast_to(self.weights[-1], (X.shape[0], self.weights[-1].shape[1]))
        for weight, sums in zip(self.weights[-2::-1], reversed(hidden), strict=True):
            back = (back * slope(sums)) @ weight
        return back

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """Return about how large the rounding error of each score may be, summed over the layers."""
        sums, slope, activate = self._sums(X), _SLOPES[self.activation], _ACTIVATIONS[self.activation]
        found, back = np.zeros(X.shape[0]), np.ones((X.shape[0], 1))
        for place in range(len(self.weights) - 1, -1, -1):
            weight, bias, given = self.weights[place], self.biases[place], activate(sums[place - 1]) if place else X
            found += (np.abs(back) * (np.abs(given) @ np.abs(weight).T + np.abs(bias))).sum(axis=1)
            back = back @ weight * (slope(sums[place - 1]) if place else 1.0)
        return ROUNDING * found

    def _sums(self, X: np.ndarray) -> list[np.ndarray]:
        """Return the inputs of the activation of each layer, and the output of the last."""
        sums: list[np.ndarray] = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            sums.append((_ACTIVATIONS[self.activation](sums[-1]) if sums else X) @ weight.T + bias)
        return sums
