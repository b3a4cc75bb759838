"""Rankers that were trained by another tool: they predict and are explained, exported and compared, but not fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.formats.model import ToolModel
from plackett.rankers.base import Ranker
from plackett.rankers.linear_scores import LinearScores
from plackett.rankers.trees.scores import TreeScores
from plackett.scorers.models import Trees
from plackett.scorers.trees import FlatTrees
from plackett.storage.models.array_checks import flag


class ImportedRanker(Ranker):
    """A ranker that was trained by another tool."""

    is_frozen = True

    tool_: str
    objective_: str

    def fit(self, X: Any, y: Any = None, *, qid: Any = None, **others: Any) -> Any:
        """Raise an error: the model was trained by another tool."""
        raise ValueError(
            f"this model was trained by {self.tool_} and cannot be fitted. compare uses it without fitting it; to "
            "train a model, use a ranker of this library."
        )

    def describe(self) -> dict[str, Any]:
        """Return a description of the model, as plain values.

        Returns
        -------
        dict
            ``class``, ``tool``, ``objective``, ``features`` (their number), ``feature names`` (or None), and ``trees``
            for an ``ImportedTrees``.
        """
        names = None if self.feature_names_ is None else ", ".join(self.feature_names_)
        about = {"tool": self.tool_, "objective": self.objective_, "features": self.n_features_in_}
        return {"class": type(self).__name__, **about, "feature names": names}

    def __sklearn_clone__(self) -> Any:
        return self  # there is nothing to fit again

    def _check_queries(self, X: Any, y: Any, qid: Any, **options: Any) -> Queries:
        if self.ignores_further_columns_:
            X = _first_columns(X, self.n_features_in_)
        return super()._check_queries(X, y, qid, **options)

    def check_loaded(self) -> None:
        """Reject attributes of a file that no import produces."""
        super().check_loaded()
        if not isinstance(getattr(self, "tool_", None), str) or not isinstance(getattr(self, "objective_", None), str):
            raise ValueError("tool_ and objective_ must be strings.")
        flag(self, "ignores_further_columns_", self.n_features_in_)


class ImportedTrees(ImportedRanker, TreeScores):
    r"""Trees that were grown by another tool.

    The score is ``(start + Σ_t tree_t(x)) * scale + bias``, the sum in the tool's precision: scores are
    bit-identical to its raw scores, before any transformation such as to probabilities.

    Attributes
    ----------
    trees_ : FlatTrees
        The trees, as arrays.
    start_, scale_, bias_ : float
        The constants of the score above: added to the trees, multiplied with the sum, and added to the product.
    is_single_ : bool
        Whether the tool adds up in single precision.
    has_missing_ : bool
        Whether splits have learned where missing values go.
    tool_ : str
        ``"LightGBM"``, ``"XGBoost"``, ``"CatBoost"`` or ``"RankLib"``.
    objective_ : str
        The training objective, by the tool's own name.
    ignores_further_columns_ : bool
        Whether the file does not say how many features there are, so X may have more than are used.
    n_features_in_ : int
        Number of features: of the training data if the file says it, else the largest that is used.
    feature_names_ : list of str or None
        Names of the features, if the file has them.
    first_index_ : int or None
        1 if the tool counts features from 1 (RankLib), else None.

    Examples
    --------
    >>> import io
    >>> import plackett as pk
    >>> low = b"<split pos='left'><output>-1</output></split>"
    >>> high = b"<split pos='right'><output>1</output></split>"
    >>> split = b"<split><feature>1</feature><threshold>0.5</threshold>" + low + high + b"</split>"
    >>> model = b"## LambdaMART\n<ensemble><tree weight='1'>" + split + b"</tree></ensemble>"
    >>> ranker = pk.load(io.BytesIO(model))
    >>> ranker.tool_, ranker.predict([[0.2], [0.9]])
    ('RankLib', array([-1.,  1.]))
    """

    model_of = Trees.of_import

    start_: float
    scale_: float
    bias_: float
    is_single_: bool

    @property
    def intercept_(self) -> float:  # type: ignore[override]
        """The constant that is added to the sum of the scaled trees."""
        return self.start_ * self.scale_ + self.bias_

    def _scores(self, queries: Queries, base: np.ndarray | None) -> np.ndarray:
        return self._check_scores(super()._scores(queries, base), queries)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "trees": self.trees_.n_trees}

    def scaled_trees(self) -> FlatTrees:
        return self.trees_ if self.scale_ == 1.0 else self.trees_.times(self.scale_)


class ImportedLinear(ImportedRanker, LinearScores):
    r"""A linear model of another tool.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        The constant that is added to all scores.
    tool_, objective_, ignores_further_columns_ : as in ``ImportedTrees``
    n_features_in_, feature_names_, first_index_ : as in ``ImportedTrees``

    Examples
    --------
    >>> import io
    >>> import plackett as pk
    >>> ranker = pk.load(io.BytesIO(b"## Linear Regression\n0:0.5 1:2.0 2:-1.0"))
    >>> ranker.coef_, ranker.intercept_
    (array([ 2., -1.]), 0.5)
    """


def ranker_of(model: ToolModel) -> ImportedTrees | ImportedLinear:
    """Return a checked ranker with the model that a file of another tool holds."""
    ranker: Any
    if model.trees is None:
        ranker = ImportedLinear()
        ranker.coef_, ranker.intercept_, ranker.normalizer_ = model.coef, model.start, None
        ranker.n_features_in_ = ranker.coef_.size
    else:
        ranker = ImportedTrees()
        ranker.trees_, ranker.has_missing_, ranker.is_single_ = model.trees, model.has_missing, model.is_single
        ranker.start_, ranker.scale_, ranker.bias_ = model.start, model.scale, model.bias
        ranker.n_features_in_, ranker.categories_ = model.trees.n_features_, model.categories
        model.trees.check_loaded()
    ranker.tool_, ranker.objective_ = model.tool, model.objective
    ranker.feature_names_, ranker.first_index_ = model.names, model.first_index
    ranker.ignores_further_columns_ = model.ignores_further_columns
    ranker.check_loaded()
    return ranker


def _first_columns(X: Any, n_features: int) -> Any:
    """Return rows with the first ``n_features`` columns only."""
    if isinstance(X, Queries):
        if X.n_features <= n_features:
            return X
        names = None if X.feature_names is None else X.feature_names[:n_features]
        kept = {column: known for column, known in (X.categories or {}).items() if column < n_features}
        return X.replace(X=X.X[:, :n_features], feature_names=names, categories=kept or None)
    if hasattr(X, "iloc"):
        return X.iloc[:, :n_features]
    rows = X if hasattr(X, "shape") else np.asarray(X)
    return rows[:, :n_features] if len(rows.shape) == 2 and rows.shape[1] > n_features else X
