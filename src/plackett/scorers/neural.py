"""A small net over documents, or over lists of documents, in PyTorch; lists are concatenated, not padded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from plackett._arrays import ranges
from plackett._lazy import importing
from plackett.scorers.net_shape import ACTIVATIONS, NetShape

_ACTIVATIONS = {name: getattr(functional, name) for name in ACTIVATIONS if name != "tanh"} | {"tanh": torch.tanh}


class Stacks(NamedTuple):
    """Rows ordered so that lists of equal length are adjacent and each length is one block of attention.

    ``order`` holds the rows, ``back`` the position of each row in it, ``shapes`` the number of lists of each length.
    """

    order: torch.Tensor
    back: torch.Tensor
    shapes: list[tuple[int, int]]


def stack_lists(indptr: np.ndarray, device: torch.device) -> Stacks:
    """Return lists ordered by length."""
    lengths = np.diff(indptr)
    queries = np.argsort(lengths, kind="stable")
    queries = queries[lengths[queries] > 0]
    order = ranges(indptr[queries], lengths[queries])
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    sizes, counts = np.unique(lengths[queries], return_counts=True)
    shapes = list(zip(counts.tolist(), sizes.tolist(), strict=True))
    return Stacks(torch.from_numpy(order).to(device), torch.from_numpy(back).to(device), shapes)


class Net:
    """Hidden layers, then layers of self-attention over the list, then a score.

    Without attention a document's score depends on its own features alone. With it the score depends on the whole list,
    but neither on the order of the documents nor on other lists. ``weights`` are as ``shape.weights`` lists them, and
    ``dropout`` is the share of the outputs of each layer that ``scores`` sets to 0 if it has a generator.
    """

    def __init__(
        self,
        shape: NetShape,
        weights: Mapping[str, np.ndarray],
        *,
        dropout: float = 0.0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float64,
    ):
        self.shape, self.dropout = shape, dropout
        self.device, self.dtype = torch.device(device), dtype
        self._activate = _ACTIVATIONS[shape.activation]
        self.weights = {
            name: torch.tensor(weights[name], device=device, dtype=dtype, requires_grad=True) for name in shape.weights
        }

    def scores(
        self, X: torch.Tensor, stacks: Stacks | None = None, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return one score per row; attention needs ``stacks``."""
        for place in range(len(self.shape.hidden)):
            X = self._drop(self._activate(self._linear(f"hidden{place}", X)), generator)
        for place in range(self.shape.attention):
            assert stacks is not None
            X = X + self._drop(self._attend(f"attention{place}", X, stacks), generator)
            X = X + self._drop(self._feed_forward(f"attention{place}", X), generator)
        return self._linear("output", X)[:, 0]

    @property
    def penalised(self) -> list[torch.Tensor]:
        return [weight for name, weight in self.weights.items() if name.endswith(".weight")]

    @property
    def free(self) -> list[torch.Tensor]:
        return [weight for name, weight in self.weights.items() if not name.endswith(".weight")]

    def penalty(self) -> float:
        """Return ½ ‖weights‖², without biases."""
        return sum(0.5 * float(weight.detach().double().square().sum()) for weight in self.penalised)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights as NumPy arrays."""
        return {name: weight.detach().cpu().numpy().copy() for name, weight in self.weights.items()}

    def vector(self) -> np.ndarray:
        """Return all weights as one vector, for solvers."""
        return np.concatenate([array.ravel() for array in self.arrays().values()]).astype(np.float64)

    def set_vector(self, vector: np.ndarray) -> None:
        start = 0
        with torch.no_grad():
            for weight in self.weights.values():
                part = vector[start : start + weight.numel()].reshape(tuple(weight.shape))
                weight.copy_(torch.tensor(part))
                start += weight.numel()

    def _linear(self, name: str, X: torch.Tensor) -> torch.Tensor:
        return functional.linear(X, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def _norm(self, name: str, X: torch.Tensor) -> torch.Tensor:
        scale, shift = self.weights[f"{name}.scale"], self.weights[f"{name}.shift"]
        return functional.layer_norm(X, (self.shape.width,), scale, shift)

    def _attend(self, name: str, X: torch.Tensor, stacks: Stacks) -> torch.Tensor:
        projected = self._linear(f"{name}.look", self._norm(f"{name}.attend", X)).index_select(0, stacks.order)
        found, start = [], 0
        for n_lists, length in stacks.shapes:
            part = projected[start : start + n_lists * length].view(n_lists, length, 3, self.shape.heads, -1)
            queries, keys, values = part.permute(2, 0, 3, 1, 4)
            attended = _attention(queries, keys, values)
            found.append(attended.transpose(1, 2).reshape(n_lists * length, -1))
            start += n_lists * length
        joined = torch.cat(found) if found else projected[:, : self.shape.width]
        return self._linear(f"{name}.join", joined.index_select(0, stacks.back))

    def _feed_forward(self, name: str, X: torch.Tensor) -> torch.Tensor:
        wide = self._activate(self._linear(f"{name}.widen", self._norm(f"{name}.think", X)))
        return self._linear(f"{name}.narrow", wide)

    def _drop(self, X: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        if generator is None or self.dropout == 0.0:
            return X
        draws = torch.rand(X.shape, generator=generator, device=X.device, dtype=torch.float32)
        is_kept = draws >= self.dropout
        return X * is_kept / (1.0 - self.dropout)


def _attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    if not queries.is_cuda:
        return functional.scaled_dot_product_attention(queries, keys, values)
    with importing:
        from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):  # the fused kernels add up gradients in a nondeterministic order
        return functional.scaled_dot_product_attention(queries, keys, values)
