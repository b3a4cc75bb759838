"""What a net consists of: the names and shapes of its weights, which files and checks can know without PyTorch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
WIDENING = 2  # of the layers between attention layers


@dataclass(frozen=True)
class NetShape:
    """Layers from features to a score.

    Parameters
    ----------
    n_inputs : int
    hidden : tuple of ints
        Widths of the hidden layers; none makes the score linear.
    attention : int
        Layers of self-attention over a list, which come after the hidden ones and have the width of the last.
    has_output_bias : bool
    """

    n_inputs: int
    hidden: tuple[int, ...] = ()
    attention: int = 0
    has_output_bias: bool = False

    @property
    def width(self) -> int:
        """Numbers from which the score is made."""
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
        """Weights to start from: uniform with variance 1 / inputs, so that numbers keep their size; biases of 0."""
        drawn = {}
        for name, shape in self.weights.items():
            if name.endswith(".weight"):
                bound = np.sqrt(3.0 / shape[1])
                drawn[name] = rng.uniform(-bound, bound, shape)
            else:
                drawn[name] = np.ones(shape) if name.endswith(".scale") else np.zeros(shape)
        return drawn
