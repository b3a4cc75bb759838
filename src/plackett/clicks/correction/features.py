"""Features of pairs: rows of judged lists found by the names of query and document."""

from __future__ import annotations

import numpy as np

from plackett.clicks.pairs import Pairs, code_names, coded_pairs
from plackett.data.queries import Queries
from plackett.data.text_column import as_str_array
from plackett.exceptions import DataWarning, warn
from plackett.storage.mapped import take_rows
from plackett.validation import count_of, is_sparse


def rows_of_pairs(pairs: Pairs, queries: Queries) -> np.ndarray:
    """Return the row of ``queries.grouped`` of each pair, -1 where it has none.

    Ids are compared as text. Documents without names are named by their row, as in ``simulate_clicks``.

    Raises
    ------
    ValueError
        If a query has two documents of the same name, or no pair is found.
    """
    grouped = queries.grouped
    names, query = code_names(np.asarray(grouped.ids), "qid")
    if len(names) < grouped.n_queries:
        raise ValueError("two queries have ids that are equal as text. Rename one of them.")
    rows = np.arange(grouped.n_docs) if queries.row_order is None else queries.row_order
    docids, doc = code_names(rows if grouped.docid is None else grouped.docid, "docid")
    known, code = coded_pairs(names, docids, np.repeat(query, np.diff(grouped.indptr)), doc)
    if len(known) < grouped.n_docs:
        twice = int(np.flatnonzero(np.bincount(code) > 1)[0])
        qid, docid = known[twice]
        raise ValueError(f"query {qid!r} has two rows of document {docid!r}. Keep one of them.")
    row = np.empty(len(known), dtype=np.int64)
    row[code] = np.arange(grouped.n_docs)
    place = pairs.match(known)
    if len(pairs) and not (place >= 0).any():
        raise ValueError(_nothing_found(pairs, known, grouped.docid is None))
    return np.where(place >= 0, row[place], -1)


def labelled_queries(
    pairs: Pairs, labels: np.ndarray, source: Queries, *, warns: bool = True, has_estimated_labels: bool = False
) -> Queries:
    """Return the rows of ``source`` that are pairs, in the order of the pairs, with other labels."""
    found = rows_of_pairs(pairs, source)
    if warns:
        warn_of_missing(found, "are left out")
    own, rows, grouped = np.flatnonzero(found >= 0), found[found >= 0], source.grouped
    starts = np.flatnonzero(np.diff(pairs.pair_query[own], prepend=-1))
    names = grouped.document_ids if grouped.document_ids is not None else grouped.docid
    if names is None:
        docid = as_str_array(list(pairs.docids))[pairs.pair_doc[own]]
    return Queries.from_groups(
        take_rows(grouped.X, rows),
        labels[own],
        grouped.ids[grouped.query_of_row[rows[starts]]],
        np.append(starts, own.size).astype(np.int64),
        docid=docid if names is None else names[rows],
        feature_names=grouped.feature_names,
        first_index=grouped.first_index,
        categories=grouped.categories,
        has_estimated_labels=has_estimated_labels,
    )


def features_of_pairs(pairs: Pairs, queries: Queries) -> np.ndarray:
    """Return the features of every pair.

    Raises
    ------
    ValueError
        If a pair has no row.
    """
    rows = rows_of_pairs(pairs, queries)
    if (rows < 0).any():
        qid, docid = pairs[int(np.argmin(rows))]
        n_missing = count_of(int(np.count_nonzero(rows < 0)), "shown pair")
        raise ValueError(f"{n_missing} of the log have no features, such as query {qid!r} with document {docid!r}.")
    X = take_rows(queries.grouped.X, rows)
    return X.toarray() if is_sparse(X) else X


def warn_of_missing(rows: np.ndarray, what: str) -> None:
    """Warn if pairs have no row."""
    n_missing = int(np.count_nonzero(rows < 0))
    if n_missing:
        warn(
            f"{count_of(n_missing, 'shown pair')} of {rows.size:,} have no row in the features, and {what}.",
            DataWarning,
        )


def _nothing_found(pairs: Pairs, known: Pairs, is_numbered: bool) -> str:
    (qid, docid), (own_qid, own_docid) = pairs[0], known[0]
    names = "documents without names are named by their row. Pass docid" if is_numbered else "check qid and docid"
    return (
        f"no shown pair of the log is in the features: the log has query {qid!r} with document {docid!r}, the features "
        f"query {own_qid!r} with document {own_docid!r}; {names}."
    )
