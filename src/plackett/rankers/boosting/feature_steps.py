"""Base class of DiffRank, FeatureRank and BL-FeatureRank, which take one step per feature."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._threads import query_blocks
from plackett.data.queries import Queries, QueryLists
from plackett.rankers.base import Prepared, TrainingSet
from plackett.rankers.boosting.base import Boosted
from plackett.rankers.boosting.discovery import CENTRES, DISCOVERIES, count_label_pairs, find_centres, find_signs
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.models import Steps
from plackett.scorers.ranks import DOCS_PER_BLOCK, Discovery, LevelBounds, Replay, Step
from plackett.validation import check_choice, check_positive_int

LEAST = 1e-12  # lower bound of the two sums whose ratio gives a weight, which keeps it finite
NO_PAIRS = "no query has documents with different labels"


class TrainingLists:
    """Training lists in order of descending labels, and sums over them."""

    def __init__(self, queries: Queries, weights: np.ndarray | None, top: int | None = None):
        lists = queries.lists
        self.indptr, self.levels = lists.indptr, LevelBounds.of(lists)
        self.n_docs, self.n_queries = lists.n_docs, lists.n_queries
        self.pairs = count_label_pairs(lists, top)
        self.weights = np.where(self.pairs > 0, 1.0 if weights is None else weights, 0.0)
        self.blocks = query_blocks(self.indptr, DOCS_PER_BLOCK)
        self.total_pairs = self.total(self.pairs)

    def total(self, values: np.ndarray) -> float:
        """Return the weighted sum over the queries, rounded once, so it does not depend on their order."""
        return math.fsum(self.weights * values)

    def mean(self, values: np.ndarray) -> float:
        return self.total(values) / max(math.fsum(self.weights), 1e-300)

    def error(self, wrong: np.ndarray) -> float:
        return self.total(wrong) / self.total_pairs if self.total_pairs > 0 else 0.0


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureSteps(Boosted, Prepared):
    """A ranker that passes over the features and takes one step for each, with ranks within the list."""

    n_intervals: int = param(8, check_positive_int)
    discovery: str = param("quasi-knn", check_choice, choices=DISCOVERIES)
    centre: str = param("mean", check_choice, choices=CENTRES)
    cycles: int = param(1, check_positive_int)
    patience: int | None = 50
    verbose: bool = False

    is_sum: ClassVar[bool] = False  # whether scores are sums of ranks, or the list is ranked again after each step
    model_of: ClassVar[Any] = Steps.of

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        queries, weights = training.queries, training.weights
        self._discover(queries.X, queries.lists, weights)
        state = self._training(queries, weights)
        replay: Any = None if monitor.validation is None else self._replay(monitor.validation.queries)
        steps: list[Step] = []
        n_steps = self.cycles * queries.n_features
        with monitor.run("cycles", n_steps, state.names):
            if state.lists.total_pairs <= 0:
                monitor.stop(NO_PAIRS)
            for place in range(n_steps):
                steps.append(state.step(place % queries.n_features))
                if replay is not None:
                    replay.apply(steps[-1])
                measures = dict(zip(state.names, state.measures(), strict=True))
                if monitor.record(lambda: replay.scores, None, True, **measures):
                    break
        self._keep_steps(steps[: monitor.n_kept])

    def _discover(self, X: Any, lists: QueryLists, weights: np.ndarray | None) -> None:
        self.centres_: Any = None
        self.signs_: Any = None
        if self.discovery == "linear":
            self.signs_ = find_signs(X, lists, weights)
        else:
            self.centres_ = find_centres(
                X, lists, self.n_intervals, centre=self.centre, weights=weights, names=self.feature_labels
            )

    def _discovery(self) -> Discovery:
        return Discovery(self.centres_) if self.signs_ is None else Discovery.linear(self.signs_)

    @abstractmethod
    def _training(self, queries: Queries, weights: np.ndarray | None) -> Any:
        """Return the state of a fit on ``lists`` before its first step.

        ``step(feature)`` finds the weight of a feature, updates the state and returns the ``Step``; ``measures()``
        returns one number for each of ``names``.
        """

    def _replay(self, queries: Queries) -> Replay:
        """Return an object that applies steps to new lists."""
        return Steps(self._discovery(), (), self.is_sum).replay(queries.X, queries.indptr)

    @property
    def depends_on_list(self) -> bool:
        """Always True: scores depend on the ranks within the list."""
        return True

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        return self.model_of(self, queries.n_features)(queries.X, queries.indptr)

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        about = {"scores": self._predict_grouped(queries), "feature_names": self.feature_labels}
        return self._contributions(queries), queries.X, about

    @abstractmethod
    def _contributions(self, queries: Queries) -> np.ndarray:
        """Return what the steps of each feature add to the score of each document, up to a constant of the list."""
