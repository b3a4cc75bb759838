"""The layers of a net, and the names and shapes of its weights, without PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett.exceptions import ParameterError
from plackett.validation import check_choice, check_positive_int, plain

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
LAYERS = ("hidden", "activation", "attention", "heads")  # parameters of the layers that the weights do not show
WIDENING = 2  # of the layers between attention layers


@dataclass(frozen=True)
class NetShape:
    """Layers from features to a score.

    ``hidden`` are the widths of the hidden layers; without any the score is linear. ``attention`` is the number of
    self-attention layers over the list, which follow and have the width of the last; their ``heads`` divide it.
    """

    n_inputs: int
    hidden: tuple[int, ...] = ()
    attention: int = 0
    has_output_bias: bool = False
    activation: str = "relu"
    heads: int = 1

    @classmethod
    def of(cls, layers: Mapping[str, Any], n_inputs: int, *, has_output_bias: bool) -> NetShape:
        """Return the shape with these checked ``layers``, which have the keys of ``LAYERS``."""
        hidden, attention, heads = layers["hidden"], layers["attention"], layers["heads"]
        if not isinstance(hidden, (int, np.integer, list, tuple, np.ndarray)):
            raise ParameterError("hidden", plain(hidden), "it must be a list of widths, such as [64, 32].")
        hidden = [hidden] if isinstance(hidden, (int, np.integer)) else hidden
        widths = tuple(check_positive_int(width, "a width in hidden") for width in hidden)
        check_choice(layers["activation"], "activation", ACTIVATIONS)
        if isinstance(attention, bool) or not isinstance(attention, (int, np.integer)) or attention < 0:
            raise ParameterError("attention", plain(attention), "it must be a number of layers, 0 or more.")
        check_positive_int(heads, "heads")
        if attention and (not widths or widths[-1] % heads):
            raise ValueError(
                f"attention needs a last hidden layer whose width is a multiple of heads={heads}; hidden is {widths}."
            )
        return cls(n_inputs, widths, int(attention), has_output_bias, str(layers["activation"]), int(heads))

    @property
    def layers(self) -> dict[str, Any]:
        """The ``layers`` of ``of``."""
        return {name: getattr(self, name) for name in LAYERS}

    @property
    def width(self) -> int:
        """Number of inputs of the output layer."""
        return self.hidden[-1] if self.hidden else self.n_inputs

    @property
    def weights(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array by its name; those that end in ``.weight`` are penalised."""
        shapes: dict[str, tuple[int, ...]] = {}

        def linear(name: str, n_from: int, n_to: int) -> None:
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (n_to, n_from), (n_to,)

        widths = (self.n_inputs, *self.hidden)
        for place, (n_from, n_to) in enumerate(itertools.pairwise(widths)):
            linear(f"hidden{place}", n_from, n_to)
        width = self.width
        for place in range(self.attention):
            for part in ("attend", "think"):
                shapes[f"attention{place}.{part}.scale"] = shapes[f"attention{place}.{part}.shift"] = (width,)
            linear(f"attention{place}.look", width, 3 * width)
            linear(f"attention{place}.join", width, width)
            linear(f"attention{place}.widen", width, WIDENING * width)
            linear(f"attention{place}.narrow", WIDENING * width, width)
        linear("output", width, 1)
        if not self.has_output_bias:
            del shapes["output.bias"]
        return shapes

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return random initial weights: uniform with variance 1 / inputs, which keeps the scale; biases 0."""
        drawn = {}
        for name, shape in self.weights.items():
            if name.endswith(".weight"):
                bound = np.sqrt(3.0 / shape[1])
                drawn[name] = rng.uniform(-bound, bound, shape)
            else:
                drawn[name] = np.ones(shape) if name.endswith(".scale") else np.zeros(shape)
        return drawn
