"""Rankers of other packages behind this library's ``fit`` and ``predict``, so that they can take part in comparisons.

The number of trees is chosen on the validation queries by the measure that decides there, whatever it is, and not by
the package's own NDCG: all contestants are chosen by the same rule. They run on one thread unless told otherwise, on
which their results are the same every time.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, BinaryIO

import numpy as np

from plackett._optional import import_optional
from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Ranker
from plackett.rankers.fitting import HeldBack, is_better
from plackett.validation import check_positive_int

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by XGBoost, and a gain of label taken instead


class TreeRanker(Ranker):
    """Boosted trees of another package.

    Attributes
    ----------
    model_ : what the package made
    n_iter_ : int
        Trees that are used: those up to the best on the validation queries, or all.
    best_iteration_, best_score_ : int and float, or None without a validation set
    history_ : dict of lists
        The validation measure after every tree.
    """

    n_rounds: int
    patience: int | None
    random_state: int
    model_: Any
    _module: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Any:
        """Grow the trees; with validation queries, keep those up to the best one.

        Parameters
        ----------
        X, y, qid, eval_set, eval_metric : as in ``LinearRanker.fit``
        """
        check_positive_int(self.n_rounds, "n_rounds")
        if self.patience is not None:
            check_positive_int(self.patience, "patience")
        with self._all_or_nothing():
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            held_back = self._check_eval_set(eval_set)
            watch = None if held_back is None else _Watch(HeldBack(held_back, eval_metric), self.patience)
            self.model_ = self._train(queries, watch)
            self.history_ = {} if watch is None else {str(watch.measure): watch.values}
            self.best_iteration_ = None if watch is None else watch.best_round
            self.best_score_ = None if watch is None else watch.best_value
            self.n_iter_ = self.best_iteration_ or self._n_trees()
        return self

    @abstractmethod
    def _train(self, queries: Queries, watch: _Watch | None) -> Any:
        """The package's model of all rounds, after each of which the watch was asked."""

    @abstractmethod
    def _n_trees(self) -> int:
        """Rounds in ``model_``."""

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Refused: the model is another package's, which has its own files."""
        raise ValueError(
            f"{type(self).__name__} holds a model of another package; save that one: ranker.model_.save_model(path)."
        )


class _Watch:
    """The validation measure after every round, and which round was the best."""

    def __init__(self, held_back: HeldBack, patience: int | None):
        self.held_back, self.patience = held_back, patience
        self.values: list[float] = []
        self.best_round: int | None = None
        self.best_value: float | None = None

    @property
    def queries(self) -> Queries:
        return self.held_back.queries

    @property
    def measure(self) -> Measure:
        return self.held_back.measure

    def note(self, scores: np.ndarray) -> None:
        """Write down how a round ranks."""
        value = self.held_back.mean(np.asarray(scores, dtype=np.float64))
        self.values.append(value)
        if is_better(value, self.best_value, self.measure):
            self.best_round, self.best_value = len(self.values), value

    @property
    def is_over(self) -> bool:
        """Whether the last rounds were of no use."""
        if self.patience is None or self.best_round is None:
            return False
        return len(self.values) - self.best_round >= self.patience


class LightGBMRanker(TreeRanker):
    """LightGBM's ``lambdarank``.

    Parameters
    ----------
    n_rounds : int, default=300
        Trees at most.
    learning_rate : float, default=0.1
    num_leaves : int, default=31
    min_data_in_leaf : int, default=20
    lambda_l2 : float, default=0.0
    patience : int or None, default=50
        With a validation set, growing ends after so many trees without a better value.
    params : dict, default=None
        Other parameters of LightGBM, by its own names.
    random_state : int, default=0
    n_jobs : int, default=1
    """

    def __init__(
        self,
        n_rounds: int = 300,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_data_in_leaf: int = 20,
        lambda_l2: float = 0.0,
        patience: int | None = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.lambda_l2 = lambda_l2
        self.patience = patience
        self.params = params
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, queries: Queries, watch: _Watch | None) -> Any:
        lightgbm = _package("lightgbm")
        labels = _whole_labels(queries.labels, "LightGBM's lambdarank")
        params = {
            "objective": "lambdarank",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_data_in_leaf,
            "lambda_l2": self.lambda_l2,
            "label_gain": _gains(labels),
            "num_threads": self.n_jobs,
            "seed": self.random_state,
            "deterministic": True,
            "force_row_wise": True,  # which is what "deterministic" asks for
            "verbosity": -1,
            "metric": "none",
            **(self.params or {}),
        }
        train = lightgbm.Dataset(queries.X, labels, group=np.diff(queries.indptr), params={"verbosity": -1})
        if watch is None:
            return lightgbm.train(params, train, num_boost_round=self.n_rounds)
        held_back = lightgbm.Dataset(
            watch.queries.X, watch.queries.labels, group=np.diff(watch.queries.indptr), reference=train
        )

        def measure(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
            watch.note(scores)
            return str(watch.measure), watch.values[-1], watch.measure.higher_is_better

        def end(_: Any) -> None:
            if watch.is_over:
                raise lightgbm.callback.EarlyStopException(len(watch.values) - 1, [])

        return lightgbm.train(
            params, train, num_boost_round=self.n_rounds, valid_sets=[held_back], feval=measure, callbacks=[end]
        )

    def _n_trees(self) -> int:
        return self.model_.current_iteration()

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        return self.model_.predict(queries.X, num_iteration=self.n_iter_, num_threads=self.n_jobs)


class XGBoostRanker(TreeRanker):
    """XGBoost's ``rank:ndcg``.

    Parameters
    ----------
    n_rounds, learning_rate, patience, random_state, n_jobs : as in :class:`LightGBMRanker`
    max_depth : int, default=6
    min_child_weight : float, default=1.0
    reg_lambda : float, default=1.0
    params : dict, default=None
        Other parameters of XGBoost, by its own names.
    """

    def __init__(
        self,
        n_rounds: int = 300,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        min_child_weight: float = 1.0,
        reg_lambda: float = 1.0,
        patience: int | None = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.patience = patience
        self.params = params
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, queries: Queries, watch: _Watch | None) -> Any:
        xgboost = _package("xgboost")
        labels = _whole_labels(queries.labels, "XGBoost's rank:ndcg")
        params = {
            "objective": "rank:ndcg",
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.reg_lambda,
            "tree_method": "hist",
            "ndcg_exp_gain": bool(labels.max() <= LARGEST_LABEL),
            "nthread": self.n_jobs,
            "seed": self.random_state,
            "verbosity": 0,
            "disable_default_eval_metric": True,
            **(self.params or {}),
        }
        train = xgboost.DMatrix(queries.X, labels, group=np.diff(queries.indptr), nthread=self.n_jobs)
        if watch is None:
            return xgboost.train(params, train, num_boost_round=self.n_rounds)
        held_back = xgboost.DMatrix(watch.queries.X, nthread=self.n_jobs)

        def measure(scores: np.ndarray, _: Any) -> tuple[str, float]:
            watch.note(scores)
            return "measure", watch.values[-1]

        end = type("End", (xgboost.callback.TrainingCallback,), {"after_iteration": lambda *_: watch.is_over})
        return xgboost.train(
            params, train, num_boost_round=self.n_rounds, evals=[(held_back, "validation")], verbose_eval=False,
            custom_metric=measure, callbacks=[end()],
        )  # fmt: skip

    def _n_trees(self) -> int:
        return self.model_.num_boosted_rounds()

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        rows = _package("xgboost").DMatrix(queries.X, nthread=self.n_jobs)
        scores = self.model_.predict(rows, output_margin=True, iteration_range=(0, self.n_iter_))
        return scores.astype(np.float64)


class CatBoostRanker(TreeRanker):
    """CatBoost's ``YetiRank``.

    Parameters
    ----------
    n_rounds, learning_rate, random_state, n_jobs : as in :class:`LightGBMRanker`
    depth : int, default=6
    l2_leaf_reg : float, default=3.0
    patience : int or None, default=50
        With a validation set, growing ends after so many trees without a better NDCG@10 there, by CatBoost's own rules,
        as it asks no other measure on the way; of these trees, those up to the best by the measure given are kept.
    params : dict, default=None
        Other parameters of CatBoost, by its own names.
    """

    def __init__(
        self,
        n_rounds: int = 300,
        learning_rate: float = 0.1,
        depth: int = 6,
        l2_leaf_reg: float = 3.0,
        patience: int | None = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.depth = depth
        self.l2_leaf_reg = l2_leaf_reg
        self.patience = patience
        self.params = params
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, queries: Queries, watch: _Watch | None) -> Any:
        catboost = _package("catboost")
        params = {
            "loss_function": "YetiRank",
            "iterations": self.n_rounds,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "l2_leaf_reg": self.l2_leaf_reg,
            "thread_count": self.n_jobs,
            "random_seed": self.random_state,
            "logging_level": "Silent",
            "allow_writing_files": False,
            **(self.params or {}),
        }

        def pool(part: Queries) -> Any:
            return catboost.Pool(
                part.X, part.labels, group_id=np.repeat(np.arange(part.n_queries), np.diff(part.indptr))
            )

        if watch is None:
            return catboost.CatBoost(params).fit(pool(queries))
        if self.patience is not None:
            params = {"eval_metric": "NDCG:top=10", "od_type": "Iter", "od_wait": self.patience, **params}
        model = catboost.CatBoost({"use_best_model": False, **params}).fit(pool(queries), eval_set=pool(watch.queries))
        for scores in model.staged_predict(watch.queries.X, thread_count=self.n_jobs):
            watch.note(scores)
        return model

    def _n_trees(self) -> int:
        return self.model_.tree_count_

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        return self.model_.predict(queries.X, ntree_end=self.n_iter_, thread_count=self.n_jobs)


PEERS: dict[str, type[TreeRanker]] = {
    "lightgbm": LightGBMRanker,
    "xgboost": XGBoostRanker,
    "catboost": CatBoostRanker,
}


def peer(name: str) -> TreeRanker:
    """The ranker of another package, which must be installed."""
    _package(name)
    return PEERS[name]()


def _package(name: str) -> Any:
    return import_optional(name, extra=None, needed_for=f"the ranker {name!r}")


def _gains(labels: np.ndarray) -> list[float]:
    levels = range(int(labels.max()) + 1)
    return [2.0**label - 1.0 if levels[-1] <= LARGEST_LABEL else float(label) for label in levels]


def _whole_labels(labels: np.ndarray, whose: str) -> np.ndarray:
    if (labels < 0).any() or (labels != np.floor(labels)).any():
        wrong = labels[(labels < 0) | (labels != np.floor(labels))][0]
        raise ValueError(f"{whose} takes whole labels from 0 on; there is a label {wrong:g}.")
    return labels
