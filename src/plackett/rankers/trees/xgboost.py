"""XGBoost's boosted trees by its own ranking objective."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from plackett.distributed.growth import plain_rows
from plackett.formats.xgboost import read_trees
from plackett.rankers.base import TrainingSet
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import with_package_params
from plackett.rankers.trees.base import BoostedTrees, names_in, whole_labels
from plackett.scorers.models import Trees
from plackett.scorers.trees import FlatTrees
from plackett.validation import is_sparse, plain

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by XGBoost, and a gain of label taken instead
GROWTH = names_in(
    """
    gamma min_split_loss max_delta_step subsample sampling_method colsample_bytree colsample_bylevel colsample_bynode
    reg_alpha tree_method grow_policy max_leaves max_bin monotone_constraints interaction_constraints
    max_cat_to_onehot max_cat_threshold
    num_parallel_tree device ndcg_exp_gain lambdarank_pair_method lambdarank_num_pair_per_sample
    lambdarank_normalization lambdarank_score_normalization lambdarank_unbiased lambdarank_bias_norm
    """
)
ALIASES = {
    "n_estimators": "n_rounds",
    "num_boost_round": "n_rounds",
    "early_stopping_rounds": "patience",
    "eta": "learning_rate",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "seed": "random_state",
    "nthread": "n_jobs",
}


@with_package_params
class XGBoostRanker(BoostedTrees):
    """Ranks by boosted trees that XGBoost grows with its own objective ``rank:ndcg``.

    The trees are kept as arrays: loading and predicting need no XGBoost, and scores are bit-identical to those of its
    ``Booster``, which are sums in single precision. XGBoost treats numbers that a sparse X does not store as missing,
    not as 0: for a ranker fitted on sparse rows, every 0 is missing.

    Parameters
    ----------
    n_rounds, learning_rate, patience, random_state, n_jobs, verbose : as in :class:`plackett.TreeRanker`
    max_depth : int, default=3
        Small trees, as for :class:`plackett.TreeRanker`.
    min_child_weight : float, default=1.0
    reg_lambda : float, default=1.0
    **others
        Other parameters of XGBoost, by its own names.

    Attributes
    ----------
    trees_ : FlatTrees
        Trees that are used.
    intercept_ : float
        Added to the sum of the trees.
    has_missing_ : bool
        Whether values were missing in the rows of ``fit``.
    zero_is_missing_ : bool
        Whether the rows of ``fit`` were sparse.
    n_rounds_, n_iter_, stop_reason_, best_iteration_, best_score_ : as in ``TreeRanker``
    history_ : dict of lists
        The validation measure after every tree; empty without a validation set.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import XGBoostRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(20, 10, 4, random_state=0)
    >>> ranker = XGBoostRanker(n_rounds=5, max_depth=2).fit(data)
    >>> ranker.n_rounds_, ranker.predict(data).shape
    (5, (200,))
    """

    max_depth: int = 3
    min_child_weight: float = 1.0
    reg_lambda: float = 1.0

    package: ClassVar = "xgboost"
    model_of = Trees.of_xgboost
    known_params: ClassVar = GROWTH
    aliases: ClassVar = ALIASES
    rejected_params: ClassVar = {
        "booster": "trees must not change after they are grown, or the best number of them could not be chosen",
        "enable_categorical": "columns of text and categories are found in data frames and in Queries.categories",
    }

    @classmethod
    def _package_error(cls) -> type[Exception]:
        return cls.import_package().core.XGBoostError

    def _grow(self, training: TrainingSet, monitor: FitMonitor, validation_start: np.ndarray | None) -> None:
        self.zero_is_missing_ = is_sparse(training.queries.X) and not training.queries.categories  # 0 is a category
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
        rows, sizes = self._as_fitted(queries.X), np.diff(queries.indptr)
        data = self._matrix(rows, label=labels, group=sizes, weight=training.weights)
        held = None
        if monitor.validation is not None:
            held = self._matrix(self._as_fitted(monitor.validation.queries.X))
        self._booster = xgboost.Booster(params, [data] if held is None else [data, held])

        def grow_one() -> bool:
            self._booster.update(data, monitor.n_iter)
            return True

        self._grow_rounds(monitor, grow_one, lambda: self._booster.predict(held, output_margin=True))

    def _passed_on(self) -> dict[str, Any]:
        """Return the other parameters, with constraints by column numbers: XGBoost gets no names and takes no lists."""
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
        """Return the number of a column given by name or number."""
        names, numbers = self.feature_names_ or [], range(self.n_features_in_)
        if column not in names and column not in numbers:
            raise ValueError(f"{where} names {plain(column)!r}, which is not a column of X (numbered from 0).")
        return names.index(column) if column in names else int(column)

    def _keep(self, training: TrainingSet, monitor: FitMonitor) -> None:
        booster, n_features = self.__dict__.pop("_booster", None), training.queries.n_features
        if booster is None or not self.n_rounds_:
            self.trees_, self.intercept_ = FlatTrees.of([], n_features), 0.0
            return
        self.trees_, self.intercept_ = read_trees(
            booster.save_raw("json"), self.n_rounds_, n_features, zero_is_missing=self.zero_is_missing_
        )

    def _matrix(self, X: Any, **given: Any) -> Any:
        missing = 0.0 if self.zero_is_missing_ else np.nan
        if self.categories_:
            kinds = ["c" if column in self.categories_ else "q" for column in range(X.shape[1])]
            given |= {"feature_types": kinds, "enable_categorical": True}
        return self.import_package().DMatrix(plain_rows(X), missing=missing, nthread=self._n_threads, **given)

    def _as_fitted(self, X: Any) -> Any:
        """Return rows in which a 0 means the same as in ``fit``."""
        return X.toarray() if is_sparse(X) and not self.zero_is_missing_ else X
