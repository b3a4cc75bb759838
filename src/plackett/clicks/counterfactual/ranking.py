"""New rankings of logged documents: the places that each document takes among its candidates."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.pairs import code_names, coded_pairs, match_names
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn
from plackett.data.trec.run import Run
from plackett.evaluation.estimators import predict
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_scores, count_of

LOGGED = "logged"
FEW_RANKED = 0.5  # share of the shown documents


class Places(NamedTuple):
    """The places that the documents with the same score share: from ``start`` (from 0) up to ``stop``.

    A document without a place has ``start == stop``.
    """

    start: np.ndarray
    stop: np.ndarray

    def of(self, rows: Any) -> Places:
        """Return the places of some rows."""
        return Places(self.start[rows], self.stop[rows])

    def averaged(self, sums: np.ndarray) -> np.ndarray:
        """Return the mean weight of the places of each row; ``sums`` are those of the first 0, 1, 2, … weights."""
        size = self.stop - self.start
        return np.where(size > 0, (sums[self.stop] - sums[self.start]) / np.maximum(size, 1), 0.0)

    def chance(self, place: np.ndarray) -> np.ndarray:
        """Return the probability of each row at a place (from 0), all orders of equal scores equally likely."""
        is_there = (self.start <= place) & (place < self.stop)
        return is_there / np.maximum(self.stop - self.start, 1)

    def next_chance(self, place: np.ndarray) -> np.ndarray:
        """Return the probability of each row at a place if the places above hold documents that the ranking allows."""
        is_there = (self.start <= place) & (place < self.stop)
        return is_there / np.maximum(self.stop - place, 1)


def find_places(indptr: np.ndarray, scores: np.ndarray) -> Places:
    """Return the places of the rows of lists with these bounds, by descending score."""
    group = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    order = np.lexsort((-scores, group))
    sorted_scores, place = scores[order], np.arange(group.size) - indptr[group]
    is_first = np.ones(group.size, dtype=bool)
    is_first[1:] = (group[1:] != group[:-1]) | (sorted_scores[1:] != sorted_scores[:-1])
    first = np.flatnonzero(is_first)
    sizes = np.diff(np.append(first, group.size))
    start, stop = np.empty((2, group.size), dtype=np.int64)
    start[order] = np.repeat(place[first], sizes)
    stop[order] = np.repeat(place[first] + sizes, sizes)
    return Places(start, stop)


class Ranking(NamedTuple):
    """A new ranking of the documents of each query.

    ``scores`` are those of the pairs, None for the logged order; ``places`` those among all candidates of the query,
    and ``lengths`` their number.
    """

    scores: np.ndarray | None
    places: Places
    lengths: np.ndarray

    def in_sessions(self, log: ClickLog) -> Places:
        """Return the places of the rows of a log, each list in the order of the scores."""
        if self.scores is None:
            start = log.rank.astype(np.int64) - 1
            return Places(start, start + 1)
        return find_places(log.indptr, self.scores[log.pair])


def get_ranking(ranker: Any, log: ClickLog, name: str, *, of_lists: bool) -> Ranking:
    """Return the ranking of scores, of a fitted ranker, or of a run; or the logged order for "logged".

    With ``of_lists`` the documents of each list are ordered, and a run must hold them.
    """
    bounds = np.searchsorted(log.pair_query, np.arange(len(log.queries) + 1))
    if isinstance(ranker, str):
        if ranker != LOGGED:
            raise ValueError(f'{name}={ranker!r}; scores, a fitted ranker, a Run, or "logged" are needed.')
        nowhere = np.zeros(log.n_pairs, dtype=np.int64)
        return Ranking(None, Places(nowhere, nowhere), np.zeros(len(log.queries), dtype=np.int64))
    if isinstance(ranker, Run):
        return _ranking_of_run(ranker, log, name, of_lists)
    if callable(getattr(ranker, "predict", None)):
        if log.features is None:
            raise ValueError(
                f"{name} is a {type(ranker).__name__}, which scores features, but the log has none. Use "
                "log.with_features(...), or pass one score for each pair of log.pairs."
            )
        names = log.feature_names
        scores = predict(ranker, Queries(log.features, qid=log.pair_query, feature_names=names))
    else:
        scores = check_scores(ranker, name=name)
        if scores.size != log.n_pairs:
            given = f"{name} has {count_of(scores.size, 'score')}"
            raise ValueError(f"{given} but the log has {count_of(log.n_pairs, 'pair')}; one for each of log.pairs.")
    return Ranking(scores, find_places(bounds, scores), np.diff(bounds))


def _ranking_of_run(run: Run, log: ClickLog, name: str, of_lists: bool) -> Ranking:
    """Return the ranking of a run. Shown documents that it does not retrieve come after all others."""
    names, query = _names_in(log.queries, run.qid, "qid")
    docids, doc = _names_in(log.pairs.docids, run.docid, "docid")
    pairs, pair = coded_pairs(names, docids, query, doc)
    scores = np.empty(len(pairs))
    scores[pair] = run.scores
    bounds = np.searchsorted(pairs.pair_query, np.arange(len(names) + 1))
    places = find_places(bounds, scores)
    found = log.pairs.match(pairs)
    is_ranked = found >= 0
    is_answered = match_names(log.queries, names)
    n_sessions = np.bincount(log.session_query, minlength=len(log.queries))
    lost = np.flatnonzero((is_answered < 0) & (n_sessions > 0))
    if lost.size == np.count_nonzero(n_sessions):
        raise ValueError(f"{name} answers none of the queries of the log, such as {log.queries[int(lost[0])]!r}.")
    if lost.size:
        warn(
            f"{name} does not answer {count_of(lost.size, 'query', 'queries')} of the log, such as "
            f"{log.queries[int(lost[0])]!r}: their documents are in random order.",
            DataWarning,
        )
    if of_lists:
        _check_ranked(is_ranked, log, name)
    start, stop = (np.where(is_ranked, values[found], 0) for values in places)
    lengths = np.where(is_answered >= 0, np.diff(bounds)[is_answered], 0)
    return Ranking(np.where(is_ranked, scores[found], -np.inf), Places(start, stop), lengths)


def _names_in(known: TextColumn, given: Any, what: str) -> tuple[TextColumn, np.ndarray]:
    """Return the names of ``code_names``, decoded where only the decoded name is known.

    Files of runs cannot hold spaces: "red%20shoes" means "red shoes".
    """
    names, codes = code_names(given, what)
    is_encoded = (match_names(names, known) < 0) & np.fromiter(("%" in name for name in names), bool, len(names))
    if not is_encoded.any():
        return names, codes
    decoded = [unquote(name) if one else name for name, one in zip(names, is_encoded.tolist(), strict=True)]
    different, place = code_names(decoded, what)
    if len(different) < len(names):  # both spellings are in the run
        return names, codes
    return different, place[codes]


def _check_ranked(is_ranked: np.ndarray, log: ClickLog, name: str) -> None:
    """Reject a run without the documents of the lists, and warn of one that has few of them."""
    n_ranked = int(np.count_nonzero(is_ranked[log.pair]))
    if not n_ranked:
        query, docid = log.pairs[int(log.pair[0])]
        raise ValueError(
            f"{name} ranks none of the documents that were shown, such as {docid!r} for {query!r}; do the ids agree?"
        )
    if n_ranked < FEW_RANKED * log.pair.size:
        warn(
            f"{name} ranks {n_ranked / log.pair.size:.1%} of the shown documents; the others follow in random "
            "order. Do the ids agree?",
            DataWarning,
        )
