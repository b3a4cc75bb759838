"""Judgements of documents: qrels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plackett.data.grouping import distinct_rows
from plackett.data.queries import Queries
from plackett.data.subtopics import Subtopics, as_subtopics
from plackett.data.trec.ids import RowsOfQueries, as_text_ids, check_length, rows_of_dict
from plackett.validation import check_labels, count_of


class Qrels(RowsOfQueries):
    """Judgements: one row per judged document of a query. Ids are text, as in the files.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        Values that are not text are converted with ``str``.
    labels : array-like of shape (n_rows,)
        Finite numbers, larger is better.
    iteration : array-like of shape (n_rows,), default=None
        The second column of a qrels file, which is not used, only kept for writing. None means ``"0"``.
    subtopics : array, scipy sparse matrix of shape (n_rows, n_subtopics), or Subtopics; default=None
        Labels by subtopic, which measures of diversity such as ``alpha-ndcg`` need. Files have a subtopic in the second
        column: see ``read_qrels``.

    Examples
    --------
    >>> from plackett import Qrels
    >>> qrels = Qrels(["301", "301", "302"], ["d7", "d2", "d7"], [1, 0, 2])
    >>> qrels
    Qrels(2 queries, 3 judgements, labels 0..2)
    >>> qrels.to_dict()
    {'301': {'d7': 1, 'd2': 0}, '302': {'d7': 2}}
    """

    _columns = ("qid", "docid", "labels", "iteration", "subtopics")

    def __init__(
        self, qid: object, docid: object, labels: object, iteration: object = None, *, subtopics: object = None
    ):
        self._set_ids(qid, docid, "judges")
        self.labels = check_labels(labels, name="labels")
        check_length(self.labels, "labels", self.qid.size)
        self.iteration = np.full(self.qid.size, "0") if iteration is None else as_text_ids(iteration, "iteration")
        check_length(self.iteration, "iteration", self.qid.size)
        self.subtopics = None if subtopics is None else as_subtopics(subtopics, self.qid.size)

    @classmethod
    def from_dict(cls, judgements: Mapping[str, Mapping[str, float]]) -> Qrels:
        """Return judgements from ``{qid: {docid: label}}``, the form of pytrec_eval and ranx."""
        return cls(*rows_of_dict(judgements))

    @classmethod
    def from_subtopics(cls, qid: object, subtopic: object, docid: object, labels: object) -> Qrels:
        """Return judgements from one row per query, subtopic and document; a document gets the largest of its labels.

        Examples
        --------
        >>> qrels = Qrels.from_subtopics([1, 1, 1], ["a", "b", "a"], ["d7", "d7", "d2"], [1, 2, 0])
        >>> qrels
        Qrels(1 query, 2 judgements, labels 0..2, 2 subtopics)
        >>> qrels.to_dict()
        {'1': {'d7': 2, 'd2': 0}}
        """
        queries, docs = as_text_ids(qid, "qid"), as_text_ids(docid, "docid")
        topics, values = as_text_ids(subtopic, "subtopic"), check_labels(labels, name="labels")
        for column, name in ((docs, "docid"), (topics, "subtopic"), (values, "labels")):
            check_length(column, name, queries.size)
        first, rows = distinct_rows(queries, docs)
        _, row_of_entry = distinct_rows(rows, topics)
        if (repeated := np.flatnonzero(np.bincount(row_of_entry) > 1)).size:
            earlier, later = np.flatnonzero(row_of_entry == repeated[0])[:2].tolist()
            raise ValueError(
                f"query {str(queries[later])!r} judges document {str(docs[later])!r} twice for subtopic "
                f"{str(topics[later])!r}: rows {earlier} and {later}."
            )
        best = np.full(first.size, -np.inf)
        np.maximum.at(best, rows, values)
        subtopics = Subtopics.of_entries(rows, topics, values, first.size)
        return cls._of_checked(queries[first], docs[first], best, np.full(first.size, "0"), subtopics)

    @classmethod
    def of_pool(cls, queries: Queries) -> Qrels:
        """Return the judgements of queries with document ids, such as those of `pool`; NaN (not judged) is kept."""
        qid, docid = as_text_ids(queries.qid, "qid"), as_text_ids(queries.docid, "docid")
        return cls._of_checked(qid, docid, queries.labels, np.full(qid.size, "0"), queries.subtopics)

    @property
    def judged(self) -> np.ndarray:
        """Whether each row is judged: a negative label means in the pool, but not judged, as in trec_eval."""
        return self.labels >= 0.0

    def rounded(self) -> Qrels:
        """Return the same judgements with labels rounded to the nearest whole number, halves down.

        The mean label of several judges can be a fraction, which qrels files cannot hold. An even split between
        relevant and not relevant (0.5) becomes not relevant; otherwise the majority decides.

        Examples
        --------
        >>> Qrels(["301"] * 3, ["d7", "d2", "d5"], [0.5, 2 / 3, 2.5]).rounded().labels
        array([0., 1., 2.])
        """
        return self._of_checked(self.qid, self.docid, np.ceil(self.labels - 0.5) + 0.0, self.iteration, self.subtopics)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{qid: {docid: label}}``; the labels are ints if all of them are whole, as pytrec_eval needs them."""
        is_whole = bool((self.labels == np.floor(self.labels)).all()) and bool((np.abs(self.labels) < 2**53).all())
        return self._by_query(self.labels.astype(np.int64) if is_whole else self.labels)

    def __repr__(self) -> str:
        parts = [count_of(self.groups.ids.size, "query", "queries"), count_of(len(self), "judgement")]
        if len(self):
            parts.append(f"labels {self.labels.min():g}..{self.labels.max():g}")
        if self.subtopics is not None:
            parts.append(count_of(self.subtopics.names.size, "subtopic"))
        return f"Qrels({', '.join(parts)})"
