"""Boosted trees that LightGBM grows with any loss of this library, or with its own ranking objective."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._arrays import column_of
from plackett.data.queries import Queries
from plackett.distributed.cluster import ClusterPartitions
from plackett.distributed.growth import Growth, Rows
from plackett.distributed.inputs import PartitionedInput, is_in_parts, parts_of
from plackett.formats.lightgbm import read_trees
from plackett.losses import get_loss
from plackett.losses.backends.trees import TreeObjective
from plackett.metrics.measure import Measure
from plackett.rankers.base import NO_LABELS, TrainingSet
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param, with_package_params
from plackett.rankers.partitioned import CheckedParts, checked_parts
from plackett.rankers.refinement.base_score import (
    as_base_score,
    column_number,
    grouped_base_score,
    is_column,
    scores_any_rows,
)
from plackett.rankers.trees.base import NO_SPLIT, BoostedTrees, names_in, whole_labels
from plackett.rankers.trees.partitioned import HeldParts, learn_from_parts, load_held, whole
from plackett.scorers.models import Trees
from plackett.scorers.trees import FlatTrees
from plackett.validation import check_number, check_positive_int

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by LightGBM, and a gain of label taken instead
OWN_OBJECTIVE = "lightgbm"  # in place of a loss
FARTHEST = 2.0  # max_delta_step on top of base scores; ordinary leaves stay below
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


@with_package_params
class TreeRanker(BoostedTrees):
    """Ranks by a sum of trees, which LightGBM grows to minimise a loss over judged lists.

    A tree is grown for the slope and the curvature of ``Σ_q s_q loss_q`` at the scores so far, with s_q the weight of a
    query (1 on average): a leaf moves its documents by ``-learning_rate * Σ slope / (Σ curvature + lambda_l2)``. The
    curvature is the exact diagonal of the second derivative, or a constant for losses without one
    (:mod:`plackett.losses.backends.trees`). Trees start at 0, or at the mean label for losses that depend on a constant
    added to all scores; so ``loss="squared"`` is LightGBM's own regression, tree by tree.

    On top of base scores a leaf moves its documents by at most ``2 * learning_rate`` (``max_delta_step=2`` unless
    another is given), except for losses that depend on such a constant. Scores that are far apart have almost no
    curvature, and leaves would otherwise be too large.

    ``fit`` also takes X, and an ``eval_set``, in parts, as ``LinearRanker`` does. With an active Dask client the
    workers of its cluster grow the trees together: LightGBM's network adds up their histograms. All bins are found from
    the same rows, at most ``bin_construct_sample_cnt`` or 256 MB drawn from all parts, so trees do not depend on where
    rows are, up to rounding; where each round samples rows or columns, only their quality does not. Every worker takes
    its own number of threads. Without a client, paths are read into this process.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        A name of :func:`plackett.losses.loss_names`, such as ``"listmle"``, ``"softmax"`` or ``"lambdarank"``, or an
        object of :mod:`plackett.losses` with its own parameters; not a random loss. ``"lightgbm"`` is LightGBM's own
        objective ``lambdarank``.
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
        For random samples in LightGBM, such as the rows of ``bagging_fraction``.
    n_jobs : int or None, default=1
        Threads of LightGBM; None takes as many as this library does. The trees do not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    worker_timeout : float, default=20.0
        On a Dask cluster: a worker that has not answered for this many seconds, or for ten times the slowest round so
        far if that is longer, is restarted. The fit then continues from the last finished round.
    **others
        LightGBM's other parameters of tree growth, by its own names, such as ``bagging_fraction``,
        ``feature_fraction``, ``max_depth`` or ``min_sum_hessian_in_leaf`` (which is a sum of curvatures), and those of
        its objective, such as ``lambdarank_truncation_level``.

    Attributes
    ----------
    trees_ : FlatTrees
        The trees that were kept, as arrays; predicting, saving and loading do not need LightGBM.
    intercept_ : float
        Added to the sum of the trees.
    n_rounds_ : int
        Trees that were kept: those up to the best on the validation set, or all.
    n_iter_ : int
        Trees that were grown.
    stop_reason_ : str
        Why no further tree was grown, such as ``"n_rounds reached"`` or ``"no split improves the objective"``.
    history_ : dict of lists
        After every tree ``"objective"``, the mean loss of the training queries (not for ``loss="lightgbm"``), and the
        validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The number of trees with the best value of the validation measure, and that value.
    has_missing_ : bool
        Whether values were missing in the rows of ``fit``.
    has_base_, base_column_ : bool, and int or None
        Whether there were base scores, and the column of X that they are.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import TreeRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(80, n_features=8, random_state=0)
    >>> ranker = TreeRanker(loss="listmle", n_rounds=20, num_leaves=7, bagging_fraction=0.8, bagging_freq=1)
    >>> ranker = ranker.fit(data[:60], eval_set=data[60:], eval_metric="err@10")
    >>> ranker.trees_.n_trees == ranker.best_iteration_
    True
    """

    loss: Any = field(default="listmle", kw_only=False)
    num_leaves: int = param(7, check_positive_int)
    min_data_in_leaf: float = param(20, check_number, least=0.0)
    lambda_l2: float = param(0.0, check_number, least=0.0)
    worker_timeout: float = param(20.0, check_number, above=0.0)

    package: ClassVar = "lightgbm"
    model_of = Trees.of_lightgbm
    extra: ClassVar = "trees"
    takes_parts: ClassVar[bool] = True
    known_params: ClassVar = GROWTH | OF_LAMBDARANK
    aliases: ClassVar = ALIASES
    rejected_params: ClassVar = REJECTED

    __metadata_request__fit: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__predict: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__score: ClassVar = {"qid": True, "base_score": True}

    @property
    def takes_loss_objects(self) -> bool:  # type: ignore[override]
        """Whether the loss is one of this library, not the objective of LightGBM."""
        return not (isinstance(self.loss, str) and self.loss == OWN_OBJECTIVE)

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
        eval_set : Queries, tuple (X, y, qid), or parts as for X; default=None
            Validation queries, measured after every tree; the trees up to the best one are kept.
        base_score : int, str, array-like, ranker, model, Run or dict, default=None
            Scores of the current ranking, as for refiners; the trees learn what to add to them. With an ``eval_set``
            they must be known there too: a column, a ranker, a model or a run.
        """
        if eval_set is not None and base_score is not None and not scores_any_rows(base_score):
            raise ValueError(
                "base_score is one score per row of X, so the rows of eval_set have none. Pass a column, a ranker, a "
                "model or a run, which score them too."
            )
        if base_score is not None and is_in_parts(X):
            raise ValueError("base_score needs all rows in one place, but X is in parts. Read them into one Queries.")
        return self._fit(
            X, y, qid=qid, sample_weight=sample_weight, eval_set=eval_set, eval_metric=eval_metric,
            base=BaseScores(base_score, X, qid, eval_set),
        )  # fmt: skip

    def _training_set(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> TrainingSet | CheckedParts:
        if is_in_parts(X):
            given = parts_of(X, y, qid, sample_weight, takes_categories=True)
            if given.client is not None:
                return checked_parts(self, given, get_loss(self.loss) if self.takes_loss_objects else None)
            X, y, qid = whole(given), None, None
        return super()._training_set(X, y, qid, sample_weight)

    def _check_eval_set(self, eval_set: Any) -> Any:
        X, y, qid = eval_set if isinstance(eval_set, tuple) and len(eval_set) == 3 else (eval_set, None, None)
        if eval_set is None or not is_in_parts(X):
            return super()._check_eval_set(eval_set)
        given = parts_of(X, y, qid, takes_categories=True)
        return super()._check_eval_set(whole(given)) if given.client is None else given

    def _scale(self, training: Any, validation: Any, **details: Any) -> tuple[Any, Any]:
        if isinstance(training, CheckedParts):
            return training, None if validation is None else load_held(training, validation)
        if isinstance(validation, PartitionedInput):
            validation = self._check_queries(whole(validation), None, None)
        return super()._scale(training, validation, **details)

    def _watched(self, validation: Any, measure: Measure) -> Any:
        on_cluster = isinstance(validation, ClusterPartitions)
        return HeldParts(validation, measure) if on_cluster else super()._watched(validation, measure)

    def _learn(  # type: ignore[override]
        self, training: TrainingSet | CheckedParts, monitor: FitMonitor, base: BaseScores
    ) -> None:
        if isinstance(training, CheckedParts):
            self.has_base_, self.base_column_ = False, None
            learn_from_parts(self, training, monitor)
            return
        score, queries, validation_start = base.base_score, training.queries, None
        self.has_base_ = score is not None
        self.base_column_: int | None = column_number(score, queries) if is_column(score) else None
        start = self._base_of(base.X, base.qid, queries, score)
        if monitor.validation is not None and score is not None:
            held = base.eval_set
            rows, ids = (held, None) if isinstance(held, Queries) else (held[0], held[2])
            validation_start = self._base_of(rows, ids, monitor.validation.queries, score)
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
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        return queries.in_row_order(self._scores(queries, self._base_of(X, qid, queries, base_score)))

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
        return self._scores(queries, self._base_of(queries, None, queries, base_score))

    # --- Base scores --------------------------------------------------------------------------------------------------

    def _start_of(self, queries: Queries) -> np.ndarray | None:
        if self.has_base_ and self.base_column_ is None:
            raise ValueError("fit had a base_score, to which the trees only add; pass the base_score of these rows.")
        return None if self.base_column_ is None else column_of(queries.X, self.base_column_)

    def _given_base(self, X: Any, qid: Any, queries: Queries, base_score: Any = None) -> np.ndarray | None:
        if base_score is None:
            return None
        if not self.has_base_:
            raise ValueError("fit had no base_score, so the trees do not add to one; leave it out here too.")
        return grouped_base_score(base_score, X, queries, has_ids=qid is not None or isinstance(X, Queries))

    def _base_of(self, X: Any, qid: Any, queries: Queries, base_score: Any) -> np.ndarray | None:
        base = self._given_base(X, qid, queries, base_score)
        return self._start_of(queries) if base is None else base

    # --- Growth -------------------------------------------------------------------------------------------------------

    def _intercept(self, mean: float) -> float:
        """Return the score that the trees add to if there are no base scores, from the mean label."""
        if not self.takes_loss_objects:
            return 0.0
        loss = get_loss(self.loss)
        if loss.ignores_shifts:
            return 0.0
        return 1.0 if loss.is_flat_at_zero and mean == 0.0 else mean

    def _own_params(self, largest_label: float) -> dict[str, Any]:
        """Return parameters for LightGBM, and its objective."""
        if self.takes_loss_objects:
            return self._lightgbm_params() | {"objective": "none"}
        gains = getattr(self, "label_gain", None)
        gains = gains_to(largest_label) if gains is None else gains
        return self._lightgbm_params() | {"objective": "lambdarank", "label_gain": gains}

    @classmethod
    def _package_error(cls) -> type[Exception]:
        return cls.import_package().basic.LightGBMError

    def _grow(self, training: TrainingSet, monitor: FitMonitor, validation_start: np.ndarray | None) -> None:
        queries, loss = training.queries, get_loss(self.loss) if self.takes_loss_objects else None
        if loss is None:
            largest = whole_labels(queries.labels, "LightGBM's lambdarank").max()
        mean = float(np.average(queries.labels, weights=training.row_weights()))
        self.intercept_ = 0.0 if training.start is not None else self._intercept(mean)
        params = self._own_params(0.0 if loss is not None else largest)
        if loss is not None and training.start is not None:
            if loss.is_flat_at_zero and not training.start.any():
                raise ValueError(
                    f"base_score is 0 for every row, where {loss!r} has no slope. Leave it out, or pass 1 for every "
                    "row."
                )
            if loss.ignores_shifts and "max_delta_step" not in vars(self):
                params["max_delta_step"] = FARTHEST
        held = None
        if monitor.validation is not None:
            validation = monitor.validation.queries
            held = Rows([validation.X], validation.lists, start=self._first_scores(validation, validation_start))
        start = self._first_scores(queries, training.start)
        growth = self._growth = Growth(
            Rows([queries.X], queries.lists, training.weights, start), params, loss,
            categories=list(queries.categories or ()), held=held,
        )  # fmt: skip
        self._values: dict[int, float] = {}  # mean loss by the number of trees
        if not growth.has_splits:
            monitor.stop(NO_SPLIT)  # all columns are constant, or nearly; LightGBM would fail
            return
        growth.link()

        def grow_one() -> bool:
            has_split = growth.grow()
            self._values[monitor.n_iter] = growth.value / queries.n_queries
            return has_split

        self._grow_rounds(monitor, grow_one, growth.held_scores)

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

    def _keep(self, training: TrainingSet, monitor: FitMonitor) -> None:
        growth, values = (self.__dict__.pop(name, None) for name in ("_growth", "_values"))
        self._keep_trees(monitor, growth, values or {}, training.queries.n_queries, training.queries.n_features)

    def _keep_trees(self, monitor: FitMonitor, growth: Any, values: dict[int, float], n_queries: int, n: int) -> None:
        """Keep the best trees of n features, and the objective after every tree, from the values before the next."""
        n_trees = monitor.n_iter
        if self.takes_loss_objects:
            if n_trees and n_trees not in values:  # no tree was tried after the last
                values[n_trees] = growth.value_after(n_trees) / n_queries
            monitor.history = {"objective": [values[n] for n in range(1, n_trees + 1)], **monitor.history}
        self.trees_ = read_trees(growth.model(), n).first(self.n_rounds_) if self.n_rounds_ else FlatTrees.of([], n)

    def _check_parameters(self) -> None:
        if self.num_leaves < 2:
            raise ValueError("num_leaves=1; a tree needs at least 2 leaves to rank.")
        of_objective = OF_LAMBDARANK & set(self._other_params())
        if self.takes_loss_objects:
            TreeObjective(get_loss(self.loss), NO_LABELS)  # checks the parameters of the loss
            if of_objective:
                raise ValueError(f"{min(of_objective)} is a parameter of LightGBM's own objective, loss='lightgbm'.")
        super()._check_parameters()


def gains_to(largest: float) -> list[float]:
    """Return the gain of every label from 0 to the largest."""
    if largest >= MOST_GAINS:
        raise ValueError(
            f"LightGBM's lambdarank has a table of gains with at most {MOST_GAINS:,} labels; found the label "
            f"{largest:g}. Number the labels from 0, or choose another loss of TreeRanker, which accepts any labels."
        )
    labels = range(int(largest) + 1)
    return [2.0**label - 1.0 if largest <= LARGEST_LABEL else float(label) for label in labels]
