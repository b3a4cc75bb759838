"""Rankers by LightGBM's trees: base scores and growing, and LightGBM's own ranking objective."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import TrainingSet
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.refinement.base_score import (
    as_base_score,
    column_number,
    column_values,
    grouped_base_score,
    is_column,
    scores_any_rows,
)
from plackett.rankers.trees.base import NO_SPLIT, FlatBoostedTrees, Lists, names_in, plain_rows, whole_labels
from plackett.rankers.trees.lightgbm_text import read_trees
from plackett.scorers.trees import FlatTrees
from plackett.validation import check_number, check_positive_int, is_sparse

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by LightGBM, and a gain of label taken instead
MOST_GAINS = 10_000  # in the table of gains, one for every label from 0 on, which LightGBM reads as text
# parameters that say how trees grow; the others are parameters of the ranker (rounds, threads, seeds, objective), or
# name files and machines, which a model file must not be able to do
GROWTH = names_in(
    """
    max_depth min_sum_hessian_in_leaf min_gain_to_split max_delta_step lambda_l1 path_smooth extra_trees extra_seed
    data_sample_strategy top_rate other_rate bagging_fraction bagging_freq bagging_seed bagging_by_query
    feature_fraction feature_fraction_bynode feature_fraction_seed feature_contri feature_pre_filter
    monotone_constraints monotone_constraints_method monotone_penalty interaction_constraints
    max_bin max_bin_by_feature min_data_in_bin bin_construct_sample_cnt data_random_seed is_enable_sparse enable_bundle
    cegb_tradeoff cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled
    use_quantized_grad num_grad_quant_bins quant_train_renew_leaf stochastic_rounding
    cat_l2 cat_smooth max_cat_threshold max_cat_to_onehot min_data_per_group
    histogram_pool_size force_col_wise force_row_wise device_type gpu_platform_id gpu_device_id gpu_use_dp
    """
)
SAMPLING = names_in(  # by which each round sees other rows, columns or thresholds
    """
    bagging_freq data_sample_strategy feature_fraction feature_fraction_bynode extra_trees use_quantized_grad
    """
)
OF_LAMBDARANK = names_in(
    "lambdarank_truncation_level lambdarank_norm lambdarank_position_bias_regularization sigmoid label_gain"
)
ALIASES = {
    "n_estimators": "n_rounds",
    "num_iterations": "n_rounds",
    "num_boost_round": "n_rounds",
    "early_stopping_round": "patience",
    "early_stopping_rounds": "patience",
    "eta": "learning_rate",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_split_gain": "min_gain_to_split",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "seed": "random_state",
    "num_threads": "n_jobs",
    "objective": "loss",
}
_TREES_STAY = "trees must not change after they are grown, or the best number of them could not be chosen"
_FROM_QUERIES = "columns of text and categories are found in data frames and in Queries.categories"
REJECTED = {
    "boosting": _TREES_STAY,
    "boosting_type": _TREES_STAY,
    "categorical_feature": _FROM_QUERIES,
    "categorical_features": _FROM_QUERIES,
    "linear_tree": "leaves are constants",
    "zero_as_missing": "zero is a value",
}


class BaseScores(NamedTuple):
    """Base scores as ``fit`` was given them, and the rows that they belong to."""

    base_score: Any
    X: Any
    qid: Any
    eval_set: Any


class LightGBMTrees(FlatBoostedTrees):
    """A ranker by LightGBM's trees.

    Attributes
    ----------
    has_base_, base_column_ : bool, and int or None
        Whether the trees add to base scores, and the column of X that these were, if they were one.
    """

    package = "lightgbm"
    extra = "trees"
    known_params: ClassVar = GROWTH
    aliases: ClassVar = ALIASES
    rejected_params: ClassVar = REJECTED

    __metadata_request__fit: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__predict: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__score: ClassVar = {"qid": True, "base_score": True}

    has_base_: bool
    base_column_: int | None

    def __init__(
        self,
        n_rounds: int | None = None,
        learning_rate: float = 0.1,
        num_leaves: int = 7,
        min_data_in_leaf: int = 20,
        lambda_l2: float = 0.0,
        patience: int | None = 50,
        random_state: int = 0,
        n_jobs: int | None = 1,
        verbose: bool = False,
        **others: Any,
    ):
        super().__init__(n_rounds, learning_rate, patience, random_state, n_jobs, verbose, **others)
        self.num_leaves = num_leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.lambda_l2 = lambda_l2

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
        base_score: Any = None,
    ) -> Any:
        """Grow the trees; with validation queries, keep those up to the best one.

        Parameters
        ----------
        X, y, qid, sample_weight, eval_metric : as in ``LinearRanker.fit``
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every tree; the trees up to the best one are kept.
        base_score : int, str, array-like, ranker, model, Run or dict, default=None
            Scores of the current ranking, as for refiners; the trees learn what to add to them. With an ``eval_set``
            they must be known there too: a column, a ranker, a model or a run.

        Returns
        -------
        self
        """
        if eval_set is not None and base_score is not None and not scores_any_rows(base_score):
            raise ValueError(
                "base_score is one score per row of X, so the rows of eval_set have none. Pass a column, a ranker, a "
                "model or a run, which score them too."
            )
        return self._fit(
            X, y, qid=qid, sample_weight=sample_weight, eval_set=eval_set, eval_metric=eval_metric,
            base=BaseScores(base_score, X, qid, eval_set),
        )  # fmt: skip

    def _learn(self, training: TrainingSet, monitor: FitMonitor, base: BaseScores) -> None:  # type: ignore[override]
        score, queries, validation_start = base.base_score, training.queries, None
        self.has_base_ = score is not None
        self.base_column_ = column_number(score, queries) if is_column(score) else None
        start = self._start_of(base.X, base.qid, queries, score)
        if monitor.validation is not None:
            held = base.eval_set
            rows, ids = (held, None) if isinstance(held, Queries) else (held[0], held[2])
            validation_start = self._start_of(rows, ids, monitor.validation.queries, score)
        super()._learn(training, monitor, start, validation_start)

    def predict(self, X: Any, *, qid: Any = None, base_score: Any = None) -> np.ndarray:
        """Return one score per row, higher is better, in the order of the rows given.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, default=None
            Ignored by the trees; a base ranker may need it.
        base_score : as in ``fit``, default=None
            Needed where ``fit`` had one, unless that was a column.

        Returns
        -------
        ndarray of shape (n_docs,)
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        return queries.in_row_order(self._scores(queries, self._start_of(X, qid, queries, base_score)))

    def score(  # type: ignore[override]  # base_score is all that predict may need
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        metric: str | Measure = "ndcg@10",
        base_score: Any = None,
    ) -> float:
        """Return the mean of a measure over the queries, as for all rankers; ``base_score`` as in ``predict``."""
        if base_score is None:
            return super().score(X, y, qid=qid, sample_weight=sample_weight, metric=metric)
        if isinstance(X, Queries):  # whose documents have names
            base_score = as_base_score(base_score, X)
        return super().score(X, y, qid=qid, sample_weight=sample_weight, metric=metric, base_score=base_score)

    def _predict_grouped(self, queries: Queries, *, base_score: Any = None) -> np.ndarray:
        return self._scores(queries, self._start_of(queries, None, queries, base_score))

    # --- Base scores --------------------------------------------------------------------------------------------------

    def _start_of(self, X: Any, qid: Any, queries: Queries, base_score: Any) -> np.ndarray | None:
        if self.base_column_ is not None and base_score is None:
            return column_values(queries, self.base_column_)
        if base_score is not None and not self.has_base_:
            raise ValueError("fit had no base_score, so the trees do not add to one; leave it out here too.")
        if base_score is None:
            if self.has_base_:
                raise ValueError(
                    "fit had a base_score, to which the trees only add; pass the base_score of these rows."
                )
            return None
        return grouped_base_score(base_score, X, queries, has_ids=qid is not None or isinstance(X, Queries))

    # --- Growth -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _objective(self, training: Lists, monitor: FitMonitor) -> tuple[dict[str, Any], Callable | None]:
        """Return parameters for LightGBM, and a function of slope and curvature unless the objective is its own."""

    def _intercept(self, training: Lists) -> float:
        """Return the score that the trees add to if there are no base scores."""
        return 0.0

    @classmethod
    def _package_error(cls) -> type[Exception]:
        return cls.import_package().basic.LightGBMError

    def _grow(self, training: Lists, monitor: FitMonitor, validation_start: np.ndarray | None) -> None:
        lightgbm = self.import_package()
        own, objective = self._objective(training, monitor)
        self.intercept_ = self._intercept(training) if training.start is None else 0.0
        params = self._lightgbm_params() | own
        queries = training.queries
        data = lightgbm.Dataset(
            plain_rows(queries.X), queries.labels if objective is None else None, group=np.diff(queries.indptr),
            weight=training.row_weights(), init_score=self._first_scores(queries, training.start), params=params,
            categorical_feature=list(queries.categories or ()),
        )  # fmt: skip
        data.construct()
        if not any(data.feature_num_bin(column) for column in range(queries.n_features)):
            monitor.stop(NO_SPLIT)  # all columns are constant, or nearly; LightGBM would fail
            return
        self._booster = lightgbm.Booster(params, data)
        if monitor.validation is not None:
            validation = monitor.validation.queries
            start = self._first_scores(validation, validation_start)
            self._booster.add_valid(
                lightgbm.Dataset(plain_rows(validation.X), reference=data, init_score=start, params=params),
                "validation",
            )

        def grow_one() -> bool:
            return not (self._booster.update() if objective is None else self._booster.update(fobj=objective))

        self._grow_rounds(monitor, grow_one, lambda: current_scores(self._booster.eval_valid))

    @property
    def _is_sampled(self) -> bool:
        return not SAMPLING.isdisjoint(self._other_params())

    def _lightgbm_params(self) -> dict[str, Any]:
        others = self._other_params()
        wise = {} if others.get("force_col_wise") else {"force_row_wise": True}  # "deterministic" needs one of them
        return {
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_data_in_leaf,
            "lambda_l2": self.lambda_l2,
            "num_threads": self._n_threads,
            "seed": self._seed % 2**31,
            "deterministic": True,
            **wise,
            "verbosity": -1,
            "metric": "none",
            **others,
        }

    def _first_scores(self, queries: Queries, base: np.ndarray | None) -> np.ndarray | None:
        if base is not None:
            return base
        return np.full(queries.n_docs, self.intercept_) if self.intercept_ else None

    def _keep(self, training: Lists, monitor: FitMonitor) -> None:
        booster = self.__dict__.pop("_booster", None)
        n_features = training.queries.n_features
        if booster is None or not self.n_rounds_:
            self.trees_ = FlatTrees.of([], n_features)
            self.intercept_ = self._intercept(training) if training.start is None else 0.0
            return
        self.trees_ = read_trees(booster.model_to_string(), n_features).first(self.n_rounds_)

    def _check_parameters(self) -> None:
        check_positive_int(self.num_leaves, "num_leaves")
        if self.num_leaves < 2:
            raise ValueError("num_leaves=1; a tree needs at least 2 leaves to rank.")
        check_number(self.min_data_in_leaf, "min_data_in_leaf", least=0.0)
        check_number(self.lambda_l2, "lambda_l2", least=0.0)
        super()._check_parameters()

    # --- Explanation --------------------------------------------------------------------------------------------------

    def explain(self, X: Any, *, qid: Any = None, rows: Any = None, docid: Any = None, base_score: Any = None):
        """Return what each feature adds to each document's score, relative to the mean of its list.

        These are LightGBM's contributions (the Shapley values of its trees) minus their mean over the list, so the
        contributions of a document sum to its score minus its list's mean score. Base scores that are not a column
        of X are one more feature, ``"base score"``.

        Parameters
        ----------
        X, qid, base_score : as in ``predict``
        rows : array-like of ints, default=None
            Rows to explain; None explains all.
        docid : array-like, default=None
            Names of the documents, to show instead of row numbers.

        Returns
        -------
        Explanation
            As returned by ``LinearRanker.explain``.
        """
        return self._explained(X, qid, rows, docid, base_score)

    def _with_base(
        self, parts: np.ndarray, features: Any, names: list[str], base: np.ndarray | None, base_score: Any
    ) -> tuple[np.ndarray, Any, list[str]]:
        if base is None:
            return parts, features, names
        if self.base_column_ is not None and base_score is None:
            parts[:, self.base_column_] += base
            return parts, features, names
        return _with_column(parts, base), _with_column(features, base), [*names, "base score"]

    def check_loaded(self) -> None:
        """Reject attributes of a file that no fit produces."""
        super().check_loaded()
        column = self.base_column_
        if type(self.has_base_) is not bool or (column is not None and not self.has_base_):
            raise ValueError("has_base_ must say whether there were base scores.")
        if column is not None and (type(column) is not int or not 0 <= column < self.n_features_in_):
            raise ValueError("base_column_ must be the number of a column or None.")


class LightGBMRanker(LightGBMTrees):
    """Ranks by boosted trees that LightGBM grows with its own objective ``lambdarank``.

    Parameters
    ----------
    n_rounds : int or None, default=None
        Maximum number of trees. None: 300 with an ``eval_set``, which ends the fit earlier, and 100 without one.
    learning_rate : float, default=0.1
    num_leaves : int, default=7
        Small trees overfit least on sets of a few hundred queries; for thousands try 31 and more.
    min_data_in_leaf : int, default=20
    lambda_l2 : float, default=0.0
    patience : int or None, default=50
        With an ``eval_set``, the fit ends after this many trees without a better value of its measure; None never ends
        it early. The trees up to the best one are kept either way.
    random_state : int, default=0
    n_jobs : int or None, default=1
        Threads of LightGBM; None takes as many as this library does. The trees are the same for any number.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    **others
        LightGBM's parameters of tree growth, by its own names, such as ``bagging_fraction`` or
        ``lambdarank_truncation_level``.

    Attributes
    ----------
    trees_, intercept_, has_missing_, has_base_, base_column_ : as in ``TreeRanker``
    n_rounds_, n_iter_, stop_reason_, best_iteration_, best_score_ : as in ``TreeRanker``
    history_ : dict of lists
        The validation measure after every tree; empty without a validation set.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import LightGBMRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(20, 10, 4, random_state=0)
    >>> ranker = LightGBMRanker(n_rounds=5, num_leaves=4).fit(data)
    >>> ranker.n_rounds_, ranker.predict(data).shape
    (5, (200,))
    """

    known_params: ClassVar = GROWTH | OF_LAMBDARANK

    def _objective(self, training: Lists, monitor: FitMonitor) -> tuple[dict[str, Any], Callable | None]:
        largest = whole_labels(training.queries.labels, "LightGBM's lambdarank").max()
        if largest >= MOST_GAINS:
            raise ValueError(
                f"LightGBM's lambdarank has a table of gains with at most {MOST_GAINS:,} labels; found the label "
                f"{largest:g}. Number the labels from 0, or use a TreeRanker, whose losses accept any labels."
            )
        labels = range(int(largest) + 1)
        gains = [2.0**label - 1.0 if largest <= LARGEST_LABEL else float(label) for label in labels]
        given = getattr(self, "label_gain", None)
        return {"objective": "lambdarank", "label_gain": gains if given is None else given}, None


def current_scores(evaluate: Callable) -> np.ndarray:
    """Return the scores that a Booster's ``eval_train`` or ``eval_valid`` passes to a measure."""
    found: list[np.ndarray] = []

    def measure(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
        found.append(scores)
        return "nothing", 0.0, True

    evaluate(measure)
    return found[0]


def _with_column(X: Any, column: np.ndarray) -> Any:
    if not is_sparse(X):
        return np.column_stack([X, column])
    with importing:
        from scipy import sparse

    return sparse.hstack([X, column[:, None]], format="csr")
