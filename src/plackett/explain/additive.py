"""Explanations of additive scores: what each feature adds to the score of a document.

Only differences within a list matter to a ranking, so contributions are relative to the mean of the document's list:
with linear scores, feature j adds ``coef[j] * (X[i, j] - mean of column j over the list of i)`` to document i. They sum
to the document's score minus the mean score of its list.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._tables import aligned
from plackett.explain.rows import (
    PARTS_SHOWN,
    ChosenRows,
    ComparedRows,
    ExplainedRows,
    choose_rows,
    dense_row,
    largest_first,
    number,
    signed,
)
from plackett.validation import check_finite, check_numbers, count_of, feature_labels, is_sparse


class Contribution(NamedTuple):
    """What one feature adds to the score of one document."""

    feature: str
    value: float | str  # the name of a category
    contribution: float


class Difference(NamedTuple):
    """What one feature adds to the lead of document a over document b."""

    feature: str
    value_a: float | str
    value_b: float | str
    difference: float


def explain_linear(
    coef: Any,
    X: Any,
    qid: Iterable[Hashable] | None = None,
    *,
    rows: Iterable[int] | None = None,
    feature_names: Sequence[str] | None = None,
    docid: Sequence[Any] | None = None,
    intercept: float = 0.0,
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

    Returns
    -------
    Explanation

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
    means = _means(X, chosen)
    values = X[chosen.rows].astype(np.float64)
    return Explanation(
        contributions=_deviations(values, means[chosen.place], chosen.sizes, coef),
        values=values,
        scores=values @ coef + intercept,
        baseline=(means @ coef)[chosen.place] + intercept,
        feature_names=names,
        rows=chosen.rows,
        qid=chosen.qid,
        docid=chosen.docid,
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
    rows, feature_names, docid : as in :func:`explain_linear`
    numbers : ndarray of shape (n_docs,), default=None
        Row numbers in the explanation, if X holds only some rows; None counts them from 0.
    categories : dict of int to ndarray of str, default=None
        Names of the codes in columns of X that hold categories, to show instead of the codes.

    Returns
    -------
    Explanation

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
    means = _means(parts, chosen)[chosen.place]
    return Explanation(
        contributions=_deviations(parts[chosen.rows], means, chosen.sizes, np.ones(X.shape[1])),
        values=X[chosen.rows].astype(np.float64),
        scores=scores[chosen.rows],
        baseline=_means(scores[:, None], chosen)[chosen.place, 0],
        feature_names=names,
        rows=chosen.rows if numbers is None else numbers[chosen.rows],
        qid=chosen.qid,
        docid=chosen.docid,
        categories=categories,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Explanation(ExplainedRows):
    """What each feature adds to the scores of documents; made by :func:`explain_linear` or :func:`explain_additive`.

    Methods take rows by their number in X, even if only some rows were explained.

    Attributes
    ----------
    contributions : ndarray or CSR matrix of shape (n_rows, n_features)
        What each feature adds to the score, compared with the mean of the list.
    values : ndarray or CSR matrix of shape (n_rows, n_features)
        The features of the rows.
    scores, baseline : ndarray of shape (n_rows,)
        The score of each document, and the mean score of its list; contributions sum to the first minus the second.
    feature_names : list of str
        Names of the features, in the order of the columns.
    rows : ndarray of shape (n_rows,)
        The row of X that each line explains.
    qid : ndarray of shape (n_rows,)
        The query id of each line.
    docid : list or None
        The document id of each line, if known.
    categories : dict of int to ndarray of str, or None
        Names of the codes of columns that hold categories.

    Examples
    --------
    >>> from plackett.explain.additive import explain_linear
    >>> X = [[3.0, 1.0], [1.0, 1.0], [2.0, 4.0]]
    >>> explanation = explain_linear([2.0, -1.0], X, feature_names=["bm25", "length"])
    >>> [(part.feature, part.contribution) for part in explanation.top(0)]
    [('bm25', 2.0), ('length', 1.0)]
    """

    _part = Contribution
    _parts_name = "contributions"
    _headings = ("score", "mean of list", "strongest features")

    contributions: Any
    categories: dict[int, np.ndarray] | None = None

    def _value(self, values: np.ndarray, column: int) -> float | str:
        """Return the value of a feature, or the name of its category; NaN where it is missing."""
        names, value = (self.categories or {}).get(column), float(values[column])
        if names is None or not 0 <= value < names.size:
            return value
        return str(names[int(value)])

    def top(self, row: int, n: int | None = 5) -> list[Contribution]:
        """Return the ``n`` features that change the score of a document most, without those that add nothing.

        Parameters
        ----------
        row : int
        n : int, default=5
            None returns all.

        Returns
        -------
        list of (feature, value, contribution), largest absolute contribution first; ties in column order
        """
        place = self._place_of(row)
        contributions = dense_row(self.contributions, place)
        values = dense_row(self.values, place)
        columns = largest_first(contributions)[:n]
        return [
            Contribution(self.feature_names[j], self._value(values, j), float(contributions[j]))
            for j in columns.tolist()
        ]

    def importance(self) -> dict[str, float]:
        """Return the mean absolute contribution of each feature to these documents, the largest first.

        Features that add nothing to any document are left out.
        """
        means = np.asarray(abs(self.contributions).sum(axis=0)).ravel() / max(1, len(self))
        return {self.feature_names[j]: float(means[j]) for j in largest_first(means).tolist()}

    def why(self, a: int, b: int) -> Comparison:
        """Return why row ``a`` ranks above row ``b`` of the same query, feature by feature.

        Parameters
        ----------
        a, b : int

        Returns
        -------
        Comparison
            Its differences are negative for features that favour ``b``.
        """
        first, second = self._places_of_one_query(a, b)
        differences = dense_row(self.contributions, first) - dense_row(self.contributions, second)
        values_a, values_b = dense_row(self.values, first), dense_row(self.values, second)
        return Comparison(
            **self._both(first, second),
            differences=[
                Difference(
                    self.feature_names[j], self._value(values_a, j), self._value(values_b, j), float(differences[j])
                )
                for j in largest_first(differences).tolist()
            ],
        )

    def __repr__(self) -> str:
        return f"Explanation({count_of(len(self), 'row')} × {count_of(len(self.feature_names), 'feature')})"

    @staticmethod
    def _shown(part: Any) -> str:
        return f"{part.feature} {signed(part.contribution)}"


class Comparison(ComparedRows):
    """Why one document scores higher than another of its list; made by :meth:`Explanation.why`.

    Attributes
    ----------
    row_a, row_b : int
        The rows of X that are compared.
    name_a, name_b : str or None
        Ids of the documents, if known.
    score_a, score_b : float
        Their scores.
    total : float
        ``score_a - score_b``, the sum of the differences up to rounding.
    differences : list of (feature, value_a, value_b, difference)
        The largest absolute value first, without features that make no difference.

    Examples
    --------
    >>> from plackett.explain.additive import explain_linear
    >>> X = [[3.0, 1.0], [1.0, 1.0], [2.0, 4.0]]
    >>> found = explain_linear([2.0, -1.0], X, feature_names=["bm25", "length"]).why(0, 2)
    >>> found.total, found.differences[0].feature
    (5.0, 'length')
    """

    _part: ClassVar[Any] = Difference
    _thing: ClassVar[str] = "feature"  # what the differences are of

    def to_text(self, n: int | None = PARTS_SHOWN) -> str:
        """Return a table for a terminal with the ``n`` largest differences, the others summed in one line."""
        a, b = self._labels()
        lead = "both score the same"
        if self.total:
            lead = f"{a if self.total > 0 else b} leads by {number(abs(self.total))}"
        shown, others = self.differences[:n], self.differences[len(self.differences[:n]) :]
        table = [[self._thing, f"row {self.row_a}", f"row {self.row_b}", "difference"]]
        table += [[part[0], *map(number, part[1:3]), signed(part.difference)] for part in shown]
        if others:
            rest = math.fsum(part.difference for part in others)
            table.append([f"({count_of(len(others), f'other {self._thing}')})", "", "", signed(rest)])
        table.append(["total", "", "", signed(self.total)])
        heading = f"{a} scores {number(self.score_a)}, {b} scores {number(self.score_b)}: {lead}"
        return f"{heading}\n{aligned(table, 'lrrr')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(row {self.row_a} over row {self.row_b} by {number(self.total)})"

    def _total_record(self) -> list[Any]:
        return ["total", self.score_a, self.score_b, self.total]


# --- Sums ------------------------------------------------------------------------------------------------------------


def _means(X: Any, chosen: ChosenRows) -> Any:
    """Return the mean row of each needed query in float64, sparse if X is."""
    with importing:
        from scipy import sparse

    groups, needed = chosen.groups, chosen.queries
    starts, sizes = groups.indptr[needed], np.diff(groups.indptr)[needed]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    docs = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    if groups.order is not None:
        docs = groups.order[docs]
    adder = sparse.csr_array((np.ones(docs.size), docs, indptr), shape=(needed.size, X.shape[0]))
    sums = adder @ X
    return sums.multiply(1.0 / sizes[:, None]).tocsr() if is_sparse(X) else sums / sizes[:, None]


def _deviations(values: Any, means: Any, sizes: np.ndarray, coef: np.ndarray) -> Any:
    """Return coefficients times deviations from the mean; deviations within its rounding error are 0.

    Otherwise a feature that is constant within a list would have tiny contributions.
    """
    error = (sizes * np.finfo(np.float64).eps)[:, None]
    if not is_sparse(values):
        deviations = values - means
        deviations[np.abs(deviations) <= error * np.abs(means)] = 0.0
        return deviations * coef
    deviations = (values - means).tocsr()
    is_real = (abs(deviations) - abs(means).multiply(error).tocsr()) > 0
    contributions = deviations.multiply(is_real).multiply(coef[None, :]).tocsr()
    contributions.eliminate_zeros()
    return contributions


# --- Checks ----------------------------------------------------------------------------------------------------------


def _checked(X: Any, feature_names: Sequence[str] | None) -> tuple[Any, list[str]]:
    if is_sparse(X):
        with importing:
            from scipy import sparse

        X = sparse.csr_array(X)
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X has shape {X.shape} and type {X.dtype}; expected numbers of shape (n_docs, n_features).")
    names = feature_labels(X.shape[1]) if feature_names is None else [str(name) for name in feature_names]
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names):,} names but X has {X.shape[1]:,} columns.")
    return X, names
