"""CatBoost's boosted trees by its own ranking objective."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.monitor import NO_IMPROVEMENT, FitMonitor
from plackett.rankers.trees.base import BoostedTrees, Lists, plain_rows
from plackett.validation import is_sparse


class CatBoostRanker(BoostedTrees):
    """Ranks by boosted trees that CatBoost grows with its own objective ``YetiRank``.

    Parameters
    ----------
    n_rounds : int or None, default=300
    learning_rate, random_state, n_jobs, verbose : as in :class:`plackett.LightGBMRanker`
    depth : int, default=6
    l2_leaf_reg : float, default=3.0
    patience : int or None, default=50
        With an ``eval_set``, the fit ends after this many trees without a better NDCG@10 by CatBoost's own rules, as it
        takes no other measure during a fit. Of these trees, those up to the best by ``eval_metric`` are kept.
    **others
        Other parameters of CatBoost, by its own names.

    Attributes
    ----------
    model_ : catboost.CatBoost
        All rounds.
    n_rounds_, n_iter_, stop_reason_, best_iteration_, best_score_ : as in ``TreeRanker``
    history_ : dict of lists
        The validation measure after every tree; empty without a validation set.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import CatBoostRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(20, 10, 4, random_state=0)
    >>> ranker = CatBoostRanker(n_rounds=5, depth=3).fit(data)  # doctest: +SKIP
    >>> ranker.predict(data).shape  # doctest: +SKIP
    (200,)
    """

    package = "catboost"
    can_be_saved = False
    model_: Any

    def __init__(
        self,
        n_rounds: int | None = 300,
        learning_rate: float = 0.1,
        depth: int = 6,
        l2_leaf_reg: float = 3.0,
        patience: int | None = 50,
        random_state: int = 0,
        n_jobs: int | None = 1,
        verbose: bool = False,
        **others: Any,
    ):
        super().__init__(n_rounds, learning_rate, patience, random_state, n_jobs, verbose, **others)
        self.depth = depth
        self.l2_leaf_reg = l2_leaf_reg

    @classmethod
    def _package_error(cls) -> type[Exception]:
        return cls.import_package().CatBoostError

    def _grow(self, training: Lists, monitor: FitMonitor, validation_start: np.ndarray | None) -> None:
        catboost, n_rounds = self.import_package(), self._max_rounds(monitor.validation)
        params = {
            "loss_function": "YetiRank",
            "iterations": n_rounds,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "l2_leaf_reg": self.l2_leaf_reg,
            "thread_count": self._n_threads,
            "random_seed": self._seed,
            "logging_level": "Silent",
            "allow_writing_files": False,
            **self._other_params(),
        }

        def pool(lists: Lists) -> Any:
            queries = lists.queries
            group = np.repeat(np.arange(queries.n_queries), np.diff(queries.indptr))
            return catboost.Pool(
                self._rows(queries.X), queries.labels, group_id=group, group_weight=lists.row_weights(),
                cat_features=list(self.categories_ or ()),
            )  # fmt: skip

        if monitor.validation is None:
            self.model_ = catboost.CatBoost(params).fit(pool(training))
            for _ in range(self.model_.tree_count_):
                monitor.record()
            return
        if self.patience is not None:
            params = {"eval_metric": "NDCG:top=10", "od_type": "Iter", "od_wait": self.patience, **params}
        queries = monitor.validation.queries
        self.model_ = catboost.CatBoost({"use_best_model": False, **params})
        self.model_.fit(pool(training), eval_set=pool(Lists(queries)))
        monitor.patience = None  # CatBoost has stopped already
        for scores in self.model_.staged_predict(self._rows(queries.X), thread_count=self._n_threads):
            found = np.asarray(scores, dtype=np.float64)
            monitor.record(lambda: found)  # noqa: B023  called at once
        if monitor.n_iter < n_rounds:
            monitor.stop(NO_IMPROVEMENT)

    def _keep(self, training: Lists, monitor: FitMonitor) -> None:
        """``model_`` holds all rounds."""

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        if not self.n_rounds_:
            return np.zeros(queries.n_docs)
        return self.model_.predict(self._rows(queries.X), ntree_end=self.n_rounds_, thread_count=self._n_threads)

    def _rows(self, X: Any) -> Any:
        """Return rows for CatBoost, with the names of categories; a missing category is the text ``nan``."""
        if not self.categories_:
            return plain_rows(X)
        rows = np.array(X.toarray() if is_sparse(X) else X, dtype=object)
        for column, names in self.categories_.items():
            codes = rows[:, column].astype(np.float64)
            known = np.append(names.astype(object), "nan")
            rows[:, column] = known[np.where(np.isnan(codes), names.size, codes).astype(np.int64)]
        return rows

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Raise an error: plackett cannot save the model of another package."""
        raise ValueError(
            f"{type(self).__name__} holds a model of CatBoost; save that one: ranker.model_.save_model(path)."
        )
