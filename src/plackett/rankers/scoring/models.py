"""What turns prepared rows into scores: linear models, trees, nets, and ranks within lists.

Every model is called with rows and the bounds of their lists, and returns one float64 score per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plackett import _native
from plackett.rankers.boosting.discovery import Discovery
from plackett.rankers.boosting.replay import DiffReplay, RankReplay, Step
from plackett.rankers.tied_scores import with_equal_rows_tied
from plackett.scorers.net_shape import NetShape
from plackett.scorers.trees import FlatTrees

EPSILON = 1e-5  # of layer norms, as in PyTorch


@dataclass(frozen=True)
class LinearModel:
    """Scores ``X @ coef[:-1] + coef[-1]``."""

    coef: np.ndarray

    depends_on_list = False

    def __call__(self, X: np.ndarray, indptr: np.ndarray | None) -> np.ndarray:
        scores = np.empty(X.shape[0])
        _native.scorers.score(X, self.coef, scores)
        return scores


@dataclass(frozen=True)
class TreeModel:
    """Scores ``(start + Σ_t tree_t(x)) * scale + bias``, added up in single precision where ``is_single``.

    The start is a number, or a column of X.
    """

    trees: FlatTrees
    start: float
    is_single: bool = False
    scale: float = 1.0
    bias: float = 0.0
    base_column: int | None = None

    depends_on_list = False

    def __call__(self, X: np.ndarray, indptr: np.ndarray | None) -> np.ndarray:
        if self.base_column is None:
            start = np.full(X.shape[0], self.start, dtype=np.float32 if self.is_single else np.float64)
        else:
            start = np.ascontiguousarray(X[:, self.base_column], dtype=np.float64)
        sums = self.trees.predict(X, start)
        if self.is_single:
            sums = sums.astype(np.float64)
        return sums if (self.scale, self.bias) == (1.0, 0.0) else sums * self.scale + self.bias


@dataclass(frozen=True)
class RankModel:
    """Scores by ranks within the list, of DiffRank (``is_sum``), FeatureRank and BL-FeatureRank."""

    discovery: Discovery
    steps: tuple[Step, ...]
    is_sum: bool

    depends_on_list = True

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        ranks = self.discovery.twice_ranks(X, indptr).twice
        replay = DiffReplay(ranks) if self.is_sum else RankReplay(ranks, indptr)
        for step in self.steps:
            replay.apply(step)
        return replay.scores


@dataclass(frozen=True)
class NetModel:
    """Scores of a net, in the precision of its weights; equal rows of a list have equal scores."""

    shape: NetShape
    weights: dict[str, np.ndarray]

    @property
    def depends_on_list(self) -> bool:
        return self.shape.attention > 0

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        shape, activate = self.shape, ACTIVATIONS[self.shape.activation]
        values = X.astype(self.weights["output.weight"].dtype)
        for place in range(len(shape.hidden)):
            values = activate(self._linear(f"hidden{place}", values))
        for place in range(shape.attention):
            values = values + self._attended(f"attention{place}", values, indptr)
            wide = self._linear(f"attention{place}.widen", self._normed(f"attention{place}.think", values))
            values = values + self._linear(f"attention{place}.narrow", activate(wide))
        scores = self._linear("output", values)[:, 0].astype(np.float64)
        return with_equal_rows_tied(scores, X, indptr)

    def _linear(self, name: str, X: np.ndarray) -> np.ndarray:
        product, bias = X @ self.weights[f"{name}.weight"].T, self.weights.get(f"{name}.bias")
        return product if bias is None else product + bias

    def _normed(self, name: str, X: np.ndarray) -> np.ndarray:
        moved = X - X.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.square(moved).mean(axis=1, keepdims=True) + X.dtype.type(EPSILON))
        return moved / deviation * self.weights[f"{name}.scale"] + self.weights[f"{name}.shift"]

    def _attended(self, name: str, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        projected, heads = self._linear(f"{name}.look", self._normed(f"{name}.attend", X)), self.shape.heads
        found = np.empty_like(X)
        for first, last in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
            parts = projected[first:last].reshape(last - first, 3, heads, -1).transpose(1, 2, 0, 3)
            queries, keys, values = parts
            shares = queries @ keys.transpose(0, 2, 1) * X.dtype.type(1.0 / math.sqrt(queries.shape[2]))
            shares = np.exp(shares - shares.max(axis=2, keepdims=True))
            shares /= shares.sum(axis=2, keepdims=True)
            found[first:last] = (shares @ values).transpose(1, 0, 2).reshape(last - first, -1)
        return self._linear(f"{name}.join", found)


_erf = np.frompyfunc(math.erf, 1, 1)


def _gelu(z: np.ndarray) -> np.ndarray:
    return z * (0.5 * (1.0 + np.asarray(_erf(z * math.sqrt(0.5)), dtype=np.float64))).astype(z.dtype)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: np.maximum(z, 0.0),
    "gelu": _gelu,
    "silu": lambda z: z / (1.0 + np.exp(-z)),
    "tanh": np.tanh,
}
