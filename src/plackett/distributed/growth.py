"""Trees that LightGBM grows over some rows: all rows of a fit, or those of one of several machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.data.query_lists import QueryLists
from plackett.losses.backends.trees import TreeObjective
from plackett.losses.base import Loss
from plackett.validation import count_of, is_sparse

LARGEST = float(np.finfo(np.float32).max)  # largest slope and curvature that LightGBM takes


class Rows(NamedTuple):
    """Rows of whole queries, as one matrix or several; the weights of the queries; the scores that trees add to."""

    X: Sequence[Any]
    lists: QueryLists
    weights: np.ndarray | None = None
    start: np.ndarray | None = None

    def matrix(self) -> Any:
        """Return the rows as LightGBM takes them: sparse rows as one matrix, since it knows no sparse arrays."""
        if len(self.X) == 1:
            return plain_rows(self.X[0])
        if not any(is_sparse(part) for part in self.X):
            dtype = np.result_type(*(part.dtype for part in self.X))
            return [np.require(part, dtype, ["C", "A"]) for part in self.X]
        return stacked(self.X)

    def row_weights(self) -> np.ndarray | None:
        """Return the weight of each row."""
        return None if self.weights is None else np.repeat(self.weights, np.diff(self.lists.indptr))


class Growth:
    """The trees so far, and what the next one needs.

    On a cluster every machine has one, with its own rows. LightGBM's network belongs to a thread, so ``link`` and all
    later calls must be made by the same one. With a network, LightGBM would find the bins of a feature from the rows of
    one machine; the bins are therefore those of ``sample``, rows that are the same on all machines.

    Without a loss the objective is that of ``params``, LightGBM's parameters; ``categories`` are columns, ``held`` are
    validation queries, and ``n_before`` is the number of trees that the scores to start from include.
    """

    def __init__(
        self,
        rows: Rows,
        params: dict[str, Any],
        loss: Loss | None,
        *,
        categories: Sequence[int] = (),
        held: Rows | None = None,
        sample: Any = None,
        n_before: int = 0,
    ):
        self._lightgbm: Any = import_optional("lightgbm", extra="trees", needed_for="Growing trees")
        self._objective = None if loss is None else TreeObjective(loss, rows.lists, rows.weights)
        self._params, self._n_before = params, n_before
        self.booster: Any = None
        self.value = 0.0  # the loss summed over the queries, at the scores before the last tree
        self.error: Exception | None = None
        bins = {"categorical_feature": list(categories), "params": params}
        reference = None if sample is None else self._lightgbm.Dataset(plain_rows(sample), **bins).construct()
        self._data = self._lightgbm.Dataset(
            rows.matrix(), rows.lists.labels if loss is None else None, group=np.diff(rows.lists.indptr),
            weight=rows.row_weights(), init_score=rows.start, reference=reference, **bins,
        ).construct()  # fmt: skip
        self._held = None
        if held is not None:
            self._held = self._lightgbm.Dataset(
                held.matrix(), reference=self._data, init_score=held.start, params=params
            )
        binned, n_columns = self._data if reference is None else reference, rows.X[0].shape[1]
        self.has_splits = any(binned.feature_num_bin(column) for column in range(n_columns))

    def link(self, **network: Any) -> None:
        """Get ready to grow, alone or with others, by the parameters of a network."""
        self.booster = self._lightgbm.Booster(self._params | network, self._data)
        if self._held is not None:
            self.booster.add_valid(self._held, "validation")

    def grow(self) -> bool:
        """Grow a tree; return whether there was a split."""
        finished = self.booster.update() if self._objective is None else self.booster.update(fobj=self._slope)
        if self.error is not None:
            raise self.error
        return not finished

    def _slope(self, scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return slope and curvature; an error is raised after the round, in which other machines take part."""
        assert self._objective is not None
        try:
            self.value, slope, curvature = self._objective.evaluate(scores)
            if not (np.abs(slope).max() <= LARGEST and curvature.max() <= LARGEST):
                n_trees = self._n_before + self.booster.current_iteration()
                raise ValueError(
                    f"the slope of {self._objective.loss!r} overflows in LightGBM after {count_of(n_trees, 'tree')}. "
                    "Lower learning_rate, or scale down the labels or the base scores."
                )
        except Exception as error:
            self.error = error
            return np.zeros_like(scores), np.zeros_like(scores)
        return slope, curvature

    def value_after(self, n_trees: int) -> float:
        """Return the loss summed over the queries, at the scores of these trees: all, or all but an interrupted one."""
        assert self._objective is not None
        while self._n_before + self.booster.current_iteration() > n_trees:
            self.booster.rollback_one_iter()
        return self._objective.evaluate(_scores(self.booster.eval_train))[0]

    def held_scores(self) -> np.ndarray:
        """Return the scores of the validation queries."""
        return _scores(self.booster.eval_valid)

    def model(self) -> str:
        """Return all trees as text."""
        return self.booster.model_to_string()

    def last_tree(self) -> str:
        """Return the last tree as text, a model of its own."""
        return self.booster.model_to_string(1, self.booster.current_iteration() - 1).split("\nparameters:")[0]

    def close(self) -> None:
        """Leave the network."""
        if self.booster is not None:
            self.booster.free_network()


def _scores(evaluate: Callable) -> np.ndarray:
    """Return the scores that a Booster's ``eval_train`` or ``eval_valid`` passes to a measure."""
    found: list[np.ndarray] = []

    def measure(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
        found.append(scores)
        return "nothing", 0.0, True

    evaluate(measure)
    return found[0]


def scores_of_trees(trees: Sequence[str], X: Any, start: float) -> np.ndarray:
    """Return the scores of rows by trees as ``last_tree`` returns them."""
    lightgbm = import_optional("lightgbm", extra="trees", needed_for="Growing trees")
    scores, rows = np.full(X.shape[0], start), plain_rows(X) if trees else X
    for tree in trees:
        scores += lightgbm.Booster(model_str=tree).predict(rows, raw_score=True, num_threads=1)
    return scores


def plain_rows(X: Any) -> Any:
    """Return X as the packages take it: sparse rows as a matrix, since not all of them know sparse arrays."""
    return stacked([X]) if is_sparse(X) else X


def stacked(parts: Sequence[Any]) -> Any:
    """Return the rows of several matrices as one, sparse if one of them is."""
    if not any(is_sparse(part) for part in parts):
        return np.concatenate(parts)
    with importing:
        from scipy import sparse

    return sparse.csr_matrix(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
