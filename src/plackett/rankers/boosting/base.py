"""What boosted rankers share: sums of weak rankers, found one per round, each for what the rounds before got wrong."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Interrupted, Normalized
from plackett.rankers.monitor import DEFAULT_METRIC, Progress, ValidationSet
from plackett.solvers.base import INTERRUPTED
from plackett.storage.models.checks import check_vector
from plackett.validation import check_positive_int, is_sparse

ALL_ROUNDS = "all rounds were used"
LARGEST_EDGE = 1.0 - 1e-6  # a perfect weak ranker would get an infinite weight; this one gets 7.25
SAME = 1e-12  # candidates whose values differ by less are equal: sums over rows in another order differ by that


class Boosted(Normalized):
    """What AdaRank and RankBoost share: the door, the validation set, when to end, what is kept."""

    n_rounds: int
    patience: int | None
    verbose: bool

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Any:
        """Find the weak rankers and their weights.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,)
            Labels, larger is better. Left out where X is a Queries.
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query).
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every round; the rounds up to the best one are kept.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._all_or_nothing():
            measure = Measure.parse(DEFAULT_METRIC if eval_metric is None else eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            queries = self._fit_normalizer(queries)
            validation = None if held_back is None else ValidationSet(self._normalized(held_back), measure)
            rounds = Rounds(validation, Progress("boosting", self.n_rounds, is_shown=bool(self.verbose)))
            try:
                with rounds.progress:
                    self.stop_reason_ = self._boost(
                        queries, np.ones(queries.n_queries) if weights is None else weights, rounds
                    )
            except KeyboardInterrupt:
                self.stop_reason_ = INTERRUPTED
            self._keep(rounds)
            if self.stop_reason_ == INTERRUPTED:
                raise Interrupted("the fit was interrupted; the rounds so far were kept.")
            return self

    @abstractmethod
    def _boost(self, queries: Queries, weights: np.ndarray, rounds: Rounds) -> str:
        """Work through the rounds; the answer is why they ended."""

    def _keep(self, rounds: Rounds) -> None:
        self.history_ = rounds.history
        self.n_iter_ = len(rounds.history.get("alpha", []))
        has_best = rounds.validation is not None and not np.isnan(rounds.best_value)
        self.best_iteration_ = rounds.best_round if has_best else None
        self.best_score_ = rounds.best_value if has_best else None

    def _check_parameters(self) -> None:
        check_positive_int(self.n_rounds, "n_rounds")
        if self.patience is not None:
            check_positive_int(self.patience, "patience")


class Rounds:
    """What is written down after every round."""

    def __init__(self, validation: ValidationSet | None, progress: Progress):
        self.validation, self.progress = validation, progress
        self.history: dict[str, list] = {}
        self.n_rounds, self.best_round, self.best_value = 0, 0, np.nan

    def note(self, **values: float) -> None:
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)

    def judge(self, value: float, higher_is_better: bool, tol: float) -> None:
        """Remember this round if it is better than the best by more than ``tol``, or the best has no value."""
        gain = value - self.best_value if higher_is_better else self.best_value - value
        if np.isnan(self.best_value) or gain > tol:
            self.best_round, self.best_value = self.n_rounds, value

    def judge_validation(self, scores: np.ndarray) -> None:
        assert self.validation is not None
        measure = self.validation.measure
        value = self.validation.mean(scores)
        self.note(**{str(measure): value})
        self.judge(value, measure.higher_is_better, SAME)
        self.progress.advance(f"{measure} {value:.4f}")


def weight_of_edge(edge: float) -> float:
    """The weight of a weak ranker, ½ ln((1 + edge) / (1 - edge)), which stays finite."""
    return float(np.arctanh(np.clip(edge, -LARGEST_EDGE, LARGEST_EDGE)))


def column_of(X: Any, feature: int) -> np.ndarray:
    """A column as contiguous float64."""
    column = X[:, [feature]].toarray() if is_sparse(X) else X[:, feature]
    return np.ascontiguousarray(column, dtype=np.float64).reshape(-1)


def named_steps(features: np.ndarray, alphas: np.ndarray, names: list[str] | None) -> list[tuple[Any, float]]:
    numbers = features.tolist()
    return list(zip(numbers if names is None else [names[f] for f in numbers], alphas.tolist(), strict=True))


def check_steps(ranker: Any, n_features: int) -> None:
    """Refuse rounds that name features which are not there."""
    check_vector(ranker, "alphas_")
    check_vector(ranker, "features_", np.int64)
    features = ranker.features_
    if features.size != ranker.alphas_.size or ((features < 0) | (features >= n_features)).any():
        raise ValueError(f"features_ must name one of {n_features} features for every weight in alphas_.")
