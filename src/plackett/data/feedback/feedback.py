"""Feedback: judgements, clicks and explicit preferences as labels and pairs, with the noise of their source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plackett.data.feedback.clicks import CLICKED_ABOVE_SKIPPED, STRATEGIES, preferences_of_clicks
from plackett.data.grouping import distinct_rows
from plackett.data.queries import Queries
from plackett.data.trec.ids import as_text_ids
from plackett.validation import check_choice, check_labels, check_number, count_of

# twice the share of preferences that are wrong, as in the docstring of ``Feedback``; that of labels is the default of
# the refiners, whose documentation explains larger values
ETA = {
    "judgements": 0.02,
    "pairs": 0.2,
    "clicked-above-skipped": 0.4,
    "last-click-above-skipped": 0.35,
    "clicked-above-next": 0.6,
}
MAX_PAIRS = 10_000_000  # in memory


class Judgements(NamedTuple):
    """Judged documents: each (qid, docid, label) once, seen ``times`` times, from sources of noise ``eta``.

    Attributes
    ----------
    qid, docid, label, times, eta : ndarray of shape (n_judgements,)
        Ids of the query and the document, the label, how often it was given, and the η of its source.

    Examples
    --------
    >>> from plackett import Feedback
    >>> judged = Feedback.from_judgements([7, 7, 7], ["a", "b", "a"], [1, 0, 1]).judgements
    >>> judged.docid.tolist(), judged.times.tolist()
    (['a', 'b'], [2, 1])
    """

    qid: np.ndarray
    docid: np.ndarray
    label: np.ndarray
    times: np.ndarray
    eta: np.ndarray


class Preferences(NamedTuple):
    """Preferred documents: each (qid, better, worse) once, seen ``times`` times, from sources of noise ``eta``.

    Attributes
    ----------
    qid, better, worse, times, eta : ndarray of shape (n_preferences,)
        Ids of the query and the two documents, how often the preference was given, and the η of its source.

    Examples
    --------
    >>> from plackett import Feedback
    >>> preferred = Feedback.from_pairs([7, 7], ["a", "a"], ["b", "b"]).preferences
    >>> preferred.better.tolist(), preferred.times.tolist()
    (['a'], [2])
    """

    qid: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    times: np.ndarray
    eta: np.ndarray


class Feedback:
    """Judgements and preferences from any number of sources; ``+`` combines them.

    Created by ``from_judgements``, ``from_clicks``, ``from_pairs``, or read from a log by
    ``read_feedback``. Ids become text, as in TREC files. Repeated statements are merged and counted; contradictory ones
    are counted and kept.

    ``eta`` is the η of the refiners: a pair of the feedback is correct with probability ``1 - η/2``, so η is twice
    the share of wrong pairs. Each source has its own default:

    ========================================  =====  ==============================
    source                                    η      right, measured
    ========================================  =====  ==============================
    judgements                                0.02   by a careful judge
    pairs                                     0.2    89.5 %: two judges agree
    clicks, ``clicked-above-skipped``         0.4    80.8 %
    clicks, ``last-click-above-skipped``      0.35   83.1 %
    clicks, ``clicked-above-next``            0.6    about 70 %
    ========================================  =====  ==============================

    The percentages are those of ``joachims2005``, against explicit judgements of the results as shown.

    Parameters
    ----------
    judgements : Judgements
    preferences : Preferences
        Repeated statements are merged in both.

    Attributes
    ----------
    judgements : Judgements
        The judged documents, in order of first appearance.
    preferences : Preferences
        The preferred documents, in order of first appearance.
    n_duplicates : int
        Statements that repeated another one.
    n_contradictory : int
        Pairs of documents with preferences in both directions, or with a preference against the labels.
    n_disputed : int
        Documents that were judged with different labels; the mean of these labels is used.
    eta : float
        Mean over all pairs, including those implied by the labels; at least twice the share of preferences that must be
        wrong, because more preferences have the opposite direction.

    Examples
    --------
    >>> from plackett import Feedback, Queries
    >>> judged = Feedback.from_judgements(["q1", "q1"], ["a", "b"], [1, 0])
    >>> clicked = Feedback.from_clicks(["q1", "q1"], shown=[["c", "a", "b"], ["c", "b"]], clicked=[["a"], ["b"]])
    >>> judged + clicked
    Feedback(2 judgements, 2 preferences, 0 duplicates, 0 contradictory, eta=0.27)
    >>> rows = (judged + clicked).for_queries(Queries([[0.0]] * 3, qid=["q1"] * 3, docid=["a", "b", "c"]))
    >>> rows.y, rows.pairs.tolist()
    (array([ 1.,  0., nan]), [[0, 2], [1, 2]])
    """

    def __init__(self, judgements: Judgements, preferences: Preferences):
        self.judgements, self.preferences = _merged(judgements), _merged(preferences)

    @classmethod
    def empty(cls) -> Feedback:
        """Return feedback without any statements, to add to."""
        return cls.from_judgements([], [], [])

    @classmethod
    def from_judgements(cls, qid: Any, docid: Any, label: Any, *, eta: float | None = None) -> Feedback:
        """Return feedback from labels, larger is better; a document judged repeatedly has the mean of its labels.

        Parameters
        ----------
        qid, docid, label : array-like of shape (n_judgements,)
        eta : float in [0, 1], default=None
            Noise of this source; None means 0.02, the default of the refiners.
        """
        qid, docid = as_text_ids(qid, "qid"), as_text_ids(docid, "docid")
        labels = check_labels(label, name="label")
        _check_lengths(qid=qid, docid=docid, label=labels)
        return cls(
            Judgements(qid, docid, labels, *_once(qid.size, _eta(eta, "judgements"))), Preferences(*_nothing("U1"))
        )

    @classmethod
    def from_pairs(cls, qid: Any, better: Any, worse: Any, *, times: Any = None, eta: float | None = None) -> Feedback:
        """Return feedback from explicit preferences between two documents of a query.

        Parameters
        ----------
        qid, better, worse : array-like of shape (n_pairs,)
        times : array-like of int of shape (n_pairs,), default=None
            How often each was stated; None means once.
        eta : float in [0, 1], default=None
            Noise of this source; None means 0.2.
        """
        qid = as_text_ids(qid, "qid")
        better, worse = as_text_ids(better, "better"), as_text_ids(worse, "worse")
        once, etas = _once(qid.size, _eta(eta, "pairs"))
        times = once if times is None else _check_times(times)
        _check_lengths(qid=qid, better=better, worse=worse, times=times)
        for row in np.flatnonzero(np.asarray(better == worse))[:1]:
            raise ValueError(
                f"row {row} prefers document {str(better[row])!r} of query {str(qid[row])!r} to itself; "
                "a pair has two documents."
            )
        return cls(Judgements(*_nothing("f8")), Preferences(qid, better, worse, times, etas))

    @classmethod
    def from_clicks(
        cls,
        qid: Any,
        shown: Iterable[Sequence],
        clicked: Iterable[Sequence],
        *,
        strategy: str = CLICKED_ABOVE_SKIPPED,
        eta: float | None = None,
    ) -> Feedback:
        """Return the preferences implied by clicks: results above a clicked one were seen and not clicked.

        Parameters
        ----------
        qid : array-like of shape (n_lists,)
            The query of each list of results that was shown.
        shown : list of lists of document ids
            Each list from the top down; no document twice.
        clicked : list of lists of document ids
            The documents clicked in each list, in chronological order; repeated clicks count once.
        strategy : {"clicked-above-skipped", "last-click-above-skipped", "clicked-above-next"}
            "clicked-above-skipped" prefers each clicked document to all documents above it that were not clicked.
            "last-click-above-skipped" does so only for the document clicked last. "clicked-above-next" prefers each
            clicked document to the one below it, if that one was not clicked. To combine strategies, add them:
            ``from_clicks(...) + from_clicks(..., strategy="clicked-above-next")``.
        eta : float in [0, 1], default=None
            Noise of this source; None means that of the strategy: 0.4, 0.35 or 0.6.

        Examples
        --------
        >>> found = Feedback.from_clicks(["q"], shown=[["a", "b", "c", "d"]], clicked=[["d", "b"]]).preferences
        >>> [f"{better} > {worse}" for better, worse in zip(found.better, found.worse)]
        ['b > a', 'd > a', 'd > c']
        """
        check_choice(strategy, "strategy", STRATEGIES)
        noise = _eta(eta, strategy)
        queries, better, worse = preferences_of_clicks(qid, shown, clicked, strategy, MAX_PAIRS)
        return cls(Judgements(*_nothing("f8")), Preferences(queries, better, worse, *_once(queries.size, noise)))

    def __add__(self, other: object) -> Feedback:
        if not isinstance(other, Feedback):
            return NotImplemented
        return Feedback(
            Judgements(*map(_concat, self.judgements, other.judgements)),
            Preferences(*map(_concat, self.preferences, other.preferences)),
        )

    @property
    def n_duplicates(self) -> int:
        return sum(int(part.times.sum()) - part.times.size for part in (self.judgements, self.preferences))

    @property
    def n_disputed(self) -> int:
        return int((np.bincount(self._documents.judged) > 1).sum())  # each label of a document is one judgement

    @property
    def n_contradictory(self) -> int:
        documents = self._documents
        labels = self._labels[0]
        is_against = labels[documents.better] < labels[documents.worse]  # NaN, not judged, contradicts nothing
        return np.unique(self._unordered[is_against | (self._opposite_times > 0)]).size

    @cached_property
    def eta(self) -> float:
        times, etas = self.preferences.times, self.preferences.eta
        n_implied, implied_eta = self._implied_pairs()
        n_pairs = n_implied + times.sum()
        if n_pairs == 0:  # equal labels imply no pairs, but have a source
            return float(self.judgements.eta.mean()) if self.judgements.eta.size else ETA["judgements"]
        mean = (n_implied * implied_eta + times @ etas) / n_pairs
        n_wrong = np.minimum(times, self._opposite_times).sum() / 2  # counted once in each direction
        return float(max(mean, 2 * n_wrong / max(times.sum(), 1)))

    def for_queries(self, queries: Queries) -> FeedbackRows:
        """Return labels and pairs by row number, for a refiner with ``queries.X`` and ``qid=queries.qid``.

        Queries and documents are found by their ids as text; documents without ids (``queries.docid`` is None) are
        identified by row numbers, from 0. Feedback on other documents is counted and ignored.
        """
        documents, labels = self._documents, self._labels[0]
        rows = _rows_of(documents, queries)
        is_judged, is_known = ~np.isnan(labels), rows >= 0
        y = np.full(queries.n_docs, np.nan)
        y[rows[is_judged & is_known]] = labels[is_judged & is_known]
        pairs = rows[np.column_stack([documents.better, documents.worse])]
        is_pair = (pairs >= 0).all(axis=1)
        return FeedbackRows(
            y=y,
            pairs=pairs[is_pair],
            times=self.preferences.times[is_pair],
            eta=self.eta,
            n_unmatched=int((is_judged & ~is_known).sum() + (~is_pair).sum()),
            query_of_row=queries.query_of_row,
        )

    @cached_property
    def _documents(self) -> _Documents:
        judgements, preferences = self.judgements, self.preferences
        qid = _concat(judgements.qid, preferences.qid, preferences.qid)
        docid = _concat(judgements.docid, preferences.better, preferences.worse)
        first, number = distinct_rows(qid, docid)
        n_judged, n_pairs = judgements.qid.size, preferences.qid.size
        return _Documents(qid[first], docid[first], *np.split(number, [n_judged, n_judged + n_pairs]))

    @cached_property
    def _labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean label and noise of each document, NaN if it was not judged."""
        judged, times, n_documents = self._documents.judged, self.judgements.times, self._documents.qid.size
        weight = np.bincount(judged, weights=times, minlength=n_documents)
        means = []
        for values in (self.judgements.label, self.judgements.eta):
            # sums of integers are exact, so equal means compare equal; a repeated label is its own mean
            order = np.lexsort((values, judged))
            own, value = judged[order], values[order]
            total = np.bincount(own, weights=times[order] * value, minlength=n_documents)
            least, most = np.full(n_documents, np.nan), np.full(n_documents, np.nan)
            least[own[::-1]], most[own] = value[::-1], value
            mean = np.divide(total, weight, out=np.full(n_documents, np.nan), where=weight > 0)
            means.append(np.where(least == most, least, mean))
        return means[0], means[1]

    @cached_property
    def _unordered(self) -> np.ndarray:
        """A number for each preference; opposite preferences share one."""
        better, worse = self._documents.better, self._documents.worse
        return distinct_rows(np.minimum(better, worse), np.maximum(better, worse))[1]

    @cached_property
    def _opposite_times(self) -> np.ndarray:
        """How often the opposite of each preference was seen."""
        both = np.bincount(self._unordered, weights=self.preferences.times)
        return both[self._unordered].astype(np.int64) - self.preferences.times

    def _implied_pairs(self) -> tuple[int, float]:
        """Number of pairs implied by the labels, and their mean noise."""
        judged = np.unique(self._documents.judged)
        if not judged.size:
            return 0, 0.0
        labels, etas = (values[judged] for values in self._labels)
        _, query = distinct_rows(self._documents.qid[judged])
        n = np.bincount(query).astype(np.float64)
        levels, n_level = np.unique(np.column_stack([query, labels]), axis=0, return_counts=True)
        same = np.bincount(levels[:, 0].astype(np.int64), weights=n_level.astype(np.float64) ** 2, minlength=n.size)
        n_pairs = (n**2 - same) / 2
        total = n_pairs.sum()
        eta = (n_pairs @ (np.bincount(query, weights=etas) / n)) / total if total else 0.0
        return int(total), float(eta)

    def __repr__(self) -> str:
        parts = [
            count_of(self.judgements.qid.size, "judgement"),
            count_of(self.preferences.qid.size, "preference"),
            count_of(self.n_duplicates, "duplicate"),
            f"{self.n_contradictory:,} contradictory",
        ]
        return f"Feedback({', '.join(parts)}, eta={self.eta:.2g})"


class FeedbackRows(NamedTuple):
    """Feedback on the rows of a ``Queries``.

    Attributes
    ----------
    y : ndarray of shape (n_docs,)
        Labels; NaN for documents that were not judged.
    pairs : ndarray of int of shape (n_pairs, 2)
        Rows (i, j) of preferences: i is better than j. Without the pairs implied by the labels.
    times : ndarray of int of shape (n_pairs,)
        How often each was seen. Refiners count a pair once: η, not the count, expresses how reliable it is.
        ``pairs[times > 1]`` are those that were seen more than once.
    eta : float
        The ``eta`` of the feedback.
    n_unmatched : int
        Judged documents and preferences that are not in the queries.
    query_of_row : ndarray of int of shape (n_docs,)
        The number of the query of each row.

    Examples
    --------
    >>> from plackett import Feedback, Queries
    >>> feedback = Feedback.from_pairs(["q1"], ["a"], ["b"])
    >>> rows = feedback.for_queries(Queries([[0.0]] * 3, qid=["q1"] * 3, docid=["c", "b", "a"]))
    >>> rows.pairs, rows.n_unmatched
    (array([[2, 1]]), 0)
    """

    y: np.ndarray
    pairs: np.ndarray
    times: np.ndarray
    eta: float
    n_unmatched: int
    query_of_row: np.ndarray

    def as_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all pairs, including those implied by labels, and how often each was seen.

        Sorted by row numbers.
        """
        parts = [self.pairs]
        judged = np.flatnonzero(~np.isnan(self.y))
        judged = judged[np.argsort(self.query_of_row[judged], kind="stable")]
        bounds = np.append(np.flatnonzero(np.diff(self.query_of_row[judged], prepend=-1)), judged.size)
        if (np.diff(bounds).astype(np.float64) ** 2).sum() / 2 > MAX_PAIRS:
            raise ValueError(
                f"{count_of(judged.size, 'label')} imply more than {MAX_PAIRS:,} pairs. Use y, which is equivalent."
            )
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = judged[first:last]
            better, worse = np.nonzero(self.y[rows][:, None] > self.y[rows])
            parts.append(np.column_stack([rows[better], rows[worse]]))
        said = np.concatenate([self.times, np.ones(sum(map(len, parts)) - self.times.size, dtype=np.int64)])
        pairs, places = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        times = np.bincount(places.reshape(-1), weights=said, minlength=len(pairs)).astype(np.int64)
        return pairs.reshape(-1, 2), times


class _Documents(NamedTuple):
    """Each document of each query once, and the numbers of the judged ones and of both sides of each preference."""

    qid: np.ndarray
    docid: np.ndarray
    judged: np.ndarray
    better: np.ndarray
    worse: np.ndarray


def _rows_of(documents: _Documents, queries: Queries) -> np.ndarray:
    """Return the row of each document, found by the ids as text; -1 if it has no row."""
    names = as_text_ids(queries.ids, "qid")
    if len(set(names.tolist())) < names.size:
        raise ValueError("two query ids are different but the same as text, such as 7 and '7'. Rename one of them.")
    docid = as_text_ids(np.arange(queries.n_docs) if queries.docid is None else queries.docid, "docid")
    known = set(documents.qid.tolist())
    own = np.flatnonzero(np.array([name in known for name in names.tolist()], dtype=bool)[queries.query_of_row])
    qid = _concat(documents.qid, names[queries.query_of_row[own]])
    _, number = distinct_rows(qid, _concat(documents.docid, docid[own]))
    number = number[documents.qid.size :]  # of each row; a document of the feedback has its place as number
    rows = np.full(qid.size, -1)
    rows[number[::-1]] = own[::-1]
    for place in np.flatnonzero(np.bincount(number)[: documents.qid.size] > 1)[:1]:
        first, second = own[number == place][:2]
        raise ValueError(
            f"query {str(documents.qid[place])!r} has document {str(documents.docid[place])!r} twice, in rows {first} "
            f"and {second}; feedback on it is ambiguous. Drop one of them."
        )
    return rows[: documents.qid.size]


def _eta(eta: float | None, source: str) -> float:
    if eta is None:
        return ETA[source]
    if check_number(eta, "eta", least=0) > 1:
        raise ValueError(f"eta={eta!r}; it must be at most 1: twice the share of wrong preferences.")
    return float(eta)


def _check_times(times: Any) -> np.ndarray:
    values = check_labels(times, name="times")
    bad = (values < 1) | (values != np.floor(values)) | (values > 2**31)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"times is {values[row]:g} in row {row}; a whole number of at least 1 is needed.")
    return values.astype(np.int64)


def _check_lengths(**columns: np.ndarray) -> None:
    sizes = {name: column.size for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        raise ValueError(f"the columns have different lengths: {found}.")


def _once(n: int, eta: float) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(n, dtype=np.int64), np.full(n, eta)


def _nothing(third: str) -> list[np.ndarray]:
    """Return the columns of no statement, the third one of this dtype."""
    return [*(np.zeros(0, dtype) for dtype in ("U1", "U1", third)), *_once(0, 0.0)]


def _concat(*columns: np.ndarray) -> np.ndarray:
    if any(column.dtype.kind == "O" for column in columns):  # numpy would pad all texts to the longest one
        columns = tuple(column.astype(object) for column in columns)
    return np.concatenate(columns)


def _merged(statements: Any) -> Any:
    """Return each statement once, in order of first appearance; times are summed, noise is averaged."""
    *keys, times, eta = statements
    first, codes = distinct_rows(*keys)
    total = np.bincount(codes, weights=times).astype(np.int64)
    base = eta[first]  # relative to the first, so that the mean of equal values is exact
    mean = base + np.bincount(codes, weights=times * (eta - base[codes])) / np.maximum(total, 1)
    return type(statements)(*(key[first] for key in keys), total, mean)
