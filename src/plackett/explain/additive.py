"""Explanations of additive scores: linear ones, and any other sum over the features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.explain.explanation import Explanation
from plackett.explain.rows import ChosenRows, choose_rows
from plackett.validation import check_finite, check_numbers, feature_labels, is_sparse


def explain_linear(
    coef: Any,
    X: Any,
    qid: Iterable[Hashable] | None = None,
    *,
    rows: Iterable[int] | None = None,
    feature_names: Sequence[str] | None = None,
    docid: Sequence[Any] | None = None,
    intercept: float = 0.0,
    numbers: np.ndarray | None = None,
) -> Explanation:
    """Return what each feature adds to the score of each document, relative to the mean of its list.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
    X : array or scipy sparse matrix of shape (n_docs, n_features)
        After normalising, as the coefficients expect it. Must contain all documents of each list, for its mean.
    qid : iterable of hashable ids, one per row, in any order, default=None
        None means that all rows are one list.
    rows : iterable of int, default=None
        The rows to explain; None explains all. Memory is used for these rows only. With a sparse X, contributions are
        sparse, but a feature of one document contributes to all documents of its list.
    feature_names : sequence of str, default=None
        None means "column 0", "column 1", …
    docid : sequence, one per row, default=None
        Document ids, for the tables.
    intercept : float, default=0.0
        Added to the scores.
    numbers : ndarray of shape (n_docs,), default=None
        Row numbers in the explanation, if X holds only some rows; None counts them from 0.

    Examples
    --------
    >>> from plackett.explain.additive import explain_linear
    >>> X = [[3.0, 1.0], [1.0, 1.0], [2.0, 4.0]]
    >>> explanation = explain_linear([2.0, -1.0], X, qid=[7, 7, 7], feature_names=["bm25", "length"])
    >>> explanation.contributions  # the means of the columns are 2 and 2
    array([[ 2.,  1.],
           [-2.,  1.],
           [ 0., -2.]])
    >>> print(explanation.why(0, 1))
    row 0 scores 5, row 1 scores 1: row 0 leads by 4
    feature  row 0  row 1  difference
    bm25         3      1          +4
    total                          +4
    """
    X, names = _checked(X, feature_names)
    coef = np.asarray(coef, dtype=np.float64).ravel()
    if coef.size != X.shape[1]:
        raise ValueError(f"there are {coef.size:,} coefficients but X has {X.shape[1]:,} columns.")
    check_finite(X, names)
    chosen = choose_rows(X.shape[0], qid, rows, docid)
    means, values = chosen.means(X), X[chosen.rows].astype(np.float64)
    return Explanation(
        contributions=_deviations(values, means[chosen.place], chosen, coef),
        values=values,
        scores=values @ coef + intercept,
        baseline=(means @ coef)[chosen.place] + intercept,
        feature_names=names,
        **chosen.named(numbers),
    )


def explain_additive(
    parts: Any,
    X: Any,
    qid: Iterable[Hashable] | None = None,
    *,
    scores: Any = None,
    rows: Iterable[int] | None = None,
    feature_names: Sequence[str] | None = None,
    docid: Sequence[Any] | None = None,
    numbers: np.ndarray | None = None,
    categories: dict[int, np.ndarray] | None = None,
) -> Explanation:
    """Explain scores that are any sum over the features: ``score of i = Σ_j parts[i, j] + constant``.

    Parameters
    ----------
    parts : array-like of shape (n_docs, n_features)
        What each feature adds to the score of each document, before the mean of the list is subtracted.
    X : array or scipy sparse matrix of shape (n_docs, n_features)
        The feature values to show; NaN where one is missing.
    qid : iterable of hashable ids, one per row, in any order, default=None
        None means that all rows are one list.
    scores : array-like of shape (n_docs,), default=None
        The scores of the ranker, if they differ from the sums of the parts by a constant or by rounding; None means the
        sums.
    rows, feature_names, docid, numbers : as in :func:`explain_linear`
    categories : dict of int to ndarray of str, default=None
        Names of the codes in columns of X that hold categories, to show instead of the codes.

    Examples
    --------
    >>> from plackett.explain.additive import explain_additive
    >>> parts = [[0.5, 0.0], [0.5, 2.0]]
    >>> explain_additive(parts, X=[[7.0, 1.0], [9.0, 4.0]], feature_names=["bm25", "length"]).top(1)
    [Contribution(feature='length', value=4.0, contribution=1.0)]
    """
    X, names = _checked(X, feature_names)
    parts = np.asarray(parts, dtype=np.float64)
    if parts.shape != X.shape:
        raise ValueError(f"parts has shape {parts.shape} but X has shape {X.shape}; they must be equal.")
    check_finite(X, names, allow_missing=True)
    scores = parts.sum(axis=1) if scores is None else check_numbers(scores, "scores")
    if scores.size != X.shape[0]:
        raise ValueError(f"there are {scores.size:,} scores but X has {X.shape[0]:,} rows.")
    chosen = choose_rows(X.shape[0], qid, rows, docid)
    return Explanation(
        contributions=_deviations(parts[chosen.rows], chosen.means(parts)[chosen.place], chosen, np.ones(X.shape[1])),
        values=X[chosen.rows].astype(np.float64),
        scores=scores[chosen.rows],
        baseline=chosen.means(scores[:, None])[chosen.place, 0],
        feature_names=names,
        categories=categories,
        **chosen.named(numbers),
    )


def _deviations(values: Any, means: Any, chosen: ChosenRows, coef: np.ndarray) -> Any:
    """Return coefficients times deviations from the mean; deviations within its rounding error are 0.

    Otherwise a feature that is constant within a list would have tiny contributions.
    """
    error = (chosen.sizes[chosen.place] * np.finfo(np.float64).eps)[:, None]
    if not is_sparse(values):
        deviations = values - means
        deviations[np.abs(deviations) <= error * np.abs(means)] = 0.0
        return deviations * coef
    deviations = (values - means).tocsr()
    is_real = (abs(deviations) - abs(means).multiply(error).tocsr()) > 0
    contributions = deviations.multiply(is_real).multiply(coef[None, :]).tocsr()
    contributions.eliminate_zeros()
    return contributions


def _checked(X: Any, feature_names: Sequence[str] | None) -> tuple[Any, list[str]]:
    with importing:
        from scipy import sparse

    X = sparse.csr_array(X) if is_sparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X has shape {X.shape} and type {X.dtype}; expected numbers of shape (n_docs, n_features).")
    names = feature_labels(X.shape[1]) if feature_names is None else [str(name) for name in feature_names]
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names):,} names but X has {X.shape[1]:,} columns.")
    return X, names
