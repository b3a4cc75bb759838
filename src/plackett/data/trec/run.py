"""Rankings with scores: runs."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

import numpy as np

from plackett.data.grouping import ranked_rows
from plackett.data.peek import LISTS, lists_html
from plackett.data.queries import Queries
from plackett.data.trec.ids import RowsOfQueries, as_text_ids, check_length, grouped_rows, rows_of_dict
from plackett.validation import check_scores, count_of

DEFAULT_TAG = "plackett"


class Run(RowsOfQueries):
    """The results of a system: one row per retrieved document of a query. Ids are text, as in the files.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        Values that are not text are converted with ``str``.
    scores : array-like of shape (n_rows,)
        Higher is better. NaN is rejected.
    rank : array-like of int of shape (n_rows,), default=None
        The rank column of a run file. It is not used: scores decide, as in trec_eval. None numbers the documents of
        each query from 1 by descending score, equal scores in row order.
    tag : str, default=None
        Name of the system; None means ``"plackett"``.

    Examples
    --------
    >>> from plackett import Run
    >>> run = Run(["301", "301", "302"], ["d7", "d2", "d7"], [0.2, 0.9, 0.5])
    >>> run
    Run('plackett', 2 queries, 3 documents)
    >>> run.rank
    array([2, 1, 1])
    """

    _columns = ("qid", "docid", "scores", "rank", "tag")

    def __init__(self, qid: object, docid: object, scores: object, rank: object = None, tag: str | None = None):
        self._set_ids(qid, docid, "retrieves")
        self.scores = check_scores(scores).astype(np.float64, copy=False)
        check_length(self.scores, "scores", self.qid.size)
        self.tag = DEFAULT_TAG if tag is None else str(tag)
        ranks = self._ranks() if rank is None else np.asarray(rank)
        if ranks.dtype.kind not in "iu" and ranks.size:
            raise ValueError(f"rank has values of type {ranks.dtype}; whole numbers are needed.")
        self.rank = ranks.astype(np.int64)
        check_length(self.rank, "rank", self.qid.size)

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], tag: str | None = None) -> Run:
        """Return a run from ``{qid: {docid: score}}``, the form of pytrec_eval and ranx."""
        return cls(*rows_of_dict(scores), tag=tag)

    @classmethod
    def from_scores(cls, queries: Queries, scores: object, tag: str | None = None) -> Run:
        """Return the run of ``scores`` on ``queries``: documents by query and descending score.

        Equal scores are ordered by document id as text, descending, as trec_eval orders them; without ids by row.

        Parameters
        ----------
        queries : Queries
            Document names are ``queries.docid``, or the row numbers, from 0, if it is None.
        scores : array-like of shape (n_docs,)
            One per row of ``queries.X``, as ``ranker.predict(queries.X, qid=queries.qid)`` gives them.

        Examples
        --------
        >>> from plackett import Queries
        >>> queries = Queries([[1.0], [2.0]], qid=[7, 7], docid=["a", "b"])
        >>> Run.from_scores(queries, [0.1, 0.3]).docid
        array(['b', 'a'], dtype='<U1')
        """
        checked = check_scores(scores)
        if checked.size != queries.n_docs:
            raise ValueError(f"scores has {checked.size:,} values but the queries have {queries.n_docs:,} documents.")
        docid = np.arange(queries.n_docs) if queries.docid is None else queries.docid
        order = ranked_rows(queries.query_of_row, checked, queries.docid)
        query_of = queries.query_of_row[order]
        rank = np.arange(order.size) - np.searchsorted(query_of, query_of) + 1
        names = as_text_ids(queries.ids, "qid")
        if len(set(names.tolist())) < names.size:
            raise ValueError("two query ids are different but the same as text, such as 7 and '7'. Rename one of them.")
        return cls(names[query_of], as_text_ids(docid, "docid")[order], checked[order], rank, tag)

    def _ranks(self) -> np.ndarray:
        rows = grouped_rows(self.groups)
        lengths = np.diff(self.groups.indptr)
        by_score = rows[np.lexsort((-self.scores[rows], np.repeat(np.arange(lengths.size), lengths)))]
        rank = np.empty(self.qid.size, dtype=np.int64)
        rank[by_score] = np.arange(self.qid.size) - np.repeat(self.groups.indptr[:-1], lengths) + 1
        return rank

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{qid: {docid: score}}``, the form of pytrec_eval and ranx."""
        return self._by_query(self.scores)

    def __repr__(self) -> str:
        queries = count_of(self.groups.ids.size, "query", "queries")
        return f"Run({self.tag!r}, {queries}, {count_of(len(self), 'document')})"

    def _repr_html_(self) -> str:
        first = self.of_queries(self.groups.ids[:LISTS]).to_dict()
        return lists_html(
            repr(self), [(qid, sorted(found.items(), key=itemgetter(1), reverse=True)) for qid, found in first.items()]
        )
