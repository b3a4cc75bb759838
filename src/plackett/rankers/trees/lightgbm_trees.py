"""What rankers by LightGBM's trees share: base scores, and growing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.boosting.boosting import Rounds
from plackett.rankers.refinement.base_score import (
    as_base_score,
    column_number,
    column_values,
    grouped_base_score,
    is_column,
    is_known_elsewhere,
)
from plackett.rankers.trees.boosted_trees import NO_SPLIT, Lists, plain_rows
from plackett.rankers.trees.flat_boosted_trees import FlatBoostedTrees
from plackett.rankers.trees.flat_trees import FlatTrees
from plackett.rankers.trees.lightgbm_text import read_trees
from plackett.rankers.trees.package_params import DRAWING, GROWTH, LIGHTGBM_OTHER_NAMES, LIGHTGBM_REFUSED
from plackett.validation import check_number, check_positive_int, is_sparse


class LightGBMTrees(FlatBoostedTrees):
    """A ranker by LightGBM's trees.

    Attributes
    ----------
    has_base_, base_column_ : bool, and int or None
        Whether the trees go on from base scores, and the column of X that these were, if they were one.
    """

    package = "lightgbm"
    extra = "trees"
    known_params: ClassVar = GROWTH
    other_names: ClassVar = LIGHTGBM_OTHER_NAMES
    refused_params: ClassVar = LIGHTGBM_REFUSED

    __metadata_request__fit: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__predict: ClassVar = {"qid": True, "base_score": True}
    __metadata_request__score: ClassVar = {"qid": True, "base_score": True}

    num_leaves: int
    min_data_in_leaf: int
    lambda_l2: float
    has_base_: bool
    base_column_: int | None

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
            What ranks now, as for refiners; the trees learn what to add to it. With an ``eval_set`` it must be known
            there too: a column, a ranker, a model or a run.

        Returns
        -------
        self
        """
        if eval_set is not None and base_score is not None and not is_known_elsewhere(base_score):
            raise ValueError(
                "base_score is one score per row of X, so that the rows of eval_set have none. Give a column, a "
                "ranker, a model or a run, which know them too."
            )
        return self._fit(X, y, qid, sample_weight, eval_set, eval_metric, base_score)

    def predict(self, X: Any, *, qid: Any = None, base_score: Any = None) -> np.ndarray:
        """One score per row, higher is better, in the order of the rows given.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, default=None
            Makes no difference to the trees, but may to a base ranker.
        base_score : as in ``fit``, default=None
            Needed where ``fit`` had one, unless that was a column.
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
        """Mean of a measure over the queries, as for all rankers; ``base_score`` as in ``predict``."""
        if base_score is None:
            return super().score(X, y, qid=qid, sample_weight=sample_weight, metric=metric)
        if isinstance(X, Queries):  # here, where documents still have their names
            base_score = as_base_score(base_score, X)
        return super().score(X, y, qid=qid, sample_weight=sample_weight, metric=metric, base_score=base_score)

    def _predict_grouped(self, queries: Queries, *, base_score: Any = None) -> np.ndarray:
        return self._scores(queries, self._start_of(queries, None, queries, base_score))

    # --- Base scores --------------------------------------------------------------------------------------------------

    def _start_of(
        self, X: Any, qid: Any, queries: Queries, base_score: Any, *, is_new: bool = False
    ) -> np.ndarray | None:
        if is_new:
            self.has_base_ = base_score is not None
            self.base_column_ = None
            if is_column(base_score):
                self.base_column_ = column_number(base_score, queries)
        elif self.base_column_ is not None and base_score is None:
            return column_values(queries, self.base_column_)
        if base_score is not None and not self.has_base_:
            raise ValueError("fit had no base_score, so that the trees score on their own; leave it out here too.")
        if base_score is None:
            if self.has_base_:
                raise ValueError(
                    "fit had a base_score, to which the trees only add; give the base_score of these rows."
                )
            return None
        return grouped_base_score(base_score, X, queries, has_ids=qid is not None or isinstance(X, Queries))

    # --- Growing ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _objective(self, training: Lists, rounds: Rounds) -> tuple[dict[str, Any], Callable | None]:
        """Parameters for LightGBM, and what it is to ask for slope and curvature where it is not one of its own."""

    def _intercept(self, training: Lists) -> float:
        """Where the trees start from if there are no base scores."""
        return 0.0

    def _grow(self, training: Lists, held_start: np.ndarray | None, rounds: Rounds) -> str:
        lightgbm = self.import_package()
        own, objective = self._objective(training, rounds)
        self.intercept_ = self._intercept(training) if training.start is None else 0.0
        params = self._lightgbm_params() | own
        queries = training.queries
        data = lightgbm.Dataset(
            plain_rows(queries.X), queries.labels if objective is None else None, group=np.diff(queries.indptr),
            weight=training.of_rows(), init_score=self._first_scores(queries, training.start), params=params,
        )  # fmt: skip
        data.construct()
        if not any(data.feature_num_bin(column) for column in range(queries.n_features)):
            return NO_SPLIT  # all columns are constant, or nearly; LightGBM would fail
        self._booster = lightgbm.Booster(params, data)
        if rounds.validation is not None:
            held = rounds.validation.queries
            start = self._first_scores(held, held_start)
            self._booster.add_valid(
                lightgbm.Dataset(plain_rows(held.X), reference=data, init_score=start, params=params), "validation"
            )

        def grow_one() -> bool:
            return not (self._booster.update() if objective is None else self._booster.update(fobj=objective))

        return self._in_rounds(rounds, grow_one, lambda: scores_shown(self._booster.eval_valid))

    @property
    def _draws(self) -> bool:
        return not DRAWING.isdisjoint(self._other_params())

    def _lightgbm_params(self) -> dict[str, Any]:
        others = self._other_params()
        wise = {} if others.get("force_col_wise") else {"force_row_wise": True}  # of which "deterministic" needs one
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

    def _keep(self, training: Lists, rounds: Rounds) -> None:
        super()._keep(training, rounds)
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
            raise ValueError("num_leaves=1; a tree with one leaf ranks nothing: at least 2 are needed.")
        check_number(self.min_data_in_leaf, "min_data_in_leaf", least=0.0)
        check_number(self.lambda_l2, "lambda_l2", least=0.0)
        super()._check_parameters()

    # --- What the trees say -------------------------------------------------------------------------------------------

    def explain(self, X: Any, *, qid: Any = None, rows: Any = None, docid: Any = None, base_score: Any = None):
        """What each feature adds to each document's score, relative to the mean of its list.

        These are LightGBM's contributions (the Shapley values of its trees) less their mean over the list, so that the
        contributions of a document sum to its score less its list's mean score. Base scores that are no column of X
        are one more feature, ``"base score"``.

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
            As that of ``LinearRanker.explain``.
        """
        return self._explained(X, qid, rows, docid, base_score)

    def _with_base(
        self, parts: np.ndarray, given: Any, names: list[str], base: np.ndarray | None, base_score: Any
    ) -> tuple[np.ndarray, Any, list[str]]:
        if base is None:
            return parts, given, names
        if self.base_column_ is not None and base_score is None:
            parts[:, self.base_column_] += base
            return parts, given, names
        return _with_column(parts, base), _with_column(given, base), [*names, "base score"]

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super().check_loaded()
        column = self.base_column_
        if type(self.has_base_) is not bool or (column is not None and not self.has_base_):
            raise ValueError("has_base_ must say whether there were base scores.")
        if column is not None and (type(column) is not int or not 0 <= column < self.n_features_in_):
            raise ValueError("base_column_ must be the number of a column or None.")


def scores_shown(evaluate: Callable) -> np.ndarray:
    """The scores that a method of a Booster shows to who measures it."""
    found: list[np.ndarray] = []

    def look(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
        found.append(scores)
        return "nothing", 0.0, True

    evaluate(look)
    return found[0]


def _with_column(X: Any, column: np.ndarray) -> Any:
    if not is_sparse(X):
        return np.column_stack([X, column])
    from scipy import sparse

    return sparse.hstack([X, column[:, None]], format="csr")
