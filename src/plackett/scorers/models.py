"""What a fitted model is: arrays that score. Linear models, trees, nets, and steps that add up ranks within lists.

A model is called with prepared rows and the bounds of their lists, and returns one float64 score per row. It is made of
the learned attributes of a ranker, which may come from a file: making it raises a ``ValueError`` for attributes that no
fit sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett import _native
from plackett.scorers.linear import LinearScorer
from plackett.scorers.net_shape import LAYERS, NetShape
from plackett.scorers.ranks import BEFORE, FEATURE, DiffReplay, Discovery, RankReplay, Replay, Step, are_centres
from plackett.scorers.tied_scores import with_equal_rows_tied
from plackett.scorers.trees import FlatTrees
from plackett.storage.models.array_checks import (
    FLOATS,
    Check,
    check_records,
    check_state,
    check_vector,
    column_or_none,
    flag,
    number,
    row,
)
from plackett.storage.models.registry import Part

MOST_VALUES = 1 << 17  # largest array that is scored at once, on one thread
EPSILON = 1e-5  # of layer norms, as in PyTorch
LARGEST_WEIGHT = 1e6  # of a step; far above what a fit finds, and sums of weighted ranks stay finite
LARGEST_BETA = 1e30  # of a step; a fit finds at most the pairs of a list, and mixtures of ranks stay finite
STEP = [("feature", np.int64), ("weight", np.float64)]
STUMP = [*STEP, ("threshold", np.float64), ("default", np.int64)]
BALANCED_STEP = [*STEP, ("enters", np.int64), ("beta", np.float64)]


@dataclass(frozen=True)
class Linear:
    """Scores ``X @ coef[:-1] + coef[-1]``."""

    coef: np.ndarray

    depends_on_list = False

    @classmethod
    def of(cls, state: Any, n_columns: int) -> Linear:
        """Return the model of a ranker with linear scores."""
        check_state(state, {"coef_": row, "intercept_": number}, n_columns)
        return cls(frozen(np.append(state.coef_, state.intercept_)))

    def __call__(self, X: Any, indptr: np.ndarray | None = None) -> np.ndarray:
        if not isinstance(X, np.ndarray) or X.size > MOST_VALUES or not (X.flags.c_contiguous and X.flags.aligned):
            return LinearScorer(X, has_intercept=True).scores(self.coef)
        scores = np.empty(X.shape[0])
        _native.scorers.score(X, self.coef, scores)
        return scores


@dataclass(frozen=True)
class Trees:
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

    def __post_init__(self) -> None:
        largest = max(abs(self.start), np.abs(self.trees.values_).max(initial=0.0))
        if self.is_single and largest > np.finfo(np.float32).max:
            raise ValueError("the start and the leaves must be numbers that single precision can hold.")

    @classmethod
    def of_lightgbm(cls, state: Any, n_columns: int) -> Trees:
        """Return the model of a ``TreeRanker``."""
        checks = {"intercept_": number, "has_base_": flag, "base_column_": column_or_none}
        trees = _checked_trees(state, n_columns, checks)
        if state.base_column_ is not None and not state.has_base_:
            raise ValueError("has_base_ must say whether there were base scores.")
        return cls(trees, state.intercept_, base_column=state.base_column_)

    @classmethod
    def of_xgboost(cls, state: Any, n_columns: int) -> Trees:
        """Return the model of an ``XGBoostRanker``, which adds up in single precision."""
        trees = _checked_trees(state, n_columns, {"intercept_": number, "zero_is_missing_": flag})
        return cls(trees, state.intercept_, is_single=True)

    @classmethod
    def of_import(cls, state: Any, n_columns: int) -> Trees:
        """Return the model of trees of another tool."""
        checks = {"start_": number, "scale_": number, "bias_": number, "is_single_": flag}
        trees = _checked_trees(state, n_columns, checks)
        return cls(trees, state.start_, state.is_single_, state.scale_, state.bias_)

    @classmethod
    def of_stumps(cls, state: Any, n_columns: int) -> Trees:
        """Return the model of a ``RankBoost``."""
        check_steps(state, STUMP, n_columns)
        return cls(FlatTrees.of_stumps(state.steps_, n_columns), 0.0)

    def __call__(self, X: Any, indptr: np.ndarray | None = None, start: np.ndarray | None = None) -> np.ndarray:
        if start is None and self.base_column is not None:
            start = np.ascontiguousarray(X[:, self.base_column], dtype=np.float64)
        elif start is None:
            start = np.full(X.shape[0], self.start, dtype=np.float32 if self.is_single else np.float64)
        sums = self.trees.predict(X, start)
        if self.is_single:
            sums = sums.astype(np.float64)
        return sums if (self.scale, self.bias) == (1.0, 0.0) else sums * self.scale + self.bias


def _checked_trees(state: Any, n_columns: int, checks: Mapping[str, Check]) -> FlatTrees:
    """Return the trees of a ranker, whose other attributes must pass the checks."""
    trees = state.trees_
    if isinstance(trees, Part) and trees.class_name == "plackett.scorers.FlatTrees":
        trees = FlatTrees()
        trees.__dict__.update(state.trees_.state)
        trees.check_loaded()
    if not isinstance(trees, FlatTrees) or trees.n_features_ != n_columns:
        raise ValueError(f"trees_ must be trees over {n_columns} features.")
    check_state(state, {"has_missing_": flag, **checks}, n_columns)
    return trees


@dataclass(frozen=True)
class Steps:
    """Scores by ranks within the list, of DiffRank (``is_sum``), FeatureRank and BL-FeatureRank."""

    discovery: Discovery
    steps: tuple[Step, ...]
    is_sum: bool

    depends_on_list = True

    @classmethod
    def of(cls, state: Any, n_columns: int, *, fields: list = STEP, is_sum: bool = False) -> Steps:
        """Return the model of a ranker by ranks, whose steps have these fields."""
        check_steps(state, fields, n_columns)
        if (abs(state.steps_["weight"]) > LARGEST_WEIGHT).any():
            raise ValueError(f"the weights of steps_ must be numbers of at most {LARGEST_WEIGHT:g}.")
        steps = tuple(Step(*record) for record in state.steps_.tolist())
        if not all(FEATURE <= step.enters <= BEFORE for step in steps):
            raise ValueError("the field enters of steps_ must be 0, 1 or 2.")
        if not all(abs(step.beta) <= LARGEST_BETA for step in steps):
            raise ValueError(f"the field beta of steps_ must be at most {LARGEST_BETA:g}.")
        return cls(_discovery(state.centres_, state.signs_, n_columns), steps, is_sum)

    @classmethod
    def of_sums(cls, state: Any, n_columns: int) -> Steps:
        """Return the model of a ``DiffRank``."""
        return cls.of(state, n_columns, is_sum=True)

    @classmethod
    def of_balanced(cls, state: Any, n_columns: int) -> Steps:
        """Return the model of a ``BLFeatureRank``."""
        return cls.of(state, n_columns, fields=BALANCED_STEP)

    def replay(self, X: Any, indptr: np.ndarray) -> Replay:
        """Return an object that applies steps to these lists."""
        ranks = self.discovery.twice_ranks(X, indptr).twice
        return DiffReplay(ranks) if self.is_sum else RankReplay(ranks, indptr)

    def __call__(self, X: Any, indptr: np.ndarray) -> np.ndarray:
        replay = self.replay(X, indptr)
        for step in self.steps:
            replay.apply(step)
        return replay.scores


def _discovery(centres: Any, signs: Any, n_columns: int) -> Discovery:
    if (centres is None) == (signs is None):
        raise ValueError("exactly one of centres_ and signs_ must be None.")
    if signs is not None:
        is_vector = isinstance(signs, np.ndarray) and signs.dtype == np.int64 and signs.shape == (n_columns,)
        if not is_vector or not np.isin(signs, (-1, 1)).all():
            raise ValueError(f"signs_ must have 1 or -1 for each of {n_columns} features.")
        return Discovery.linear(signs)
    if not isinstance(centres, np.ndarray) or centres.dtype != np.float64 or centres.ndim != 2:
        raise ValueError("centres_ must be a table of numbers.")
    if centres.shape[0] != n_columns or not are_centres(centres):
        raise ValueError(f"centres_ must have finite centres for each of {n_columns} features.")
    return Discovery(centres)


def check_steps(state: Any, fields: list, n_columns: int) -> None:
    """Raise a ``ValueError`` unless the steps of a ranker have these fields, and features among the columns."""
    check_records(state, "steps_", fields)
    features = state.steps_["feature"]
    if ((features < 0) | (features >= n_columns)).any():
        raise ValueError(f"the features of steps_ must be columns 0 to {n_columns - 1}.")


@dataclass(frozen=True)
class Net:
    """Scores of a net, in the precision of its weights; equal rows of a list have equal scores."""

    shape: NetShape
    weights: dict[str, np.ndarray]

    @classmethod
    def of(cls, state: Any, n_columns: int) -> Net:
        """Return the model of a ``NeuralRanker``."""
        weights, layers = getattr(state, "weights_", None), getattr(state, "layers_", None)
        if not isinstance(layers, dict) or set(layers) != set(LAYERS):
            raise ValueError(f"layers_ must define {', '.join(LAYERS[:-1])} and {LAYERS[-1]}.")
        if not isinstance(weights, dict):
            raise ValueError("weights_ must hold arrays by their names.")
        dtypes = {array.dtype if isinstance(array, np.ndarray) else None for array in weights.values()}
        if dtypes not in ({FLOATS[0]}, {FLOATS[1]}):
            raise ValueError("weights_ must hold arrays of float32, or of float64.")
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise ValueError(f"weights_[{name!r}] must be an array of finite numbers.")
        shape = NetShape.of(layers, n_columns, has_output_bias="output.bias" in weights)
        if shape.attention > len(weights):  # the shapes of a million layers would take long to list
            raise ValueError("weights_ must have the shapes of layers_.")
        if {name: array.shape for name, array in weights.items()} != shape.weights:
            raise ValueError("weights_ must have the shapes of layers_.")
        check_vector(state, "mean_row_", size=n_columns)
        return cls(shape, {name: frozen(array) for name, array in weights.items()})

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


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a contiguous copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy
