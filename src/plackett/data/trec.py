"""Judgements and runs in the formats of TREC, and their combination for evaluation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np

from plackett.data.grouping import Groups, group_rows, is_missing, ranked_rows
from plackett.data.queries import Queries
from plackett.data.subtopics import Subtopics, as_subtopics
from plackett.data.text_table import MAX_WIDTH, UTF8_MARK, Words, as_numbers, as_text, collect, read_words
from plackett.exceptions import DataFormatError, DataWarning, warn
from plackett.storage.opening import name_of, open_bytes, write_bytes
from plackett.validation import check_labels, check_scores, count_of, plain

QRELS_LINE = "qid iteration docid label"
RUN_LINE = "qid Q0 docid rank score tag"
BEIR_LINE = "query-id corpus-id score"
DEFAULT_TAG = "plackett"
ROWS_PER_WRITE = 1 << 16
LARGEST_LABEL = 2**31 - 1  # that other tools read as the same number

_BLANK = re.compile(r"[ \t\r\n\v\f\0]")


class Qrels:
    """Judgements: one row per judged document of a query. Ids are text, as in the files.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        Anything that is not text becomes text by ``str``.
    labels : array-like of shape (n_rows,)
        Finite numbers, larger is better.
    iteration : array-like of shape (n_rows,), default=None
        The second column of a qrels file, which nothing reads; kept for writing. None means ``"0"``.
    subtopics : array, scipy sparse matrix of shape (n_rows, n_subtopics), or Subtopics; default=None
        Labels by subtopic, which measures of diversity such as ``alpha-ndcg`` need. Files have a subtopic in the second
        column: see ``read_qrels``.

    Examples
    --------
    >>> qrels = Qrels(["301", "301", "302"], ["d7", "d2", "d7"], [1, 0, 2])
    >>> qrels
    Qrels(2 queries, 3 judgements, labels 0..2)
    >>> qrels.to_dict()
    {'301': {'d7': 1, 'd2': 0}, '302': {'d7': 2}}
    """

    def __init__(
        self, qid: object, docid: object, labels: object, iteration: object = None, *, subtopics: object = None
    ):
        self.qid, self.docid = _check_ids(qid, docid)
        self.labels = check_labels(labels, name="labels")
        _check_length(self.labels, "labels", self.qid.size)
        self.iteration = np.full(self.qid.size, "0") if iteration is None else as_text_ids(iteration, "iteration")
        _check_length(self.iteration, "iteration", self.qid.size)
        self.subtopics = None if subtopics is None else as_subtopics(subtopics, self.qid.size)
        _check_repeats(self.groups, self.docid, "judges")

    @classmethod
    def from_dict(cls, judgements: Mapping[str, Mapping[str, float]]) -> Qrels:
        """Return judgements from ``{qid: {docid: label}}``, the form of pytrec_eval and ranx."""
        return cls(*_rows_of_dict(judgements))

    @classmethod
    def _of_checked(cls, qid, docid, labels, iteration, subtopics=None) -> Qrels:
        qrels = cls.__new__(cls)
        qrels.qid, qrels.docid, qrels.labels, qrels.iteration = qid, docid, labels, iteration
        qrels.subtopics = subtopics
        return qrels

    @classmethod
    def from_subtopics(cls, qid: object, subtopic: object, docid: object, labels: object) -> Qrels:
        """Return judgements of one row per query, subtopic and document; a document has its largest label as a whole.

        Examples
        --------
        >>> qrels = Qrels.from_subtopics([1, 1, 1], ["a", "b", "a"], ["d7", "d7", "d2"], [1, 2, 0])
        >>> qrels
        Qrels(1 query, 2 judgements, labels 0..2, 2 subtopics)
        >>> qrels.to_dict()
        {'1': {'d7': 2, 'd2': 0}}
        """
        queries, docs = _check_ids(qid, docid)
        topics, values = as_text_ids(subtopic, "subtopic"), check_labels(labels, name="labels")
        for column, name in ((topics, "subtopic"), (values, "labels")):
            _check_length(column, name, queries.size)
        first, rows = _distinct_rows(queries, docs)
        _, row_of_entry = _distinct_rows(rows, topics)
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
        """Return the judgements of queries with document ids, such as those of `pool`; NaN stays: not judged."""
        qid, docid = as_text_ids(queries.qid, "qid"), as_text_ids(queries.docid, "docid")
        return cls._of_checked(qid, docid, queries.labels, np.full(qid.size, "0"), queries.subtopics)

    @cached_property
    def groups(self) -> Groups:
        """The rows by query, queries in order of first appearance."""
        return group_rows(self.qid, self.qid.size)

    @property
    def judged(self) -> np.ndarray:
        """Whether each row is judged: a negative label means in the pool, but not judged, as in trec_eval."""
        return self.labels >= 0.0

    def rounded(self) -> Qrels:
        """Return the same judgements with labels rounded to the nearest whole number, halves down.

        The mean label of several judges can be a fraction, which qrels files cannot hold. Of an even split between
        relevant and not relevant (0.5) nothing becomes relevant; a majority decides.

        Examples
        --------
        >>> Qrels(["301"] * 3, ["d7", "d2", "d5"], [0.5, 2 / 3, 2.5]).rounded().labels
        array([0., 1., 2.])
        """
        return self._of_checked(self.qid, self.docid, np.ceil(self.labels - 0.5) + 0.0, self.iteration, self.subtopics)

    def of_queries(self, ids: Sequence[str] | np.ndarray) -> Qrels:
        """Return the judgements of these queries, in the same order."""
        rows = np.isin(self.qid, ids)
        subtopics = None if self.subtopics is None else self.subtopics[rows]
        return self._of_checked(self.qid[rows], self.docid[rows], self.labels[rows], self.iteration[rows], subtopics)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{qid: {docid: label}}``; the labels are ints if all of them are whole, as pytrec_eval needs them."""
        is_whole = bool((self.labels == np.floor(self.labels)).all()) and bool((np.abs(self.labels) < 2**53).all())
        return _dict_of_rows(self.groups, self.docid, self.labels.astype(np.int64) if is_whole else self.labels)

    def __len__(self) -> int:
        return self.qid.size

    def __repr__(self) -> str:
        parts = [count_of(self.groups.ids.size, "query", "queries"), count_of(len(self), "judgement")]
        if len(self):
            parts.append(f"labels {self.labels.min():g}..{self.labels.max():g}")
        if self.subtopics is not None:
            parts.append(count_of(self.subtopics.names.size, "subtopic"))
        return f"Qrels({', '.join(parts)})"


class Run:
    """The results of a system: one row per retrieved document of a query. Ids are text, as in the files.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        Anything that is not text becomes text by ``str``.
    scores : array-like of shape (n_rows,)
        Higher is better. NaN is rejected.
    rank : array-like of int of shape (n_rows,), default=None
        The rank column of a run file. Nothing here reads it: scores decide, as in trec_eval. None numbers the documents
        of each query from 1 by falling score, equal scores in row order.
    tag : str, default=None
        Name of the system; None means ``"plackett"``.

    Examples
    --------
    >>> run = Run(["301", "301", "302"], ["d7", "d2", "d7"], [0.2, 0.9, 0.5])
    >>> run
    Run('plackett', 2 queries, 3 documents)
    >>> run.rank
    array([2, 1, 1])
    """

    def __init__(self, qid: object, docid: object, scores: object, rank: object = None, tag: str | None = None):
        self.qid, self.docid = _check_ids(qid, docid)
        self.scores = check_scores(scores).astype(np.float64, copy=False)
        _check_length(self.scores, "scores", self.qid.size)
        self.tag = DEFAULT_TAG if tag is None else str(tag)
        _check_repeats(self.groups, self.docid, "retrieves")
        self.rank = self._ranks() if rank is None else _as_ranks(rank)
        _check_length(self.rank, "rank", self.qid.size)

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], tag: str | None = None) -> Run:
        """Return a run from ``{qid: {docid: score}}``, the form of pytrec_eval and ranx."""
        return cls(*_rows_of_dict(scores), tag=tag)

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

    @classmethod
    def _of_checked(cls, qid, docid, scores, rank, tag) -> Run:
        run = cls.__new__(cls)
        run.qid, run.docid, run.scores, run.rank, run.tag = qid, docid, scores, rank, tag
        return run

    @cached_property
    def groups(self) -> Groups:
        """The rows by query, queries in order of first appearance."""
        return group_rows(self.qid, self.qid.size)

    def _ranks(self) -> np.ndarray:
        rows = _grouped_rows(self.groups)
        lengths = np.diff(self.groups.indptr)
        by_score = rows[np.lexsort((-self.scores[rows], np.repeat(np.arange(lengths.size), lengths)))]
        rank = np.empty(self.qid.size, dtype=np.int64)
        rank[by_score] = np.arange(self.qid.size) - np.repeat(self.groups.indptr[:-1], lengths) + 1
        return rank

    def of_queries(self, ids: Sequence[str] | np.ndarray) -> Run:
        """Return the results for these queries, in the same order."""
        rows = np.isin(self.qid, ids)
        return self._of_checked(self.qid[rows], self.docid[rows], self.scores[rows], self.rank[rows], self.tag)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{qid: {docid: score}}``, the form of pytrec_eval and ranx."""
        return _dict_of_rows(self.groups, self.docid, self.scores)

    def __len__(self) -> int:
        return self.qid.size

    def __repr__(self) -> str:
        queries = count_of(self.groups.ids.size, "query", "queries")
        return f"Run({self.tag!r}, {queries}, {count_of(len(self), 'document')})"


def read_qrels(source: str | os.PathLike | IO, *, subtopics: bool = False) -> Qrels:
    r"""Read judgements from a TREC qrels file: ``qid iteration docid label`` between blanks or tabs.

    Blank lines and lines that begin with ``#`` are skipped. A file that begins with the header
    ``query-id corpus-id score`` is read as BEIR's three columns. A document that is judged twice for a query is an
    error, even with equal labels, as in trec_eval.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).
    subtopics : bool, default=False
        Whether the second column is a subtopic, as in the files of TREC's diversity tasks, in which a document may be
        judged once for each subtopic. Measures of diversity need it. As a whole, a document has its largest label.

    Returns
    -------
    Qrels
        Rows in the order of the file; with subtopics, documents in the order in which they first occur.

    Examples
    --------
    >>> import io
    >>> read_qrels(io.StringIO("301 0 FT941-7 1\n301 0 FT943-2 0\n")).labels
    array([1., 0.])
    >>> read_qrels(io.StringIO("301 1 FT941-7 1\n301 2 FT941-7 0\n"), subtopics=True)
    Qrels(1 query, 1 judgement, labels 1..1, 2 subtopics)
    """
    name = name_of(source)
    with open_bytes(source) as file:
        first = file.readline()
        is_beir = first.removeprefix(UTF8_MARK).split() == BEIR_LINE.encode().split()
        if is_beir:
            blocks = read_words(file, 3, name=name, expected=BEIR_LINE, n_lines_before=1)
        else:
            blocks = read_words(file, 4, name=name, expected=QRELS_LINE, head=first)
        lines, (qid, docid, *numbers) = collect(blocks, (0, 1, 2) if is_beir else (0, 2, 3, 1))
    labels = as_numbers(numbers[0], np.float64, lines, name=name, what="label")
    _refuse(~np.isfinite(labels), numbers[0], lines, name, "a finite number as label")
    if subtopics:
        if is_beir:
            raise ValueError(f"{name} is a BEIR file, which has no column of subtopics.")
        ids = as_text(numbers[1])
        if labels.size and (ids == "0").all():
            warn(
                f"{name}: the second column is 0 in all rows, as in files without subtopics. All judgements count as "
                "one subtopic.",
                DataWarning,
            )
        try:
            return Qrels.from_subtopics(as_text(qid), ids, as_text(docid), labels)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    hint = "" if is_beir else " If the second column is a subtopic, read the file with subtopics=True."
    _check_repeats_in_file(qid, docid, lines, name, "judged", hint)
    iteration = np.full(labels.size, "0") if is_beir else as_text(numbers[1])
    return Qrels._of_checked(as_text(qid), as_text(docid), labels, iteration)


def read_trec_run(source: str | os.PathLike | IO) -> Run:
    r"""Read a run from a TREC run file: ``qid Q0 docid rank score tag`` between blanks or tabs.

    As in trec_eval, blank lines and lines that begin with ``#`` are skipped, text after the tag is ignored, the tag of
    the last line is that of the run, and a document that is retrieved twice for a query is an error.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).

    Returns
    -------
    Run
        Rows in the order of the file.

    Examples
    --------
    >>> import io
    >>> read_trec_run(io.StringIO("301 Q0 FT941-7 1 2.5 bm25\n301 Q0 FT943-2 2 1.75 bm25\n"))
    Run('bm25', 1 query, 2 documents)
    """
    name = name_of(source)
    tag: list[str] = []

    def noting_the_tag(blocks: Iterator[Words]) -> Iterator[Words]:
        for words in blocks:
            if words.lines.size:
                tag[:] = [words.text[words.starts[-1, 5] : words.stops[-1, 5]].decode("utf-8", "surrogateescape")]
            yield words

    with open_bytes(source) as file:
        blocks = read_words(file, 6, name=name, expected=RUN_LINE, more=True)
        lines, (qid, docid, rank_words, score_words) = collect(noting_the_tag(blocks), (0, 2, 3, 4))
    rank = as_numbers(rank_words, np.int64, lines, name=name, what="rank")
    scores = as_numbers(score_words, np.float64, lines, name=name, what="score")
    _refuse(np.isnan(scores), score_words, lines, name, "a number as score")
    _check_repeats_in_file(qid, docid, lines, name, "retrieved")
    return Run._of_checked(as_text(qid), as_text(docid), scores, rank, tag[0] if tag else DEFAULT_TAG)


def write_qrels(qrels: Qrels, target: str | os.PathLike | IO) -> None:
    """Write judgements as ``qid iteration docid label``, rows in their order; subtopics as the second column.

    A path is replaced only when everything was written; names that end in .gz, .xz, .bz2 or .zst are compressed.

    Parameters
    ----------
    qrels : Qrels
    target : path, ``"-"`` for standard output, or file object

    Raises
    ------
    ValueError
        If a label is not a whole number: trec_eval and other tools reject or truncate it. Use ``qrels.rounded()``.

    Examples
    --------
    >>> import sys
    >>> write_qrels(Qrels(["301", "301"], ["d7", "d2"], [1, 0]), sys.stdout)
    301 0 d7 1
    301 0 d2 0
    """
    if qrels.subtopics is not None:  # one row for each of them
        qrels = _rows_of_subtopics(qrels, qrels.subtopics)
    _check_writable(qrels.qid, qrels.docid, iteration=qrels.iteration)
    for row in np.flatnonzero((qrels.labels != np.floor(qrels.labels)) | (np.abs(qrels.labels) > LARGEST_LABEL))[:1]:
        raise ValueError(
            f"document {str(qrels.docid[row])!r} of query {str(qrels.qid[row])!r} has the label {qrels.labels[row]:g}; "
            f"qrels hold whole numbers up to {LARGEST_LABEL:,}. Write qrels.rounded(), or change the labels."
        )
    labels = qrels.labels.astype(np.int64).tolist()
    rows = zip(qrels.qid.tolist(), qrels.iteration.tolist(), qrels.docid.tolist(), labels, strict=True)
    _write_lines((f"{qid} {iteration} {docid} {label}\n" for qid, iteration, docid, label in rows), target)


def write_trec_run(run: Run, target: str | os.PathLike | IO, *, tag: str | None = None) -> None:
    """Write a run as ``qid Q0 docid rank score tag``, rows in their order; scores read back as the same float64.

    A path is replaced only when everything was written; names that end in .gz, .xz, .bz2 or .zst are compressed.

    Parameters
    ----------
    run : Run
        ``Run.from_scores(queries, scores)`` makes one of the scores of a ranker.
    target : path, ``"-"`` for standard output, or file object
    tag : str, default=None
        Name of the system; None means ``run.tag``.

    Examples
    --------
    >>> import sys
    >>> write_trec_run(Run(["301", "301"], ["d7", "d2"], [0.9, 0.25]), sys.stdout, tag="bm25")
    301 Q0 d7 1 0.9 bm25
    301 Q0 d2 2 0.25 bm25
    """
    if not isinstance(run, Run):
        raise TypeError(f"write_trec_run needs a Run, not {type(run).__name__}. Use Run.from_scores(queries, scores).")
    tag = run.tag if tag is None else str(tag)
    _check_writable(run.qid, run.docid, tag=np.array([tag]))
    rows = zip(run.qid.tolist(), run.docid.tolist(), run.rank.tolist(), run.scores.tolist(), strict=True)
    _write_lines((f"{qid} Q0 {docid} {rank} {score!r} {tag}\n" for qid, docid, rank, score in rows), target)


class Judged(NamedTuple):
    """A run with its judgements, query by query, for an evaluation.

    Query ``q`` owns rows ``indptr[q]:indptr[q + 1]``; the first ``n_retrieved[q]`` of them were retrieved, in the order
    of the run; the others are judged documents that the run lacks, in the order of the qrels.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        The queries of the qrels, in their order.
    indptr : ndarray of shape (n_queries + 1,)
    labels : ndarray of shape (n_rows,)
        0 for a document that was not judged.
    scores : ndarray of shape (n_rows,)
        0 for a document that was not retrieved.
    docid : ndarray of shape (n_rows,)
    is_judged : ndarray of bool of shape (n_rows,)
        Whether the document is in the qrels, with any label.
    n_retrieved : ndarray of shape (n_queries,)
        0 for a query that the run does not answer.
    n_ignored_queries : int
        Queries of the run that have no judgements.
    subtopics : Subtopics or None
        Those of the rows, if the qrels have them; a document that was not judged has none.
    """

    ids: np.ndarray
    indptr: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    docid: np.ndarray
    is_judged: np.ndarray
    n_retrieved: np.ndarray
    n_ignored_queries: int
    subtopics: Subtopics | None


def join(qrels: Qrels, run: Run) -> Judged:
    """Return, for every query of the qrels, its retrieved documents, then the judged ones that the run lacks.

    Examples
    --------
    >>> judged = join(Qrels([1, 1], ["a", "b"], [1, 2]), Run([1, 1, 2], ["c", "b", "a"], [0.9, 0.4, 0.1]))
    >>> judged.docid, judged.labels, judged.n_retrieved, judged.n_ignored_queries
    (array(['c', 'b', 'a'], dtype='<U1'), array([0., 2., 1.]), array([2]), 1)
    """
    run_rows, qrels_rows, n_retrieved, lengths = _pair_rows(qrels, run)
    is_retrieved, is_listed = run_rows >= 0, qrels_rows >= 0
    labels, scores = np.zeros(run_rows.size), np.zeros(run_rows.size)
    labels[is_listed] = qrels.labels[qrels_rows[is_listed]]
    is_judged = is_listed & ~np.isnan(labels)
    labels[~is_judged] = 0.0
    scores[is_retrieved] = run.scores[run_rows[is_retrieved]]
    docid = np.empty(run_rows.size, dtype=np.result_type(qrels.docid, run.docid))
    docid[is_listed] = qrels.docid[qrels_rows[is_listed]]
    docid[is_retrieved] = run.docid[run_rows[is_retrieved]]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_ignored = run.groups.ids.size - int((n_retrieved > 0).sum())
    subtopics = None if qrels.subtopics is None else qrels.subtopics[qrels_rows]
    return Judged(qrels.groups.ids, indptr, labels, scores, docid, is_judged, n_retrieved, n_ignored, subtopics)


def pool(qrels: Qrels, runs: Sequence[Run]) -> tuple[Queries, list[np.ndarray]]:
    """Return all documents of the judged queries that are judged or that a run retrieved, and the scores of each run.

    Returns
    -------
    queries : Queries
        Without features, queries in the order of the qrels: the judged documents of each, then the other ones in the
        order in which they are found. The label of a document that is not judged is NaN.
    scores : list of ndarray of shape (n_docs,)
        NaN for documents that the run did not retrieve.

    Examples
    --------
    >>> runs = [Run([1, 1], ["c", "b"], [0.9, 0.4]), Run([1, 2], ["a", "a"], [0.5, 0.1])]
    >>> queries, scores = pool(Qrels([1, 1], ["a", "b"], [1, 2]), runs)
    >>> queries.docid, queries.labels, scores[0], scores[1]
    (array(['a', 'b', 'c'], dtype='<U1'), array([ 1.,  2., nan]), array([nan, 0.4, 0.9]), array([0.5, nan, nan]))
    """
    n_queries = qrels.groups.ids.size
    judged = qrels.docid[_grouped_rows(qrels.groups)].tolist()
    retrieved = [run.docid[_grouped_rows(run.groups)].tolist() for run in runs]
    place_in = [{qid: place for place, qid in enumerate(run.groups.ids.tolist())} for run in runs]
    lengths = np.zeros(n_queries, dtype=np.int64)
    docid: list[str] = []
    rows: list[list[int]] = [[] for _ in runs]  # of the retrieved documents in the pool
    places: list[list[int]] = [[] for _ in runs]  # of the same documents in the run, grouped by query
    for q, (qid, (start, stop)) in enumerate(
        zip(qrels.groups.ids.tolist(), pairwise(qrels.groups.indptr.tolist()), strict=True)
    ):
        place_of = {doc: place for place, doc in enumerate(judged[start:stop], len(docid))}
        for number, run in enumerate(runs):
            if (place := place_in[number].get(qid)) is not None:
                first, last = run.groups.indptr[place : place + 2].tolist()
                found = [place_of.setdefault(doc, len(docid) + len(place_of)) for doc in retrieved[number][first:last]]
                rows[number] += found
                places[number] += range(first, last)
        lengths[q] = len(place_of)
        docid += place_of
    labels = np.full(len(docid), np.nan)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n_judged = np.diff(qrels.groups.indptr)
    is_judged = np.arange(len(docid)) - np.repeat(indptr[:-1], lengths) < np.repeat(n_judged, lengths)
    labels[is_judged] = qrels.labels[_grouped_rows(qrels.groups)]
    scores = []
    for run, in_pool, in_run in zip(runs, rows, places, strict=True):
        column = np.full(len(docid), np.nan)
        column[in_pool] = run.scores[_grouped_rows(run.groups)[in_run]]
        scores.append(column)
    names, subtopics = as_text_ids(docid, "docid"), None
    if qrels.subtopics is not None:
        judgement = np.full(len(docid), -1)
        judgement[is_judged] = _grouped_rows(qrels.groups)
        subtopics = qrels.subtopics[judgement]
    X = np.zeros((len(docid), 0))
    return Queries.from_groups(X, labels, qrels.groups.ids, indptr, docid=names, subtopics=subtopics), scores


def _pair_rows(qrels: Qrels, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for every row of the result its row in ``run`` and in ``qrels``, -1 if missing; per query two counts.

    The counts are of the retrieved documents and of all rows. One dictionary per query keeps lookups in the cache.
    """
    place_in_run = {qid: place for place, qid in enumerate(run.groups.ids.tolist())}
    rows_of_run, rows_of_qrels = _grouped_rows(run.groups), _grouped_rows(qrels.groups)
    run_docs, qrels_docs = run.docid[rows_of_run].tolist(), qrels.docid[rows_of_qrels].tolist()
    run_bounds, qrels_bounds = run.groups.indptr.tolist(), qrels.groups.indptr.tolist()
    in_run: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    in_qrels: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    n_queries = len(qrels_bounds) - 1
    n_retrieved, lengths = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.int64)
    for q, qid in enumerate(qrels.groups.ids.tolist()):
        start, stop = qrels_bounds[q : q + 2]
        place = place_in_run.get(qid)
        first, last = (0, 0) if place is None else run_bounds[place : place + 2]
        row_of = dict(zip(qrels_docs[start:stop], range(start, stop), strict=True))
        judged = np.array([row_of.pop(doc, -1) for doc in run_docs[first:last]], dtype=np.int64)
        lacking = np.fromiter(row_of.values(), dtype=np.int64, count=len(row_of))
        in_run += [rows_of_run[first:last], np.full(lacking.size, -1)]
        in_qrels += [np.where(judged >= 0, rows_of_qrels[judged], -1), rows_of_qrels[lacking]]
        n_retrieved[q], lengths[q] = last - first, last - first + lacking.size
    return np.concatenate(in_run), np.concatenate(in_qrels), n_retrieved, lengths


def _distinct_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of every distinct combination, in order of appearance, and the combination of each row."""
    codes = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns]
    pairs = codes[0] * (int(codes[1].max(initial=0)) + 1) + codes[1]
    _, first, found = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[found.reshape(-1)]


def _rows_of_subtopics(qrels: Qrels, subtopics: Subtopics) -> Qrels:
    rows = np.repeat(np.arange(len(qrels)), np.diff(subtopics.indptr))
    names = subtopics.names[subtopics.codes]
    return Qrels._of_checked(qrels.qid[rows], qrels.docid[rows], subtopics.labels, names)


def _grouped_rows(groups: Groups) -> np.ndarray:
    return np.arange(groups.indptr[-1]) if groups.order is None else groups.order


def _check_ids(qid: object, docid: object) -> tuple[np.ndarray, np.ndarray]:
    queries, docs = as_text_ids(qid, "qid"), as_text_ids(docid, "docid")
    _check_length(docs, "docid", queries.size)
    return queries, docs


def _check_length(values: np.ndarray, name: str, n_rows: int) -> None:
    if values.size != n_rows:
        raise ValueError(f"{name} has {values.size:,} values but qid has {n_rows:,}.")


def as_text_ids(ids: object, name: str) -> np.ndarray:
    """Return the ids as a vector of text."""
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"{name} is one text, {ids!r}; one id per row is needed.")
    values = ids if isinstance(ids, np.ndarray) else list(ids)  # type: ignore[call-overload]
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{name} has shape {values.shape}; it must be a vector with one id per row.")
        if values.dtype.kind in "U":
            return values
        values = values.tolist()
    texts = [value if type(value) is str else str(plain(value)) for value in values]
    for row, value in enumerate(values):
        if type(value) is not str and is_missing(value):
            raise ValueError(f"{name} is {value!r} in row {row}. Every row needs an id.")
    if not texts:
        return np.zeros(0, dtype="U1")
    is_long = max(map(len, texts)) > MAX_WIDTH
    return np.fromiter(texts, object, len(texts)) if is_long else np.array(texts, dtype=str)


def _as_ranks(rank: object) -> np.ndarray:
    ranks = np.asarray(rank)
    if ranks.dtype.kind not in "iu" and ranks.size:
        raise ValueError(f"rank has values of type {ranks.dtype}; whole numbers are needed.")
    return ranks.astype(np.int64)


def _rows_of_dict(queries: Mapping[str, Mapping[str, float]]) -> tuple[list, list, list]:
    qid = [query for query, docs in queries.items() for _ in docs]
    docid = [doc for docs in queries.values() for doc in docs]
    return qid, docid, [value for docs in queries.values() for value in docs.values()]


def _dict_of_rows(groups: Groups, docid: np.ndarray, values: np.ndarray) -> dict:
    rows = _grouped_rows(groups)
    docs, numbers, bounds = docid[rows].tolist(), values[rows].tolist(), groups.indptr.tolist()
    parts = zip(groups.ids.tolist(), bounds[:-1], bounds[1:], strict=True)
    return {qid: dict(zip(docs[start:stop], numbers[start:stop], strict=True)) for qid, start, stop in parts}


def _find_repeat(groups: Groups, docid: np.ndarray) -> tuple[int, int] | None:
    """Return the first two rows of a query with the same document, or None."""
    rows = _grouped_rows(groups)
    docs, bounds = docid[rows].tolist(), groups.indptr.tolist()
    for start, stop in pairwise(bounds):
        if len(set(docs[start:stop])) == stop - start:
            continue
        seen: dict = {}
        for place in range(start, stop):
            if docs[place] in seen:
                return int(rows[seen[docs[place]]]), int(rows[place])
            seen[docs[place]] = place
    return None


def _check_repeats(groups: Groups, docid: np.ndarray, verb: str) -> None:
    repeat = _find_repeat(groups, docid)
    if repeat is not None:
        earlier, later = repeat
        query = _query_of_row(groups, later)
        raise ValueError(f"query {query!r} {verb} document {str(docid[later])!r} twice: rows {earlier} and {later}.")


def _query_of_row(groups: Groups, row: int) -> str:
    place = row if groups.order is None else int(np.flatnonzero(groups.order == row)[0])
    return str(groups.ids[np.searchsorted(groups.indptr, place, side="right") - 1])


def _check_repeats_in_file(
    qid: np.ndarray, docid: np.ndarray, lines: np.ndarray, name: str, verb: str, hint: str = ""
) -> None:
    repeat = _find_repeat(group_rows(qid, qid.size), docid)
    if repeat is not None:
        earlier, later = repeat
        query, doc = (values[later].decode("utf-8", "replace") for values in (qid, docid))
        message = (
            f"document {doc!r} of query {query!r} was {verb} in line {lines[earlier]} already. Keep one of the two."
        )
        raise DataFormatError(name, int(lines[later]), message + hint)


def _refuse(bad: np.ndarray, words: np.ndarray, lines: np.ndarray, name: str, needed: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise DataFormatError(name, int(lines[row]), f'expected {needed}, found "{words[row].decode()}".')


def _check_writable(qid: np.ndarray, docid: np.ndarray, **others: np.ndarray) -> None:
    for what, column in {"query id": qid, "document id": docid, **others}.items():
        words = column.tolist()
        if all(words) and not _BLANK.search("".join(words)):  # one search for all is much faster than one for each
            continue
        row, word = next((row, word) for row, word in enumerate(words) if not word or _BLANK.search(word))
        where = f" of query {str(qid[row])!r}" if column is docid else ""
        raise ValueError(
            f"the {what} {word!r}{where} is empty or has a blank in it; TREC files cannot hold it. Rename it first."
        )
    for query in dict.fromkeys(qid.tolist()):
        if query.startswith("#"):
            raise ValueError(
                f"the query id {query!r} begins with '#', which makes a comment of its line in TREC files."
            )


def _write_lines(lines: Iterator[str], target: str | os.PathLike | IO) -> None:
    with write_bytes(target) as file:
        pending: list[str] = []
        for line in lines:
            pending.append(line)
            if len(pending) == ROWS_PER_WRITE:
                file.write("".join(pending).encode("utf-8", "surrogateescape"))
                pending = []
        file.write("".join(pending).encode("utf-8", "surrogateescape"))
