"""``Scorer``: the scores of a fitted ranker from a plain array, for processes that only score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.validation import check_finite, check_not_masked, count_of, is_sparse

TYPES = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True, repr=False)
class Scorer:
    """Computes the scores of a fitted ranker, without the parts that only training needs.

    It is made by ``ranker.scorer()`` or ``plackett.load_scorer(path)``. It is immutable, thread-safe and picklable, and
    needs neither scikit-learn nor scipy. Scores are those of ``ranker.predict``: bit-identical for linear models, trees
    and ranks, to about 1e-12 for thresholds (``RankBoost``), and to the precision of its weights for a net.

    Attributes
    ----------
    ranker : str
        Name of the ranker's class.
    n_features : int
        Columns of X.
    feature_names : tuple of str or None
        Their names, in order.
    depends_on_list : bool
        Whether the score of a document depends on the other documents of its list.

    Examples
    --------
    >>> import numpy as np, plackett as pk
    >>> data = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> ranker = pk.LinearRanker().fit(data)
    >>> scorer = ranker.scorer()
    >>> scorer
    Scorer(LinearRanker, 3 features)
    >>> bool((scorer.score(data.X[:5]) == ranker.predict(data.X[:5])).all())
    True
    """

    ranker: str
    n_features: int
    feature_names: tuple[str, ...] | None
    first_index: int | None
    steps: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...]
    model: Callable[[np.ndarray, Any], np.ndarray]
    depends_on_list: bool
    takes_missing: bool  # whether NaN may reach the first step
    category_columns: tuple[int, ...]  # in which NaN may always do so
    needs_check: bool  # whether a value that is not finite could give a score that is
    needs_bounds: bool
    ignores_further_columns: bool
    categories: dict[int, np.ndarray] | None = None  # names of the codes of columns

    def score(self, X: Any, indptr: Any = None) -> np.ndarray:
        """Return one score per row, higher is better.

        Parameters
        ----------
        X : array of shape (n_docs, n_features), or data frame
            Of a frame, the columns of fit are taken by name, and categories are texts.
            float32 or float64 in C order is used as it is; other arrays are converted. Missing values are NaN;
            categories are the codes of ``fit``. It may have no rows.
        indptr : array of ints, default=None
            Bounds of several lists: list ``q`` has rows ``indptr[q]`` to ``indptr[q + 1]``. None means that all rows
            are one list.

        Raises
        ------
        ValueError
            If X has the wrong columns, an infinite value, or a missing value that the ranker does not take.
        """
        rows = X = self._columns_of(X) if hasattr(X, "columns") or hasattr(X, "column_names") else X
        if type(X) is not np.ndarray or X.dtype not in TYPES or X.ndim != 2 or not X.flags.c_contiguous:
            rows = _as_rows(X)
        if rows.shape[1] != self.n_features:
            rows = self._own_columns(rows)
        if indptr is not None or self.needs_bounds:
            indptr = _bounds(indptr, rows.shape[0])
        if not rows.shape[0]:
            return np.empty(0)
        if self.needs_check and not np.isfinite(rows).all():
            self._check_missing(rows)
        prepared = rows
        with np.errstate(over="ignore", invalid="ignore"):  # scores that are not finite are reported
            for step in self.steps:
                prepared = step(prepared, indptr)
            scores = self.model(prepared, indptr)
        if not np.isfinite(scores).all():
            self._raise_not_finite(rows, scores)
        return scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ranker}, {count_of(self.n_features, 'feature')})"

    def _columns_of(self, X: Any) -> Any:
        """Return the columns of fit of a frame, by name."""
        with importing:
            from plackett.data.tables.coding import features_of
            from plackett.rankers.columns import columns_of_fit
            from plackett.rankers.preparation import align_categories

        if self.feature_names is None:
            raise ValueError(
                "X is a data frame, but the features have no names. Pass an array as ranker.predict takes it."
            )
        ranker = SimpleNamespace(feature_names_=self.feature_names, categories_=self.categories, first_index_=None)
        rows, _, found = features_of(columns_of_fit(ranker, X))
        return align_categories(ranker, rows, found, is_array=False)

    def _own_columns(self, rows: np.ndarray) -> np.ndarray:
        if self.ignores_further_columns and rows.shape[1] > self.n_features:
            return np.ascontiguousarray(rows[:, : self.n_features])
        raise ValueError(
            f"X has {count_of(rows.shape[1], 'column')}, but the ranker was fitted to {self.n_features:,}. Pass the "
            "features of fit, in their order (scorer.feature_names)."
        )

    def _check_missing(self, rows: np.ndarray) -> None:
        """Raise an error for infinite values, and for missing ones unless the model knows what to do with them."""
        about: dict[str, Any] = {"feature_names": self.feature_names, "first_index": self.first_index}
        if not check_finite(rows, **about, allow_missing=True) or self.takes_missing:
            return
        columns = list(self.category_columns)
        if columns:  # encoders define what a missing category becomes
            rows = rows.copy()
            rows[:, columns] = 0.0
        check_finite(rows, **about)

    def _raise_not_finite(self, rows: np.ndarray, scores: np.ndarray) -> None:
        if not self.takes_missing:
            self._check_missing(rows)
        raise ValueError(
            f"the score of row {int(np.argmin(np.isfinite(scores)))} overflowed: its features are too large, or far "
            "from those of fit. Clip them."
        )


def _as_rows(X: Any) -> np.ndarray:
    """Return X as the kernels take it; reject what is not an array of numbers."""
    if is_sparse(X) or hasattr(X, "columns"):
        what, remedy = ("sparse", "X.toarray()") if is_sparse(X) else ("a data frame", "X[names].to_numpy()")
        raise ValueError(f"X is {what}; a scorer takes an array: {remedy}.")
    check_not_masked(X, "X")
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X has {count_of(rows.ndim, 'dimension')}; expected one row per document: X.reshape(1, -1).")
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"X is an array of {rows.dtype}; a scorer takes numbers (categories as their codes of fit).")
    is_single = rows.dtype.kind == "f" and rows.dtype.itemsize == 4
    return np.require(rows, np.float32 if is_single else np.float64, ["C", "A"])


def _bounds(indptr: Any, n_docs: int) -> np.ndarray:
    """Return the bounds of lists, by default those of one list; reject what does not rise from 0 to ``n_docs``."""
    if indptr is None:
        return np.array([0, n_docs])
    bounds = np.asarray(indptr)
    if bounds.ndim != 1 or bounds.dtype.kind not in "iu" or bounds.size < 1:
        raise ValueError("indptr must be whole numbers: the first row of each list, then the number of rows.")
    if bounds[0] != 0 or bounds[-1] != n_docs or (np.diff(bounds.astype(np.int64)) < 0).any():
        raise ValueError(f"indptr must rise from 0 to the number of rows, {n_docs:,}.")
    return np.ascontiguousarray(bounds, dtype=np.int64)
