"""Why a document stands where it stands: what each feature adds to its score.

Only differences within a list matter to a ranking, so contributions are counted from the mean of the document's list:
with linear scores, feature j adds ``coef[j] * (X[i, j] - mean of column j over the list of i)`` to document i. They sum
to the document's score minus the mean score of its list.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett.data.grouping import Groups, group_rows
from plackett.validation import check_finite, check_numbers, count_of, is_sparse, plain

ROWS_SHOWN = 20
FEATURES_SHOWN = 15


class Contribution(NamedTuple):
    """What one feature adds to the score of one document."""

    feature: str
    value: float
    contribution: float


class Difference(NamedTuple):
    """What one feature adds to the lead of document a over document b."""

    feature: str
    value_a: float
    value_b: float
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
    """What each feature adds to the score of each document, counted from the mean of the document's list.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
    X : array or scipy sparse matrix of shape (n_docs, n_features)
        As the coefficients saw it: after normalising. All documents of a list are needed, as its mean is.
    qid : iterable of hashable ids, one per row, in any order, default=None
        None means that all rows are one list.
    rows : iterable of int, default=None
        The rows to explain; None explains all. Memory is needed for these rows only. Contributions to a sparse X are
        sparse, but a feature that one document of a list has gives all documents of the list a contribution.
    feature_names : sequence of str, default=None
        None names them "column 0", "column 1", …
    docid : sequence, one per row, default=None
        Names of the documents, for the tables.
    intercept : float, default=0.0
        Added to the scores.

    Returns
    -------
    Explanation

    Examples
    --------
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
    chosen = _choose(X.shape[0], qid, rows, docid)
    means = _means(X, chosen)
    values = _as_float64(X[chosen.rows])
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
) -> Explanation:
    """The same for scores that are any sum over the features: ``score of i = Σ_j parts[i, j]``, up to a constant.

    Parameters
    ----------
    parts : array-like of shape (n_docs, n_features)
        What each feature adds to the score of each document; not counted from any mean yet.
    X : array or scipy sparse matrix of shape (n_docs, n_features)
        The values of the features, to be shown.
    qid : iterable of hashable ids, one per row, in any order, default=None
        None means that all rows are one list.
    scores : array-like of shape (n_docs,), default=None
        The scores as the ranker gives them, where they differ from the sums of the parts by a constant, or were added
        up in another order; None takes the sums.
    rows, feature_names, docid : as in :func:`explain_linear`

    Returns
    -------
    Explanation

    Examples
    --------
    >>> parts = [[0.5, 0.0], [0.5, 2.0]]
    >>> explain_additive(parts, X=[[7.0, 1.0], [9.0, 4.0]], feature_names=["bm25", "length"]).top(1)
    [Contribution(feature='length', value=4.0, contribution=1.0)]
    """
    X, names = _checked(X, feature_names)
    parts = np.asarray(parts, dtype=np.float64)
    if parts.shape != X.shape:
        raise ValueError(f"parts has shape {parts.shape} but X has {X.shape}; each feature adds to each document.")
    check_finite(X, names)
    scores = parts.sum(axis=1) if scores is None else check_numbers(scores, "scores")
    if scores.size != X.shape[0]:
        raise ValueError(f"there are {scores.size:,} scores but X has {X.shape[0]:,} rows.")
    chosen = _choose(X.shape[0], qid, rows, docid)
    means = _means(parts, chosen)[chosen.place]
    return Explanation(
        contributions=_deviations(parts[chosen.rows], means, chosen.sizes, np.ones(X.shape[1])),
        values=_as_float64(X[chosen.rows]),
        scores=scores[chosen.rows],
        baseline=_means(scores[:, None], chosen)[chosen.place, 0],
        feature_names=names,
        rows=chosen.rows,
        qid=chosen.qid,
        docid=chosen.docid,
    )


class Explanation:
    """What each feature adds to the scores of documents; made by :func:`explain_linear` or
    :func:`explain_additive`.

    Methods take rows by their number in X, also where only some rows were explained.

    Attributes
    ----------
    contributions : ndarray or CSR matrix of shape (n_rows, n_features)
    values : ndarray or CSR matrix of shape (n_rows, n_features)
        The features of the rows.
    scores, baseline : ndarray of shape (n_rows,)
        The score of each document, and the mean score of its list; contributions sum to the first minus the second.
    feature_names : list of str
    rows : ndarray of shape (n_rows,)
        The row of X that each line explains.
    qid : ndarray of shape (n_rows,)
    docid : list or None
    """

    def __init__(
        self,
        *,
        contributions: Any,
        values: Any,
        scores: np.ndarray,
        baseline: np.ndarray,
        feature_names: list[str],
        rows: np.ndarray,
        qid: np.ndarray,
        docid: list | None = None,
    ):
        self.contributions, self.values, self.scores, self.baseline = contributions, values, scores, baseline
        self.feature_names, self.rows, self.qid, self.docid = feature_names, rows, qid, docid
        self._place = {row: place for place, row in enumerate(rows.tolist())}

    def __len__(self) -> int:
        return self.rows.size

    def top(self, row: int, n: int | None = 5) -> list[Contribution]:
        """The ``n`` features that move a document most, up or down; those that add nothing are left out.

        Parameters
        ----------
        row : int
        n : int, default=5
            None gives all.

        Returns
        -------
        list of (feature, value, contribution), the largest in size first; equal ones in the order of the columns
        """
        place = self._place_of(row)
        contributions = _dense_row(self.contributions, place)
        values = _dense_row(self.values, place)
        columns = _largest_first(contributions)[:n]
        return [
            Contribution(self.feature_names[j], float(values[j]), float(contributions[j])) for j in columns.tolist()
        ]

    def why(self, a: int, b: int) -> Comparison:
        """Why row ``a`` stands above row ``b`` of the same query, feature by feature.

        Parameters
        ----------
        a, b : int

        Returns
        -------
        Comparison
            Its differences are negative where a feature speaks for ``b``.
        """
        first, second = self._place_of(a), self._place_of(b)
        if self.qid[first] != self.qid[second]:
            raise ValueError(
                f"row {plain(a)} belongs to query {plain(self.qid[first])!r} and row {plain(b)} to query "
                f"{plain(self.qid[second])!r}; only documents of one query are ranked against each other."
            )
        differences = _dense_row(self.contributions, first) - _dense_row(self.contributions, second)
        values_a, values_b = _dense_row(self.values, first), _dense_row(self.values, second)
        return Comparison(
            row_a=int(a),
            row_b=int(b),
            name_a=self._name(first),
            name_b=self._name(second),
            score_a=float(self.scores[first]),
            score_b=float(self.scores[second]),
            differences=[
                Difference(self.feature_names[j], float(values_a[j]), float(values_b[j]), float(differences[j]))
                for j in _largest_first(differences).tolist()
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: for each row its score, its list's mean score, and what adds to it."""
        return {"rows": [self._row_dict(place) for place in range(len(self))]}

    def to_csv(self) -> str:
        """One line for each row and feature that adds to it, the largest first."""
        return _csv_text(self._columns(), self._records())

    def to_frame(self):
        """One line for each row and feature that adds to it, the largest first, as a pandas data frame."""
        pandas = import_optional("pandas", extra="frames", needed_for="Explanation.to_frame")
        return pandas.DataFrame(list(self._records()), columns=self._columns())

    def __str__(self) -> str:
        headings = ["row", "query", *(["document"] if self.docid is not None else []), "score", "mean of list"]
        table = [[*headings, "strongest features"]]
        for place, row in enumerate(self.rows[:ROWS_SHOWN].tolist()):
            name = [] if self.docid is None else [str(plain(self.docid[place]))]
            strongest = ", ".join(f"{part.feature} {_signed(part.contribution)}" for part in self.top(row, 3))
            numbers = [_number(self.scores[place]), _number(self.baseline[place])]
            table.append([str(row), str(plain(self.qid[place])), *name, *numbers, strongest or "–"])
        is_text = [False] + [True] * (len(headings) - 3) + [False, False, True]
        lines = _aligned(table, is_text)
        if len(self) > ROWS_SHOWN:
            lines.append(f"… and {count_of(len(self) - ROWS_SHOWN, 'more row')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Explanation({count_of(len(self), 'row')} × {count_of(len(self.feature_names), 'feature')})"

    def _place_of(self, row: int) -> int:
        if row not in self._place:
            among = (
                "0 rows"
                if not len(self)
                else f"{count_of(len(self), 'row')} from {self.rows.min()} to {self.rows.max()}"
            )
            raise ValueError(f"row {plain(row)!r} was not explained; there are {among}.")
        return self._place[row]

    def _name(self, place: int) -> str | None:
        return None if self.docid is None else str(plain(self.docid[place]))

    def _columns(self) -> list[str]:
        names = ["docid"] if self.docid is not None else []
        return ["row", "qid", *names, "score", "baseline", "feature", "value", "contribution"]

    def _records(self) -> Iterable[list[Any]]:
        for place, row in enumerate(self.rows.tolist()):
            name = [] if self.docid is None else [plain(self.docid[place])]
            heading = [row, plain(self.qid[place]), *name, float(self.scores[place]), float(self.baseline[place])]
            for part in self.top(row, None):
                yield [*heading, *part]

    def _row_dict(self, place: int) -> dict[str, Any]:
        row = int(self.rows[place])
        answer: dict[str, Any] = {"row": row, "qid": _plain_id(self.qid[place])}
        if self.docid is not None:
            answer["docid"] = _plain_id(self.docid[place])
        answer.update(score=float(self.scores[place]), baseline=float(self.baseline[place]))
        return {**answer, "contributions": [part._asdict() for part in self.top(row, None)]}


class Comparison:
    """Why one document scores more than another of its list; made by :meth:`Explanation.why`.

    Attributes
    ----------
    row_a, row_b : int
    name_a, name_b : str or None
        Ids of the documents, where they are known.
    score_a, score_b : float
    total : float
        ``score_a - score_b``, which the differences sum to (but for the last digits of floating point).
    differences : list of (feature, value_a, value_b, difference)
        The largest in size first; features that make no difference are left out.
    """

    def __init__(
        self,
        *,
        row_a: int,
        row_b: int,
        score_a: float,
        score_b: float,
        differences: list[Difference],
        name_a: str | None = None,
        name_b: str | None = None,
    ):
        self.row_a, self.row_b, self.name_a, self.name_b = row_a, row_b, name_a, name_b
        self.score_a, self.score_b, self.differences = score_a, score_b, differences

    @property
    def total(self) -> float:
        return self.score_a - self.score_b

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "a": {"row": self.row_a, "docid": self.name_a, "score": self.score_a},
            "b": {"row": self.row_b, "docid": self.name_b, "score": self.score_b},
            "total": self.total,
            "differences": [part._asdict() for part in self.differences],
        }

    def to_csv(self) -> str:
        """One line per feature, and a last one with the total and the scores."""
        return _csv_text(Difference._fields, [*self.differences, ["total", self.score_a, self.score_b, self.total]])

    def to_frame(self):
        """One line per feature as a pandas data frame; ``frame.attrs`` holds the scores and the total."""
        pandas = import_optional("pandas", extra="frames", needed_for="Comparison.to_frame")
        frame = pandas.DataFrame(self.differences, columns=list(Difference._fields))
        frame.attrs.update(score_a=self.score_a, score_b=self.score_b, total=self.total)
        return frame

    def to_text(self, n: int | None = FEATURES_SHOWN) -> str:
        """A table for a terminal with the ``n`` largest differences; the others are one line, so that it adds up."""
        a, b = self._label(self.row_a, self.name_a), self._label(self.row_b, self.name_b)
        lead = "both score the same"
        if self.total:
            lead = f"{a if self.total > 0 else b} leads by {_number(abs(self.total))}"
        shown, others = self.differences[:n], self.differences[len(self.differences[:n]) :]
        table = [["feature", f"row {self.row_a}", f"row {self.row_b}", "difference"]]
        table += [[part.feature, *map(_number, part[1:3]), _signed(part.difference)] for part in shown]
        if others:
            rest = math.fsum(part.difference for part in others)
            table.append([f"({count_of(len(others), 'other feature')})", "", "", _signed(rest)])
        table.append(["total", "", "", _signed(self.total)])
        heading = f"{a} scores {_number(self.score_a)}, {b} scores {_number(self.score_b)}: {lead}"
        return "\n".join([heading, *_aligned(table, [True, False, False, False])])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Comparison(row {self.row_a} over row {self.row_b} by {_number(self.total)})"

    @staticmethod
    def _label(row: int, name: str | None) -> str:
        return f"row {row}" if name is None else f"row {row} ({name})"


# --- Sums ------------------------------------------------------------------------------------------------------------


def _means(X: Any, chosen: _Chosen) -> Any:
    """The mean row of each needed query, in the form of X; float64."""
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
    """Coefficients times deviations from the mean; those within the rounding error of the mean are 0.

    Otherwise a feature that is constant within a list would seem to matter in the sixteenth digit.
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


def _largest_first(amounts: np.ndarray) -> np.ndarray:
    """The columns that are not 0, by size; equal ones stay in order."""
    columns = np.flatnonzero(amounts)
    return columns[np.argsort(-np.abs(amounts[columns]), kind="stable")]


def _dense_row(matrix: Any, place: int) -> np.ndarray:
    return matrix[[place]].toarray().ravel() if is_sparse(matrix) else matrix[place]


# --- Checks ----------------------------------------------------------------------------------------------------------


class _Chosen(NamedTuple):
    """The rows to explain, and the lists that they belong to."""

    rows: np.ndarray
    qid: np.ndarray
    docid: list | None
    groups: Groups
    queries: np.ndarray  # those with a chosen row, by number
    place: np.ndarray  # of each row's query among them
    sizes: np.ndarray  # of each row's list


def _choose(n_docs: int, qid: Any, rows: Any, docid: Any) -> _Chosen:
    groups = group_rows(qid, n_docs)
    chosen = _checked_rows(rows, n_docs)
    names = None if docid is None else list(docid)
    if names is not None and len(names) != n_docs:
        raise ValueError(f"docid has {len(names):,} ids but X has {n_docs:,} rows.")
    query_of_row = np.empty(n_docs, dtype=np.int64)
    order = slice(None) if groups.order is None else groups.order
    query_of_row[order] = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
    queries, place = np.unique(query_of_row[chosen], return_inverse=True)
    return _Chosen(
        rows=chosen,
        qid=groups.ids[query_of_row[chosen]],
        docid=None if names is None else [names[row] for row in chosen.tolist()],
        groups=groups,
        queries=queries,
        place=place,
        sizes=np.diff(groups.indptr)[queries][place],
    )


def _checked(X: Any, feature_names: Sequence[str] | None) -> tuple[Any, list[str]]:
    if is_sparse(X):
        from scipy import sparse

        X = sparse.csr_array(X)
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"X has shape {X.shape} and type {X.dtype}; a table of numbers, documents by features, is needed."
        )
    if feature_names is None:
        names = [f"column {column}" for column in range(X.shape[1])]
    else:
        names = [str(name) for name in feature_names]
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names):,} names but X has {X.shape[1]:,} columns.")
    return X, names


def _checked_rows(rows: Iterable[int] | None, n_docs: int) -> np.ndarray:
    if rows is None:
        return np.arange(n_docs)
    chosen = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be row numbers, not {chosen.dtype} of shape {chosen.shape}.")
    outside = (chosen < 0) | (chosen >= n_docs)
    if outside.any():
        raise ValueError(f"rows holds {int(chosen[outside][0])}, but X has rows 0 to {n_docs - 1:,}.")
    if np.unique(chosen).size < chosen.size:
        raise ValueError("rows holds a row twice.")
    return chosen.astype(np.int64)


def _as_float64(X: Any) -> Any:
    return X.astype(np.float64)


# --- Text ------------------------------------------------------------------------------------------------------------


def _plain_id(key: object) -> object:
    value = plain(key)
    return value if isinstance(value, (int, float, str, bool)) else str(value)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


def _aligned(table: list[list[str]], is_text: list[bool]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(is_text))]
    lines = []
    for row in table:
        cells = zip(row, widths, is_text, strict=True)
        lines.append("  ".join(f"{cell:<{w}}" if left else f"{cell:>{w}}" for cell, w, left in cells).rstrip())
    return lines


def _csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()
