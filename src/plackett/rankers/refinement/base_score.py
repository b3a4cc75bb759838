"""Base scores from a column, scores, a fitted ranker or model, or a TREC run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett._arrays import column_of
from plackett._warnings import without
from plackett.data.queries import Queries
from plackett.data.trec.run import Run
from plackett.rankers.base import Ranker
from plackett.validation import check_numbers, count_of, find_column, plain


def as_base_score(base: Any, queries: Queries, *, missing: float | None = None) -> np.ndarray:
    """Return the score that a base ranker gives each document.

    Parameters
    ----------
    base : int, str, array-like, ranker, model, Run or dict
        A column of X: its number counted from 0, its name, or ``"feature 21"``, its number in the file; one score per
        row of ``queries.X``; a fitted ranker of this library; any other object with a method ``predict``, such as a
        model of LightGBM, XGBoost or scikit-learn; or a run from ``read_trec_run`` or ``{qid: {docid: score}}``, for
        which the queries need document ids.
    queries : Queries
    missing : float, default=None
        The score of documents that are not in a run; None raises an error for them.

    Returns
    -------
    ndarray of shape (n_docs,), in the order of the rows of ``queries.X``

    Examples
    --------
    >>> from plackett import Queries
    >>> from plackett.rankers.refinement.base_score import as_base_score
    >>> queries = Queries([[3.0, 1.0], [2.0, 5.0]], qid=[7, 7], docid=["a", "b"], feature_names=["bm25", "length"])
    >>> as_base_score("bm25", queries)
    array([3., 2.])
    >>> as_base_score({"7": {"a": 0.5, "b": 0.7}}, queries)
    array([0.5, 0.7])
    """
    if is_column(base):
        return column_of(queries.X, column_number(base, queries))
    if isinstance(base, (Run, Mapping)):
        return _scores_of_run(base.to_dict() if isinstance(base, Run) else base, queries, missing)
    scores = predictions(base, queries, None) if hasattr(base, "predict") else base
    checked = check_numbers(scores, "base_score")
    if checked.size != queries.n_docs:
        raise ValueError(f"base_score has {count_of(checked.size, 'value')} but X has {queries.n_docs:,} rows.")
    return checked


def grouped_base_score(base: Any, X: Any, queries: Queries, *, has_ids: bool) -> np.ndarray:
    """Return base scores of grouped rows, from the arguments of ``fit`` or ``predict``, where X was given.

    ``queries`` are the same rows, checked and grouped; a vector ``base`` is in the order of the rows of X.
    """
    if hasattr(base, "predict") and isinstance(X, Queries):  # as given: another ranker prepares rows in its own way
        return as_base_score(base, X.grouped)
    if hasattr(base, "predict"):  # keeps the column names of a data frame
        base = predictions(base, X, queries.in_row_order(queries.qid) if has_ids else None)
    if scores_any_rows(base):
        return as_base_score(base, queries.replace(docid=X.grouped.docid if isinstance(X, Queries) else None))
    scores = as_base_score(base, queries)
    return scores if queries.row_order is None else scores[queries.row_order]


def is_column(base: Any) -> bool:
    """Return whether a base is the number or the name of a column."""
    return isinstance(base, (str, int, np.integer)) and not isinstance(base, (bool, np.bool_))


def scores_any_rows(base: Any) -> bool:
    """Return whether a base has scores for any rows; vectors have them only for the rows that they come with."""
    return is_column(base) or hasattr(base, "predict") or isinstance(base, (Run, Mapping))


def column_number(column: Any, queries: Queries) -> int:
    """Return the number of a column, from its number or its name in messages."""
    if isinstance(column, str):
        found = find_column(column, queries.n_features, queries.feature_names, queries.first_index)
        if found is not None:
            return found
        if queries.feature_names is None:
            raise ValueError(
                f"base_score is the column {column!r}, but the columns of X have no names. Pass its number."
            )
        raise ValueError(f"base_score is the column {column!r}, but X has no column of that name.")
    if not 0 <= column < queries.n_features:
        raise ValueError(f"base_score is column {int(column)}, but X has columns 0 to {queries.n_features - 1:,}.")
    return int(column)


def predictions(base: Any, X: Any, qid: Any) -> np.ndarray:
    """Return the predictions of a ranker of this library or another model, in the order of the rows."""
    if isinstance(base, type):
        raise ValueError(f"base_score is the class {base.__name__}; pass a fitted object of that class.")
    if isinstance(base, Ranker):
        return base.predict(X) if qid is None else base.predict(X, qid=qid)
    rows = X.X if isinstance(X, Queries) else X
    rows = rows if hasattr(rows, "shape") else np.asarray(rows)
    if hasattr(base, "inplace_predict"):  # a Booster of XGBoost, whose predict takes only a DMatrix
        return np.asarray(base.inplace_predict(rows))
    with without("X does not have valid feature names"):
        return np.asarray(base.predict(rows))


def _scores_of_run(run: Mapping[Any, Mapping[Any, float]], queries: Queries, missing: float | None) -> np.ndarray:
    if queries.docid is None:
        raise ValueError(
            "base_score is a run, which names documents, but X has no document ids. Pass X as Queries(..., docid=...)."
        )
    by_text = {str(plain(query)): {str(plain(doc)): score for doc, score in run[query].items()} for query in run}
    scores = np.empty(queries.n_docs)
    n_missing, example = 0, ("", "")
    for place, query in enumerate(queries.ids.tolist()):
        known, rows = by_text.get(str(query), {}), queries.rows_of(place)
        for row, doc in zip(rows.tolist(), queries.docid[rows].tolist(), strict=True):
            score = known.get(str(doc), missing)
            if score is None:
                n_missing, example = n_missing + 1, (str(query), str(doc)) if not n_missing else example
                score = np.nan
            scores[row] = score
    if n_missing:
        query, doc = example
        raise ValueError(
            f"the run has no score for {count_of(n_missing, 'document')} of {queries.n_docs:,}, such as {doc!r} of "
            f"query {query!r}. Use as_base_score(run, queries, missing=...) to give them one."
        )
    return check_numbers(scores, "base_score")
