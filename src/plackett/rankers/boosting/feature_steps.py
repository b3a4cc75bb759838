"""What DiffRank, FeatureRank and BL-FeatureRank share: one step per feature, validation, and the door."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._threads import query_blocks
from plackett.data.queries import Queries, QueryLists
from plackett.metrics.measure import Measure
from plackett.rankers.base import Interrupted, Ranker
from plackett.rankers.boosting.discovery import (
    CENTRES,
    DISCOVERIES,
    DOCS_PER_BLOCK,
    Discovery,
    LevelBounds,
    count_label_pairs,
    find_centres,
    find_signs,
)
from plackett.rankers.monitor import NO_IMPROVEMENT, Progress, ValidationSet, is_better
from plackett.solvers.base import INTERRUPTED
from plackett.storage.models.checks import check_vector
from plackett.validation import check_choice, check_positive_int, feature_labels

FEATURE, MIXTURE, BEFORE = 0, 1, 2  # what enters a step of BL-FeatureRank
LEAST = 1e-12  # of the two sums whose ratio gives a weight: a perfect feature gets a finite one
LARGEST_WEIGHT = 1e6  # far above all that LEAST lets a fit find: sums of weighted ranks stay finite
FINISHED = "all steps done"
NO_PAIRS = "no query has documents with different labels"


class Step(NamedTuple):
    """What a step adds: a feature with its weight, and for BL-FeatureRank what enters and how it is mixed."""

    weight: float
    choice: int = FEATURE
    beta: float = 0.0


class TrainingLists:
    """Training lists in order of falling labels, and sums over them."""

    def __init__(self, queries: Queries, weights: np.ndarray | None, top: int | None = None):
        lists = queries.lists
        self.indptr, self.levels = lists.indptr, LevelBounds.of(lists)
        self.n_docs, self.n_queries = lists.n_docs, lists.n_queries
        self.pairs = count_label_pairs(lists, top)
        self.weights = np.where(self.pairs > 0, 1.0 if weights is None else weights, 0.0)
        self.blocks = query_blocks(self.indptr, DOCS_PER_BLOCK)
        self.total_pairs = self.total(self.pairs)

    def total(self, values: np.ndarray) -> float:
        """Sum over the queries by their weights, rounded once: the order of the queries does not show."""
        return math.fsum(self.weights * values)

    def mean(self, values: np.ndarray) -> float:
        return self.total(values) / max(math.fsum(self.weights), 1e-300)

    def error(self, wrong: np.ndarray) -> float:
        return self.total(wrong) / self.total_pairs if self.total_pairs > 0 else 0.0


class Training(ABC):
    """The state of a fit: where the training lists stand after the steps so far."""

    names: tuple[str, ...]  # of what it measures
    lists: TrainingLists

    @abstractmethod
    def step(self, feature: int) -> Step:
        """Find the weight of a feature and take the step."""

    @abstractmethod
    def measures(self) -> tuple[float, ...]:
        """One number for each of ``names``."""


class Replay(ABC):
    """The steps of a model, taken one after the other on lists whose labels nobody knows."""

    @property
    @abstractmethod
    def scores(self) -> np.ndarray:
        """Scores after the steps so far."""

    @abstractmethod
    def take(self, feature: int, step: Step) -> None:
        """Take one step."""


class ToExplain(NamedTuple):
    """Checked lists, and what explanations show of them in the order in which the rows were given."""

    queries: Queries
    place: np.ndarray  # of each row among the grouped ones
    X: Any
    qid: np.ndarray
    feature_names: list[str]
    docid: Any


class Watch:
    """What happens after every step: history, validation measure, progress."""

    def __init__(self, names: tuple[str, ...], held_back: Queries | None, metric: Any, replay: Replay | None):
        self.history: dict[str, list[float]] = {name: [] for name in names}
        self.best_iteration: int | None = None
        self.best_score: float | None = None
        self._names, self._replay = names, replay
        self._held_back = None if held_back is None else ValidationSet(held_back, metric)
        if self._held_back is not None:
            self.history[str(self._held_back.measure)] = []

    def __call__(self, n_steps: int, feature: int, step: Step, measures: tuple[float, ...]) -> str:
        shown = "  ".join(f"{name} {value:.4f}" for name, value in zip(self._names, measures, strict=True))
        for name, value in zip(self._names, measures, strict=True):
            self.history[name].append(value)
        if self._held_back is None or self._replay is None:
            return shown
        self._replay.take(feature, step)
        measure, mean = self._held_back.measure, self._held_back.mean(self._replay.scores)
        self.history[str(measure)].append(mean)
        if is_better(mean, self.best_score, measure):
            self.best_iteration, self.best_score = n_steps, mean
        return f"{shown}  {measure} {mean:.4f}"


class FeatureSteps(Ranker):
    """What the three rankers share: discovery, the loop over the features, validation, replay."""

    n_intervals: int
    discovery: str
    centre: str
    cycles: int
    patience: int | None
    verbose: bool
    feature_weights_: np.ndarray
    centres_: Any
    signs_: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Self:
        """Find the ranking in each feature, and the weights.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,)
            Labels, larger is better. Left out where X is a Queries.
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query). A query of weight
            2 counts as two alike.
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every step.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._all_or_nothing():
            if eval_metric is not None:
                Measure.parse(eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            self._discover(queries.X, queries.lists, weights)
            training = self._training(queries, weights)
            replay = None if held_back is None else self._replay(held_back)
            return self._learn(training, Watch(training.names, held_back, eval_metric, replay))

    def _discover(self, X: Any, lists: QueryLists, weights: np.ndarray | None) -> None:
        self.centres_ = self.signs_ = None
        if self.discovery == "linear":
            self.signs_ = find_signs(X, lists, weights)
        else:
            self.centres_ = find_centres(
                X, lists, self.n_intervals, centre=self.centre, weights=weights, names=self.feature_labels
            )

    def _discovery(self) -> Discovery:
        return Discovery(self.centres_) if self.signs_ is None else Discovery.linear(self.signs_)

    @abstractmethod
    def _training(self, queries: Queries, weights: np.ndarray | None) -> Training:
        """What goes through the features, step by step."""

    @abstractmethod
    def _replay(self, queries: Queries) -> Replay:
        """What takes the steps on new lists."""

    @property
    def depends_on_list(self) -> bool:
        """Always: documents are scored by their ranks in the list."""
        return True

    def _ranks(self, queries: Queries) -> np.ndarray:
        """Twice the ranks by each feature, of new lists."""
        return self._discovery().twice_ranks(queries.X, queries.indptr).twice

    def _learn(self, training: Training, watch: Watch) -> Self:
        n_features = self.n_features_in_
        steps: list[Step] = []
        self.stop_reason_ = FINISHED if training.lists.total_pairs > 0 else NO_PAIRS
        interrupt = None
        try:
            with Progress("fitting", self.cycles * n_features, is_shown=bool(self.verbose)) as progress:
                for place in range(self.cycles * n_features):
                    step = training.step(place % n_features)
                    steps.append(step)
                    progress.advance(watch(len(steps), place % n_features, step, training.measures()))
                    if self.patience is None or watch.best_iteration is None:
                        continue
                    if len(steps) - watch.best_iteration >= self.patience:
                        self.stop_reason_ = NO_IMPROVEMENT
                        break
        except KeyboardInterrupt as error:
            self.stop_reason_, interrupt = INTERRUPTED, error
        self.n_iter_, self.history_ = len(steps), watch.history
        self.best_iteration_, self.best_score_ = watch.best_iteration, watch.best_score
        if watch.best_iteration is not None and self.patience is not None:
            steps = steps[: watch.best_iteration]
        self._keep(steps)
        if interrupt is not None:
            raise Interrupted("the fit was interrupted; the steps taken so far were kept.") from interrupt
        return self

    def _keep(self, steps: list[Step]) -> None:
        self.feature_weights_ = np.array([step.weight for step in steps], dtype=np.float64)

    def _steps(self) -> list[Step]:
        return [Step(float(weight)) for weight in self.feature_weights_]

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        replay = self._replay(queries)
        for place, step in enumerate(self._steps()):
            replay.take(place % self.n_features_in_, step)
        return replay.scores

    def _to_explain(self, X: Any, qid: Any, docid: Any) -> ToExplain:
        check_is_fitted(self)
        if isinstance(X, Queries) and docid is None:
            docid = X.docid
        queries = self._check_queries(X, None, qid, needs_labels=False)
        place = queries.in_row_order(np.arange(queries.n_docs))
        names = feature_labels(self.n_features_in_, self.feature_labels)
        return ToExplain(queries, place, queries.X[place], queries.qid[place], names, docid)

    def _check_parameters(self) -> None:
        check_positive_int(self.n_intervals, "n_intervals")
        check_positive_int(self.cycles, "cycles")
        check_choice(self.discovery, "discovery", DISCOVERIES)
        check_choice(self.centre, "centre", CENTRES)
        if self.patience is not None:
            check_positive_int(self.patience, "patience")

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super().check_loaded()
        check_vector(self, "feature_weights_")
        if (abs(self.feature_weights_) > LARGEST_WEIGHT).any():
            raise ValueError(f"feature_weights_ must be numbers of at most {LARGEST_WEIGHT:g}.")
        if (self.centres_ is None) == (self.signs_ is None):
            raise ValueError("either centres_ or signs_ must be given.")
        if self.signs_ is not None:
            check_vector(self, "signs_", np.int64)
            if self.signs_.size != self.n_features_in_ or not np.isin(self.signs_, (-1, 1)).all():
                raise ValueError(f"signs_ must have 1 or -1 for each of {self.n_features_in_} features.")
            return
        centres = self.centres_
        if not isinstance(centres, np.ndarray) or centres.dtype != np.float64 or centres.ndim != 2:
            raise ValueError("centres_ must be a table of numbers.")
        if centres.shape[0] != self.n_features_in_ or np.isinf(centres).any() or np.isnan(centres).all(axis=1).any():
            raise ValueError(f"centres_ must have finite centres for each of {self.n_features_in_} features.")
