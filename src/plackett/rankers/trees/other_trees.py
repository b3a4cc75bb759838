"""Boosted trees of XGBoost and CatBoost by their own ranking objectives, so that they can take part in comparisons.

XGBoost's are kept as arrays, CatBoost's by their package.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, ClassVar

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.boosting.boosting import ALL_ROUNDS, Rounds
from plackett.rankers.monitor import NO_IMPROVEMENT
from plackett.rankers.trees.boosted_trees import BoostedTrees, Lists, plain_rows, whole_labels
from plackett.rankers.trees.flat_boosted_trees import FlatBoostedTrees
from plackett.rankers.trees.flat_trees import FlatTrees
from plackett.rankers.trees.package_params import OF_XGBOOST, XGBOOST_OTHER_NAMES
from plackett.rankers.trees.xgboost_json import read_trees
from plackett.validation import is_sparse, plain

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by XGBoost, and a gain of label taken instead


class XGBoostRanker(FlatBoostedTrees):
    """XGBoost's ``rank:ndcg``.

    The trees are kept as arrays: loading and predicting need no XGBoost, and scores are those of its ``Booster``, bit
    by bit, which are sums in single precision. To XGBoost a number that a sparse X does not hold is missing, and not
    0: fitted on sparse rows, every 0 is.

    Parameters
    ----------
    n_rounds, learning_rate, patience, random_state, n_jobs, verbose : as in :class:`plackett.LightGBMRanker`
    max_depth : int, default=3
        Small trees, as for :class:`plackett.LightGBMRanker`.
    min_child_weight : float, default=1.0
    reg_lambda : float, default=1.0
    **others
        Other parameters of XGBoost, by its own names.

    Attributes
    ----------
    trees_ : FlatTrees
        Those that are used; a ZeroTrees where a split sends what is missing another way than the numbers around 0.
    intercept_ : float
        Added to what the trees say.
    zero_is_missing_ : bool
        Whether ``fit`` has seen sparse rows.
    n_rounds_, n_iter_, stop_reason_, history_, best_iteration_, best_score_ : as in ``TreeRanker``
    feature_importances_ : ndarray of shape (n_features,)
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    """

    package = "xgboost"
    known_params: ClassVar = OF_XGBOOST
    other_names: ClassVar = XGBOOST_OTHER_NAMES
    refused_params: ClassVar = {
        "booster": "trees must stay as they are once they are grown, or the best number of them could not be chosen",
        "enable_categorical": "all columns are numbers here; write categories as columns of 0 and 1",
    }

    zero_is_missing_: bool

    def __init__(
        self,
        n_rounds: int | None = None,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        min_child_weight: float = 1.0,
        reg_lambda: float = 1.0,
        patience: int | None = 50,
        random_state: int = 0,
        n_jobs: int | None = 1,
        verbose: bool = False,
        **others: Any,
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._keep_params(others)

    def _grow(self, training: Lists, held_start: np.ndarray | None, rounds: Rounds) -> str:
        self.zero_is_missing_ = is_sparse(training.queries.X)
        xgboost, queries = self.import_package(), training.queries
        labels = whole_labels(queries.labels, "XGBoost's rank:ndcg")
        params = {
            "objective": "rank:ndcg",
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.reg_lambda,
            "tree_method": "hist",
            "ndcg_exp_gain": bool(labels.max() <= LARGEST_LABEL),
            "nthread": self._n_threads,
            "seed": self._seed,
            "verbosity": 0,
            "disable_default_eval_metric": True,
            **self._passed_on(),
        }
        data = self._matrix(queries.X, label=labels, group=np.diff(queries.indptr), weight=training.weights)
        held = None
        if rounds.validation is not None:
            held = self._matrix(self._as_fitted(rounds.validation.queries.X))
        self._booster = xgboost.Booster(params, [data] if held is None else [data, held])

        def grow_one() -> bool:
            self._booster.update(data, rounds.n_rounds)
            return True

        return self._in_rounds(rounds, grow_one, lambda: self._booster.predict(held, output_margin=True))

    def _passed_on(self) -> dict[str, Any]:
        """The other parameters, constraints by the numbers of columns: XGBoost is told no names, and takes no lists."""
        others = self._other_params()
        signs, groups = (others.get(f"{kind}_constraints") for kind in ("monotone", "interaction"))
        if isinstance(signs, dict):
            by_place = {self._place(column, "monotone_constraints"): sign for column, sign in signs.items()}
            signs = [by_place.get(place, 0) for place in range(self.n_features_in_)]
        if isinstance(signs, list | tuple | np.ndarray):
            others["monotone_constraints"] = tuple(plain(sign) for sign in signs)
        if isinstance(groups, list | tuple):
            others["interaction_constraints"] = str(
                [[self._place(column, "interaction_constraints") for column in group] for group in groups]
            )
        return others

    def _place(self, column: Any, where: str) -> int:
        """The number of a column by its name or number."""
        names, numbers = self.feature_names_ or [], range(self.n_features_in_)
        if column not in names and column not in numbers:
            raise ValueError(f"{where} names {plain(column)!r}, which is no column of X (they count from 0).")
        return names.index(column) if column in names else int(column)

    def _keep(self, training: Lists, rounds: Rounds) -> None:
        super()._keep(training, rounds)
        booster, n_features = self.__dict__.pop("_booster", None), training.queries.n_features
        if booster is None or not self.n_rounds_:
            self.trees_, self.intercept_ = FlatTrees.of([], n_features), 0.0
            return
        self.trees_, self.intercept_ = read_trees(
            booster.save_raw("json"), self.n_rounds_, n_features, zero_is_missing=self.zero_is_missing_
        )

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        return self._scores(queries, None)

    def _scores(self, queries: Queries, base: np.ndarray | None) -> np.ndarray:
        start = np.full(queries.n_docs, self.intercept_, dtype=np.float32)  # in which XGBoost adds up
        return self.trees_.predict(queries.X, start).astype(np.float64)

    def check_loaded(self) -> None:
        super().check_loaded()
        if type(getattr(self, "zero_is_missing_", None)) is not bool:
            raise ValueError("zero_is_missing_ must say whether the rows of fit were sparse.")
        if max(abs(self.intercept_), np.abs(self.trees_.values_).max(initial=0.0)) > np.finfo(np.float32).max:
            raise ValueError("intercept_ and the leaves must be numbers that single precision can hold.")

    def _matrix(self, X: Any, **given: Any) -> Any:
        missing = 0.0 if self.zero_is_missing_ else np.nan
        return self.import_package().DMatrix(plain_rows(X), missing=missing, nthread=self._n_threads, **given)

    def _as_fitted(self, X: Any) -> Any:
        """Rows in which a 0 says what it said in ``fit``."""
        return X.toarray() if is_sparse(X) and not self.zero_is_missing_ else X


class CatBoostRanker(BoostedTrees):
    """CatBoost's ``YetiRank``.

    Parameters
    ----------
    n_rounds : int or None, default=300
    learning_rate, random_state, n_jobs, verbose : as in :class:`plackett.LightGBMRanker`
    depth : int, default=6
    l2_leaf_reg : float, default=3.0
    patience : int or None, default=50
        With a validation set, growing ends after so many trees without a better NDCG@10 there, by CatBoost's own rules,
        as it asks no other measure on the way; of these trees, those up to the best by the measure given are kept.
    **others
        Other parameters of CatBoost, by its own names.

    Attributes
    ----------
    model_ : catboost.CatBoost
        All rounds.
    n_rounds_, n_iter_, stop_reason_, history_, best_iteration_, best_score_ : as in ``TreeRanker``
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
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
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.depth = depth
        self.l2_leaf_reg = l2_leaf_reg
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._keep_params(others)

    def _grow(self, training: Lists, held_start: np.ndarray | None, rounds: Rounds) -> str:
        catboost = self.import_package()
        params = {
            "loss_function": "YetiRank",
            "iterations": self._most(rounds.validation),
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
            return catboost.Pool(plain_rows(queries.X), queries.labels, group_id=group, group_weight=lists.of_rows())

        if rounds.validation is None:
            self.model_ = catboost.CatBoost(params).fit(pool(training))
            rounds.n_rounds = rounds.best_round = self.model_.tree_count_
            return ALL_ROUNDS
        if self.patience is not None:
            params = {"eval_metric": "NDCG:top=10", "od_type": "Iter", "od_wait": self.patience, **params}
        held = rounds.validation.queries
        self.model_ = catboost.CatBoost({"use_best_model": False, **params})
        self.model_.fit(pool(training), eval_set=pool(Lists(held)))
        for scores in self.model_.staged_predict(plain_rows(held.X), thread_count=self._n_threads):
            rounds.n_rounds += 1
            rounds.judge_validation(np.asarray(scores, dtype=np.float64))
        return ALL_ROUNDS if rounds.n_rounds == self.n_rounds else NO_IMPROVEMENT

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        if not self.n_rounds_:
            return np.zeros(queries.n_docs)
        return self.model_.predict(plain_rows(queries.X), ntree_end=self.n_rounds_, thread_count=self._n_threads)

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Refused: the model is another package's, which has its own files."""
        raise ValueError(
            f"{type(self).__name__} holds a model of another package; save that one: ranker.model_.save_model(path)."
        )
