"""Features of pairs, found by the names of query and document, and results with a row for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from plackett._optional import import_optional
from plackett._tables import Column, Table, csv_text, notebook_html
from plackett.clicks.pairs import PEEKED, Pairs, code_names, coded_pairs
from plackett.data.queries import Queries
from plackett.data.text_column import as_str_array
from plackett.exceptions import DataWarning, warn
from plackett.storage.mapped import take_rows
from plackett.validation import count_of, is_sparse, plain


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


# --- Results ----------------------------------------------------------------------------------------------------------


class RowsOfPairs:
    """A result with a row for each of its ``pairs``, in their order."""

    _columns: ClassVar[tuple[str, ...]]
    _label: ClassVar[str]  # the attribute that becomes the labels
    _are_estimates: ClassVar[bool] = False
    _advice: ClassVar[str]  # for rows without features
    pairs: Pairs
    features: np.ndarray | None
    feature_names: list[str] | None
    source: Queries | None = None

    @property
    def query(self) -> np.ndarray:
        """Name of the query of each row."""
        return as_str_array(list(self.pairs.queries))[self.pairs.pair_query]

    @property
    def docid(self) -> np.ndarray:
        """Name of the document of each row."""
        return as_str_array(list(self.pairs.docids))[self.pairs.pair_doc]

    def to_queries(self, features: Any = None, feature_names: Sequence[str] | None = None) -> Queries:
        """Return the documents with features, labelled by the grades or the estimates, to train rankers on.

        Pairs without features are left out. ``has_estimated_labels`` of the result is True for estimates: rankers then
        accept only losses that are linear in the labels.

        Parameters
        ----------
        features : Queries, or array-like of shape (n_rows, n_features), default=None
            Queries that hold the pairs, found by query and document as text (documents without names by their row); or
            a row for each of these rows. None uses the features that are known: those of the log that was given to
            ``judgements``; of ``corrected_labels``, those that it was given, or those of its log.
        feature_names : sequence of str, default=None
            Names of the columns of an array.

        Raises
        ------
        ValueError
            If there are no features.

        Examples
        --------
        >>> import plackett as pk
        >>> lists = pk.Queries([[0.2], [0.9]], qid=["shoe", "shoe"], docid=["a", "b"])
        >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 0], indptr=[0, 2])
        >>> pk.clicks.corrected_labels(log, [1.0, 0.5]).to_queries(lists)
        Queries(1 query, 2 documents, 1 feature, labels 0..1)
        """
        labels = getattr(self, self._label)
        rows = self.source if features is None else features
        if isinstance(rows, Queries):
            return labelled_queries(
                self.pairs, labels.astype(np.float64), rows,
                warns=rows is not self.source, has_estimated_labels=self._are_estimates,
            )  # fmt: skip
        if rows is None:
            if self.features is None:
                raise ValueError(f"the pairs have no features. {self._advice}")
            rows, feature_names = self.features, self.feature_names if feature_names is None else feature_names
        queries = Queries(rows, labels, self.query, docid=self.docid, feature_names=feature_names)
        return queries.replace(y=labels.copy(), has_estimated_labels=True) if self._are_estimates else queries

    def _repr_html_(self) -> str:
        rows = islice(zip(*(getattr(self, name) for name in self._columns), strict=True), PEEKED)
        columns = [
            Column(name, "text" if name in ("query", "docid") else "number", digits=None) for name in self._columns
        ]
        cells = [[f"{value:,}" if isinstance(value, np.integer) else plain(value) for value in row] for row in rows]
        table = Table(columns, cells)
        return notebook_html(table, [repr(self)], [f"up to {PEEKED} rows"])

    def to_frame(self):
        """Return a pandas DataFrame with the columns of ``to_csv``."""
        pandas = import_optional("pandas", extra=None, needed_for=f"{type(self).__name__}.to_frame")
        return pandas.DataFrame({name: getattr(self, name) for name in self._columns})

    def to_csv(self) -> str:
        """Return CSV with the names of query and document, and the arrays with a value for each row."""
        return csv_text(self._columns, zip(*(getattr(self, name).tolist() for name in self._columns), strict=True))
