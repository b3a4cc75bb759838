"""Judged lists: feature rows grouped by query."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._lazy import importing
from plackett._tables import Table
from plackett.data.categories import Categories, check_categories, merge_categories, recode, same_categories
from plackett.data.docids import docids_of_comments, titles_of_comments
from plackett.data.grouping import as_objects, check_is_no_column, group_rows
from plackett.data.query_lists import Levels as Levels
from plackett.data.query_lists import QueryLists as QueryLists
from plackett.data.subtopics import Subtopics, as_subtopics
from plackett.data.tables.coding import features_of, to_frame
from plackett.data.tables.column_roles import warn_of_frame
from plackett.data.text_column import TextColumn, as_str_array
from plackett.storage.mapped import is_mapped, stack_rows, take_rows
from plackett.validation import (
    as_csr,
    check_index,
    check_labels,
    check_not_masked,
    check_number,
    check_scores,
    count_of,
    feature_labels,
    feature_number,
    is_sparse,
    plain,
)

if TYPE_CHECKING:
    from plackett.data.description.describe import Description


class Queries:
    """Documents of queries: their features, and optionally labels, names and comments.

    Rows may come in any order and keep it: X, y, qid, docid and comments are in the order of the input, and so are
    values computed per row. ``grouped`` has the rows of each query together; if the input has them together already, it
    is the same object, and nothing is copied.

    Parameters
    ----------
    X : array, data frame or scipy sparse matrix of shape (n_docs, n_features)
        float32 stays float32; other numbers become float64. Sparse input becomes CSR.
    y : array-like of shape (n_docs,), default=None
        Labels, larger is better. NaN means "not judged".
    qid : iterable of hashable ids, one per row, or one id for all rows; default=None
        None means that all rows are one list.
    docid : array-like of shape (n_docs,), default=None
        Names of the documents; None takes them from the comments.
    feature_names : sequence of str, default=None
        Column names; None takes those of a data frame.
    comments : sequence of str, one per row, default=None
        The text after ``#`` in a LETOR file, unchanged.
    first_index : {0, 1}, default=None
        The number of the first column in the file that the rows come from. Messages and explanations then name a column
        as the file does, "feature 21". None for arrays, whose columns are named "column 20", counted from 0.
    subtopics : array, scipy sparse matrix of shape (n_docs, n_subtopics), or Subtopics; default=None
        Labels of the documents by subtopic, which measures of diversity such as ``alpha-ndcg`` need.
    categories : dict from columns to sequences of str, default=None
        Names of the categories of columns, by position or feature name, for an array X that holds their codes: 0 for
        the first name, 1 for the second; NaN where the value is missing. Columns of a data frame that hold text or
        categories are encoded like this: text in sorted order, categorical columns in the order of their categories.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_docs, n_features)
        Features of the rows, in the order of the input.
    y : ndarray of shape (n_docs,) or None
        Labels, in the same order; NaN means "not judged".
    comments : sequence of str or None
        Comments, in the same order.
    document_ids : ndarray, TextColumn or None
        Document names as they are stored, without those in the comments. ``docid`` decodes them.
    ids : ndarray of shape (n_queries,)
        One id per query, in order of first appearance.
    indptr : ndarray of shape (n_queries + 1,)
        Query ``q`` owns rows ``indptr[q]:indptr[q + 1]``. Raises ValueError if the rows of a query are not adjacent;
        ``grouped.indptr`` always exists.
    feature_names : list of str or None
        Column names, as given or of the data frame.
    first_index : int or None
        Number of the first column in the file that the rows come from; None for arrays.
    subtopics : Subtopics or None
        Labels of the documents by subtopic, if given.
    categories : dict of int to ndarray of str, or None
        Names of the categories of each column that holds codes, by its position.
    row_order : ndarray of shape (n_docs,) or None
        The input row of each row of ``grouped``; None if the input was grouped.
    has_estimated_labels : bool
        Whether labels are relevance that was estimated from clicks (``plackett.clicks.corrected_labels``). Rankers then
        reject losses that are not linear in the labels, because these turn noise into bias.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.2], [0.9], [0.4]], y=[0, 2, 1], qid=["b", "a", "b"])
    >>> data
    Queries(2 queries, 3 documents, 1 feature, labels 0..2)
    >>> data.ids, data.y
    (array(['b', 'a'], dtype='<U1'), array([0., 2., 1.]))
    >>> data.grouped.indptr, data.grouped.y
    (array([0, 2, 3]), array([0., 1., 2.]))
    >>> data.subset(["a"]).X
    array([[0.9]])
    """

    may_hold_mapped_arrays = True
    has_estimated_labels: bool = False

    def __init__(
        self,
        X: object,
        y: object = None,
        qid: Iterable[Hashable] | None = None,
        *,
        docid: object = None,
        feature_names: Sequence[str] | None = None,
        comments: Sequence[str] | None = None,
        first_index: int | None = None,
        subtopics: object = None,
        categories: Mapping[Any, Any] | None = None,
    ):
        check_is_no_column(qid, X)
        for name, values in (("y", y), ("qid", qid), ("docid", docid)):
            check_index(values, name, X)
        features, names, found = features_of(X)
        if names is not None:
            warn_of_frame(X)
        rows = as_rows(features, names)
        feature_names = _check_names(feature_names if feature_names is not None else names, rows.shape[1])
        groups = group_rows(qid, rows.shape[0])
        self._set(
            rows,
            None if y is None else check_labels(y, rows.shape[0], allow_nan=True),
            groups.ids,
            groups.indptr,
            docid=None if docid is None else _as_docid(docid, rows.shape[0]),
            comments=None if comments is None else _as_comments(comments, rows.shape[0]),
            subtopics=None if subtopics is None else as_subtopics(subtopics, rows.shape[0]),
            feature_names=feature_names,
            first_index=first_index,
            categories=found if categories is None else check_categories(categories, rows, feature_names),
            row_order=groups.order,
            is_grouped=groups.order is None,
        )

    def _set(
        self, X, y, ids, indptr, *, docid=None, comments=None, subtopics=None, feature_names=None, first_index=None,
        categories=None, row_order=None, is_grouped=True, has_estimated_labels=False,
    ) -> None:  # fmt: skip
        self.X, self.y, self.ids, self._indptr = X, None if y is None else _writable(y), ids, _writable(indptr)
        self.document_ids, self.comments, self.subtopics = docid, comments, subtopics
        self.feature_names, self.first_index = feature_names, first_index
        self.categories: Categories | None = categories or None
        self.row_order, self.is_grouped, self.has_estimated_labels = row_order, is_grouped, has_estimated_labels

    @classmethod
    def from_groups(cls, X: Any, y: Any, ids: np.ndarray, indptr: np.ndarray, **others: Any) -> Queries:
        """Return queries from rows whose groups are known; the caller has checked all values.

        ``others`` are those of the constructor, ``row_order``, the input row of each grouped row, ``is_grouped``, which
        is False if the rows are still in the order of the input, and ``has_estimated_labels``.
        """
        queries = cls.__new__(cls)
        queries._set(X, y, ids, indptr, **others)
        return queries

    @property
    def grouped(self) -> Queries:
        """The same data with the rows of each query together: this object if they are, otherwise a copy.

        Queries are in order of first appearance, the rows of a query in the order of the input. The copy is made once;
        its ``row_order`` and :meth:`in_row_order` restore the order of the input.
        """
        return self if self.is_grouped else self._regrouped

    @cached_property
    def _regrouped(self) -> Queries:
        return self._select(self.row_order, self.ids, self._indptr, row_order=self.row_order)

    def _select(self, rows: Any, ids: np.ndarray, indptr: np.ndarray, row_order: np.ndarray | None = None) -> Queries:
        """Return some rows, a slice or an array of row numbers, as queries of these ids and bounds."""
        take = _slice_rows if isinstance(rows, slice) else take_rows
        X, y = (None if one is None else take(one, rows) for one in (self.X, self.y))
        columns = {"docid": self.document_ids, "comments": self.comments, "subtopics": self.subtopics}
        taken = {name: None if one is None else one[rows] for name, one in columns.items()}
        return self.replace(
            X=X, y=y, ids=ids, indptr=indptr, row_order=row_order, is_grouped=True,
            has_estimated_labels=self.has_estimated_labels, **taken,
        )  # fmt: skip

    @property
    def indptr(self) -> np.ndarray:
        if not self.is_grouped:
            raise ValueError(
                "indptr needs the rows of each query to be adjacent, but rows of different queries are mixed here. "
                "Use queries.grouped, which has the rows of each query together."
            )
        return self._indptr

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_regrouped", None)  # can be recomputed; otherwise X would be sent to workers twice
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib sends large arrays to other processes as read-only maps
        self._indptr = _writable(self._indptr)
        self.y = None if self.y is None else _writable(self.y)

    @property
    def n_queries(self) -> int:
        return self._indptr.size - 1

    @property
    def n_docs(self) -> int:
        return int(self._indptr[-1])

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def feature_labels(self) -> list[str]:
        """Names of the columns for users: as given, else "feature 21" as in the file, else "column 20" of the array."""
        return feature_labels(self.n_features, self.feature_names, self.first_index)

    @property
    def labels(self) -> np.ndarray:
        """The labels; raises a ValueError if they are missing."""
        if self.y is None:
            raise ValueError("these queries have no labels. Pass y to Queries(X, y, qid).")
        return self.y

    @property
    def judged(self) -> np.ndarray:
        """Whether each row is judged; rows with a NaN or negative label are not, as in trec_eval."""
        return self.labels >= 0.0

    @cached_property
    def qid(self) -> np.ndarray:
        """One id per row, as ``fit`` and the metrics take them."""
        return self.ids[self.query_of_row]

    @property
    def query_of_row(self) -> np.ndarray:
        """The position in ``ids`` of the query of each row."""
        places = np.repeat(np.arange(self.n_queries), np.diff(self._indptr))
        return places if self.is_grouped else self.in_row_order(places)

    def rows_of(self, place: int) -> np.ndarray:
        """Return the row numbers of the query at this position of ``ids``, in ascending order."""
        first, last = self._indptr[place : place + 2].tolist()
        return np.arange(first, last) if self.is_grouped else self.row_order[first:last]

    @cached_property
    def docid(self) -> np.ndarray | None:
        """One document name per row, or None: as given, or from the comment.

        The name in a comment ``docid = GX000 inc = 1`` is ``GX000``. The name in any other comment is the text before
        the first tab, stripped; ``titles`` has the text after the tab.
        """
        if isinstance(self.document_ids, TextColumn):
            return as_str_array(list(self.document_ids))
        if self.document_ids is not None or self.comments is None:
            return self.document_ids
        return docids_of_comments(self.comments)

    @cached_property
    def titles(self) -> list[str] | None:
        r"""One title per row, the text after a tab in the comment; empty if there is none, None if no row has one.

        Examples
        --------
        >>> data = Queries([[1.0], [2.0]], comments=["7555\tRambo", "8012"])
        >>> data.docid.tolist(), data.titles
        (['7555', '8012'], ['Rambo', ''])
        """
        return None if self.comments is None else titles_of_comments(self.comments)

    @cached_property
    def lists(self) -> QueryLists:
        """Labels and bounds without X: what a loss works on."""
        return QueryLists(self.labels, self.indptr, has_estimated_labels=self.has_estimated_labels)

    @cached_property
    def _places(self) -> dict:
        return {key: place for place, key in enumerate(self.ids.tolist())}

    def __len__(self) -> int:
        return self.n_queries

    def __iter__(self) -> Iterator[Queries]:
        return (self[place] for place in range(self.n_queries))

    def __contains__(self, query: Hashable) -> bool:
        return plain(query) in self._places

    def __getitem__(self, which: int | slice | Sequence[int] | Sequence[bool] | np.ndarray) -> Queries:
        """Return the selected queries: by position, slice, list of positions, or mask with one entry per query.

        Their rows are grouped by query, in the order selected. A position or a slice without gaps shares memory with
        ``grouped``. A large selection from rows that are mapped from a file is mapped from a temporary file.
        """
        if isinstance(which, (int, np.integer)) and not isinstance(which, (bool, np.bool_)):
            place = int(which) + (self.n_queries if which < 0 else 0)
            if not 0 <= place < self.n_queries:
                raise IndexError(f"query {which} is out of range: there are {self.n_queries} queries.")
            return self._take_range(place, place + 1)
        if isinstance(which, slice):
            start, stop, step = which.indices(self.n_queries)
            if step == 1:
                return self._take_range(start, max(start, stop))
            return self._take(np.arange(start, stop, step))
        places = np.asarray(which)
        if places.dtype == bool:
            if places.shape != (self.n_queries,):
                raise IndexError(f"the mask has shape {places.shape}, but there are {self.n_queries} queries.")
            return self._take(np.flatnonzero(places))
        if places.size == 0:
            return self._take(np.zeros(0, dtype=np.int64))
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise TypeError(f"queries are selected by position, slice or mask, not by {which!r}. By id: subset([...]).")
        outside = (places >= self.n_queries) | (places < -self.n_queries)
        if outside.any():
            place = places[np.argmax(outside)]
            raise IndexError(f"query {place} is out of range: there are {self.n_queries} queries.")
        return self._take(places % self.n_queries)

    def subset(self, ids: Iterable[Hashable]) -> Queries:
        """Return the queries with these ids, in the order given."""
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"subset takes a list of ids; for one query: subset([{ids!r}]).")
        wanted = [plain(key) for key in ids]
        unknown = [key for key in wanted if key not in self._places]
        if unknown:
            raise KeyError(f"no query has the id {unknown[0]!r} ({len(unknown)} of {len(wanted)} ids are unknown).")
        return self._take(np.array([self._places[key] for key in wanted], dtype=np.int64))

    def _take_range(self, start: int, stop: int) -> Queries:
        if not self.is_grouped:
            return self.grouped._take_range(start, stop)
        rows = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return self._select(rows, self.ids[start:stop], self.indptr[start : stop + 1] - self.indptr[start])

    def _take(self, places: np.ndarray) -> Queries:
        if np.unique(places).size < places.size:
            raise ValueError("a query was selected twice; ids must stay unique.")
        if not self.is_grouped:
            return self.grouped._take(places)
        if is_mapped(self.X) and places.size and (np.diff(places) == 1).all():
            return self._take_range(int(places[0]), int(places[-1]) + 1)
        lengths = np.diff(self.indptr)[places]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.indptr[places] - indptr[:-1], lengths)
        rows += np.arange(indptr[-1])
        return self._select(rows, self.ids[places], indptr)

    @staticmethod
    def concat(parts: Sequence[Queries]) -> Queries:
        """Return all rows of ``parts``, one part after the other; no query id may occur in two parts.

        The parts must have the same columns; all or none of them must have labels, document names, comments and
        subtopics. Where their categories differ, the new names of later parts follow those of earlier ones.
        """
        parts = list(parts)
        if not parts:
            raise ValueError("concat needs at least one part.")
        first = parts[0]
        for number, part in enumerate(parts[1:], 1):
            if part.n_features != first.n_features:
                raise ValueError(f"part {number} has {part.n_features} features but part 0 has {first.n_features}.")
            if part.feature_names != first.feature_names:
                raise ValueError(f"part {number} names its features differently from part 0.")
            if set(part.categories or ()) != set(first.categories or ()):
                column = min(set(part.categories or ()) ^ set(first.categories or ()))
                which = feature_number(column, first.first_index, first.feature_names)
                raise ValueError(f"{which} holds categories in only one of parts 0 and {number}.")
            fields = {"y": "y", "docid": "document_ids", "comments": "comments", "subtopics": "subtopics"}
            for name, field in fields.items():
                if (getattr(part, field) is None) != (getattr(first, field) is None):
                    raise ValueError(f"either all parts or none must have {name}; parts 0 and {number} differ.")
        ids = _concat_ids([part.ids for part in parts])
        seen: dict = {}
        for key in ids.tolist():
            if seen.setdefault(key, True) is False:
                raise ValueError(f"query {key!r} occurs in more than one part.")
            seen[key] = False
        shifts = np.cumsum([0] + [part.n_docs for part in parts[:-1]])
        starts = [part._indptr[:-1] + shift for part, shift in zip(parts, shifts, strict=True)]
        is_grouped = all(part.is_grouped for part in parts)
        orders = [np.arange(part.n_docs) if part.is_grouped else part.row_order for part in parts]
        categories = first.categories
        rows = [part.X for part in parts]
        if categories is not None and not all(same_categories(part.categories, categories) for part in parts[1:]):
            categories = merge_categories([part.categories for part in parts])
            rows = [recode(part.X, part.categories or {}, categories or {}) for part in parts]
        return Queries.from_groups(
            stack_rows(rows),
            None if first.y is None else stack_rows([part.labels for part in parts]),
            ids,
            np.append(np.concatenate(starts), sum(part.n_docs for part in parts)).astype(np.int64),
            docid=_concat([part.document_ids for part in parts]),
            comments=_concat([part.comments for part in parts]),
            subtopics=None if first.subtopics is None else Subtopics.concat([part.subtopics for part in parts]),
            feature_names=first.feature_names,
            first_index=first.first_index if len({part.first_index for part in parts}) == 1 else None,
            categories=categories,
            row_order=None if is_grouped else np.concatenate([o + s for o, s in zip(orders, shifts, strict=True)]),
            is_grouped=is_grouped,
            has_estimated_labels=any(part.has_estimated_labels for part in parts),
        )

    def replace(self, **columns: Any) -> Queries:
        """Return these queries with other values of some columns: X, y, docid, comments, subtopics and so on.

        Rows keep their order. The caller has checked the values. New labels are not treated as estimates
        unless ``has_estimated_labels`` is passed.
        """
        names = ("X", "y", "ids", "comments", "subtopics", "feature_names", "first_index", "categories", "is_grouped")
        own = {name: getattr(self, name) for name in names}
        own |= {"docid": self.document_ids, "indptr": self._indptr, "row_order": self.row_order}
        own["has_estimated_labels"] = self.has_estimated_labels and "y" not in columns
        return Queries.from_groups(**own | columns)

    def in_groups(self, values: np.ndarray) -> np.ndarray:
        """Return ``values``, one per row of X, in the order of the rows of ``grouped``."""
        return values if self.is_grouped else values[self.row_order]

    def in_row_order(self, values: np.ndarray) -> np.ndarray:
        """Return ``values``, one per row of ``grouped``, in the order of the rows of X."""
        values = np.asarray(values)
        if values.shape[:1] != (self.n_docs,):
            raise ValueError(f"values has shape {values.shape} but there are {self.n_docs:,} rows.")
        if self.row_order is None:
            return values
        answer = np.empty_like(values)
        answer[self.row_order] = values
        return answer

    def pin_judged(self, scores: Any, labels: Any, *, relevant_from: float = 1.0) -> np.ndarray:
        """Return scores with documents judged relevant above all others of their query, and other judged ones below.

        A refiner learns from judgements to rank documents that were not judged, and may not move every judged document
        to the place of its label. Use this to show judged documents where their labels put them. Documents that were
        not judged keep their scores. Judged ones are ordered by their labels, then by their scores.

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
            Of a refiner (``scores_``), or of any ranker, in the order of the rows of X.
        labels : array-like of shape (n_docs,)
            As in ``fit`` of the refiner: NaN for documents that were not judged.
        relevant_from : float, default=1.0
            The smallest label that is relevant.

        Examples
        --------
        >>> import numpy as np
        >>> from plackett import Queries
        >>> Queries(np.zeros((4, 1)), qid=[7, 7, 7, 7]).pin_judged([0.7, 0.9, 0.2, 0.4], [np.nan, 0, 1, np.nan])
        array([ 0.7, -0.8,  1.9,  0.4])
        """
        relevant_from = check_number(relevant_from, "relevant_from")
        labels = check_labels(labels, self.n_docs, name="labels", allow_nan=True)
        answer = check_scores(scores, self.n_docs).astype(np.float64)
        for place in range(self.n_queries):
            own = self.rows_of(place)
            lowest, highest = answer[own].min(), answer[own].max()
            for is_moved, edge, sign in (
                (labels[own] >= relevant_from, highest, 1.0),  # a NaN is neither
                (labels[own] < relevant_from, lowest, -1.0),
            ):
                moved = own[is_moved]
                # places from 0 by label, then by score; equal in both have the same place
                pairs = np.column_stack([sign * labels[moved], sign * answer[moved]])
                places = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
                answer[moved] = edge + sign * max(1.0, 1e-9 * abs(edge)) * (1.0 + places)
        return answer

    def to_frame(self, backend: str = "pandas", *, label: str = "label", qid: str = "qid", docid: str = "docid") -> Any:
        """Return a data frame with one row per document: query id, document name, label, comment, then the features.

        ``from_frame`` converts it back. Sparse features become dense. Columns without a name are called
        ``"feature 21"`` by their number in the file, or ``"column 20"``. Comments of LETOR files are in the column
        ``letor_comment``. Codes of categories become categorical columns of their names.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            The library must be installed.
        label, qid, docid : str
            Names of these columns; labels and document names appear only if the queries have them.

        Examples
        --------
        >>> from plackett import Queries
        >>> Queries([[0.5], [0.25]], y=[1, 0], qid=[7, 7], feature_names=["bm25"]).to_frame()
           qid  label  bm25
        0    7    1.0  0.50
        1    7    0.0  0.25
        """
        return to_frame(self, backend, label=label, qid=qid, docid=docid)

    def describe(self, *, relevant_from: float = 1.0, with_findings: bool = True) -> Description:
        """Describe the data: sizes, labels, list lengths, duplicates, and findings.

        Findings are missing values, columns that look like ids, times or the label, columns that alone order documents
        almost perfectly, rows sorted by label, and what to do in each case.

        Parameters
        ----------
        relevant_from : float, default=1.0
            Smallest label that counts as relevant.
        with_findings : bool, default=True
        """
        with importing:
            from plackett.data.description.describe import describe

        return describe(self, relevant_from=relevant_from, with_findings=with_findings)

    def describe_columns(self) -> Table:
        """Return a table of the columns: what they hold, how much is missing, and how well each ranks alone.

        The last column is the share of pairs of documents with different labels that the column alone orders correctly,
        ascending or descending, on at most 500 queries; 0.5 is chance.
        """
        with importing:
            from plackett.data.description.describe import columns_table

        return columns_table(self)

    def __repr__(self) -> str:
        parts = [count_of(self.n_queries, "query", "queries"), count_of(self.n_docs, "document")]
        parts.append(count_of(self.n_features, "feature"))
        if self.y is None:
            parts.append("no labels")
        elif np.isfinite(self.y).any():
            parts.append(f"labels {np.nanmin(self.y):g}..{np.nanmax(self.y):g}")
        return f"Queries({', '.join(parts)})"

    def _repr_html_(self) -> str:
        with importing:
            from plackett.data.peek import queries_html

        return queries_html(self)


def as_rows(X: object, names: list[str] | None = None) -> np.ndarray:
    """Return X as a two-dimensional float array or CSR matrix; ``names`` of columns are for messages."""
    check_not_masked(X, "X")
    if is_sparse(X):
        rows = as_csr(X)
        if not rows.has_canonical_format:  # a value stored in parts, or columns out of order
            rows = rows.copy()
            rows.sum_duplicates()
    else:
        rows = np.asarray(X)
    if rows.ndim != 2:
        hint = " For a single column: X.reshape(-1, 1)." if rows.ndim == 1 else ""
        raise ValueError(
            f"X has shape {rows.shape}; it must have one row per document and one column per feature.{hint}"
        )
    if rows.dtype.kind == "f" and not rows.dtype.isnative:
        rows = rows.astype(rows.dtype.newbyteorder("="))
    if not is_sparse(rows):
        rows = np.require(rows, requirements="A")  # kernels need aligned rows
    if rows.dtype not in (np.float32, np.float64):
        if rows.dtype.kind in "US":
            rows = rows.astype(object)  # for an error that names the column
        if rows.dtype.kind not in "fiubO":
            raise ValueError(f"X has values of type {rows.dtype}; expected numbers.")
        rows = _as_floats(rows, names)
    return rows


def _as_floats(rows: np.ndarray, names: list[str] | None) -> np.ndarray:
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError):
        pass
    for column in range(rows.shape[1]):
        try:
            rows[:, column].astype(np.float64)
        except (TypeError, ValueError) as error:
            which = f"column {column}" if names is None else f'column {column} ("{names[column]}")'
            advice = "pass a data frame with text" if names is None else "convert it to numbers or to text"
            raise ValueError(
                f"{which} of X has values that are not numbers: {str(error).rstrip('.')}. Leave it out, or {advice}: "
                "text becomes categories."
            ) from None
    raise AssertionError("a table is numeric if all of its columns are")


def _writable(vector: np.ndarray) -> np.ndarray:
    """Return the vector, or a copy of a read-only one: PyTorch and many compiled libraries reject those."""
    return vector if vector.flags.writeable else np.array(vector)


def _as_docid(docid: object, n_docs: int) -> np.ndarray:
    check_not_masked(docid, "docid")
    names = np.asarray(docid)
    if names.shape != (n_docs,):
        raise ValueError(f"docid has shape {names.shape} but X has {n_docs:,} rows.")
    return names


def _as_comments(comments: Sequence[str], n_docs: int) -> TextColumn:
    column = comments if isinstance(comments, TextColumn) else TextColumn.from_strings(comments)
    if len(column) != n_docs:
        raise ValueError(f"comments has {len(column):,} texts but X has {n_docs:,} rows.")
    return column


def _check_names(names: Sequence[str] | None, n_features: int) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"feature_names is a single string, {names!r}; expected one name per column.")
    names = [str(name) for name in names]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names but X has {n_features} columns.")
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"feature_names has {twice!r} twice.")
    return names


def _slice_rows(X, rows: slice):
    if not is_sparse(X):
        return X[rows]
    start, stop = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
    part = type(X)((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # assigned one by one: the constructor would copy a small part of a larger array
    part.data, part.indices, part.indptr = (
        X.data[start:stop],
        X.indices[start:stop],
        X.indptr[rows.start : rows.stop + 1] - start,
    )
    return part


def _concat(columns: list) -> Any:
    """Return the names or comments of all parts, or None if they have none."""
    if columns[0] is None:
        return None
    if all(isinstance(column, TextColumn) for column in columns):
        return TextColumn.concat(columns)
    return np.concatenate([np.asarray(column) for column in columns])


def _concat_ids(parts: list[np.ndarray]) -> np.ndarray:
    kinds = {"i" if part.dtype.kind in "iu" else part.dtype.kind for part in parts if part.size}
    if len(kinds) <= 1:
        return np.concatenate(parts)
    return as_objects([key for part in parts for key in part.tolist()])  # numpy would turn 7 and "a" into text
