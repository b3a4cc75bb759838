"""Simulated click logs, by the protocol of the field (ULTRA)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, n_threads
from plackett.clicks.log import KIND, VERSION, ClickLog, ranks
from plackett.clicks.pairs import Pairs, code_names, coded_pairs, names_as_arrays
from plackett.clicks.users import User, get_user
from plackett.data.grouping import ranked_rows
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn
from plackett.exceptions import ParameterError
from plackett.storage.container import write_container
from plackett.validation import check_number, check_positive_int, check_scores, check_seed

SESSIONS_PER_BLOCK = 1 << 15


def simulate_clicks(
    queries: Queries,
    ranker: Any,
    n_sessions: int,
    *,
    user: str = "pbm",
    k: int = 10,
    eta: float = 1.0,
    epsilon: float = 0.1,
    random_share: float = 0.0,
    max_label: float | None = None,
    random_state: int = 0,
    path: str | os.PathLike | None = None,
) -> ClickLog:
    """Return a log of simulated users who see the lists of a ranker and click by the labels.

    Each session draws a query, all equally likely, and shows its first ``k`` documents. Every draw is a function of
    the seed and of the number of the session: the first 1,000 sessions of a log of 10 million are those of a log of
    1,000, for any number of threads.

    * "pbm": examines rank r with probability (.68 .61 .48 .34 .28 .20 .11 .10 .08 .06) to the power ``eta`` (the last
      one for lower ranks), and then clicks with probability ``ε + (1 - ε) (2^y - 1) / (2^y_max - 1)``.
    * "cascade": examines all ranks down to the first click, and clicks with the same probability.
    * "ubm": examines a rank with a probability that depends on the last click above, a table to the power ``eta``.
    * "trust": examines rank r with probability ``0.35 / r + 0.65 / (1 + 0.05 (r - 1))``, and then clicks on a relevant
      document with probability ``1 / (1 + 0.005 (r - 1))``, on another with ``0.65 / r``; a document is relevant with
      probability ``y / y_max`` (oosterhuis2023).

    Parameters
    ----------
    queries : Queries
        With labels. Documents without a name are named by their row.
    ranker : fitted ranker, array-like of scores, or a mapping of names to these
        The rankers that produce the lists; with several, each session draws one.
    n_sessions : int
    user : {"pbm", "cascade", "ubm", "trust"}, default="pbm"
    k : int, default=10
        Documents in a list.
    eta : float, default=1.0
        How much the position matters, 0 for not at all ("pbm", "ubm").
    epsilon : float, default=0.1
        Probability of a click on an examined document with label 0; ignored by "trust".
    random_share : float, default=0.0
        Share of the sessions whose list is shuffled.
    max_label : float, default=None
        The label y_max; None uses the largest.
    random_state : int, default=0
    path : path, default=None
        File for the log, which is then written block by block and mapped into memory.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 1000)
    >>> len(log), log.longest
    (1000, 10)
    """
    n_sessions, k = check_positive_int(n_sessions, "n_sessions"), check_positive_int(k, "k")
    share, seed = check_number(random_share, "random_share", least=0), check_seed(random_state)
    if share > 1:
        raise ParameterError("random_share", share, "it must be at most 1.")
    if queries.y is None:
        raise ValueError("queries has no labels; simulated users click by them.")
    grouped = queries.grouped
    names = list(ranker) if isinstance(ranker, Mapping) else []
    scores = [grouped_scores(one, queries) for one in (ranker.values() if isinstance(ranker, Mapping) else [ranker])]
    lists = _Lists(grouped, queries.row_order, scores, k)
    labels = np.asarray(grouped.y, dtype=np.float64)
    settings = get_user(user, labels, k, eta=eta, epsilon=epsilon, max_label=max_label)
    draws = _Draws(lists, settings, len(scores), share, seed)
    rankers, place = code_names(names, "ranker") if names else (None, np.zeros(1, dtype=np.int32))
    if path is None:
        return _in_memory(draws, n_sessions, rankers, place)
    _to_file(draws, n_sessions, rankers, place, path)
    return ClickLog.load(path)


def grouped_scores(ranker: Any, queries: Queries) -> np.ndarray:
    """Return the scores of the grouped rows."""
    predict: Callable | None = getattr(ranker, "predict", None)
    if predict is not None:
        return check_scores(predict(queries.grouped), queries.n_docs)
    scores = check_scores(ranker, queries.n_docs)
    return scores if queries.row_order is None else scores[queries.row_order]


class _Lists:
    """The first ``k`` documents of each query by each ranker, as pairs."""

    def __init__(self, grouped: Queries, row_order: np.ndarray | None, scores: list[np.ndarray], k: int):
        lengths_of = np.diff(grouped.indptr)
        query_of = np.repeat(np.arange(grouped.n_queries), lengths_of)
        docid = grouped.docid
        queries, query_code = code_names(np.asarray(grouped.ids), "qid")
        if len(queries) < grouped.n_queries:
            raise ValueError("two queries have ids that are equal as text. Rename one of them.")
        self.n_queries = grouped.n_queries
        shown, lengths = [], []
        in_order = lengths_of[np.argsort(query_code)]  # lists are in the order of the codes of queries
        rank = ranks(np.append(0, np.cumsum(in_order)))
        for one in scores:
            shown.append(ranked_rows(query_code[query_of], one, docid)[rank <= k])
            lengths.append(np.minimum(in_order, k))
        rows = np.concatenate(shown)
        names = docid[rows] if docid is not None else rows if row_order is None else row_order[rows]
        docids, doc = code_names(names, "docid")
        self.pairs: Pairs
        self.pairs, pair = coded_pairs(queries, docids, query_code[query_of[rows]], doc)
        self.pair, self.row_of_pair = pair, np.empty(len(self.pairs), dtype=np.int64)
        self.row_of_pair[pair] = rows
        if not (self.row_of_pair[pair] == rows).all():
            raise ValueError("a query has two documents with the same name. Rename one of them.")
        self.indptr = np.append(0, np.cumsum(np.concatenate(lengths)))


class _Draws:
    """Sessions by their numbers."""

    def __init__(self, lists: _Lists, user: User, n_rankers: int, random_share: float, seed: int):
        self.lists, self._user, self._seed = lists, user, seed
        self.n_rankers, self.random_share = n_rankers, random_share
        self._relevance = np.ascontiguousarray(user.relevance[lists.row_of_pair])

    def sessions(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the query, the ranker, whether it is shuffled, and the length of the list of each session."""
        n, lists = last - first, self.lists
        query, ranker = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        is_random, length = np.empty(n, dtype=bool), np.empty(n, dtype=np.int64)
        sizes = (lists.n_queries, self.n_rankers, self.random_share)
        _native.clicks.draw_sessions(self._seed, first, lists.indptr, *sizes, query, ranker, is_random, length)
        return query, ranker, is_random, length

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs and clicks of the sessions."""
        lists, user = self.lists, self._user
        indptr = np.append(0, np.cumsum(self.sessions(first, last)[3]))
        pair, click = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=bool)
        _native.clicks.draw_clicks(
            self._seed, first, lists.indptr, lists.pair, self._relevance, lists.n_queries, self.n_rankers,
            self.random_share, user.kind, user.slope, user.offset, user.browse, indptr, pair, click,
        )  # fmt: skip
        return pair, click

    def blocks(self, n_sessions: int, draw: Callable) -> Iterator[tuple[int, Any]]:
        """Yield the first session and the draws of each block of sessions, a few blocks at a time."""
        bounds = [*range(0, n_sessions, SESSIONS_PER_BLOCK), n_sessions]
        blocks = list(pairwise(bounds))
        for start in range(0, len(blocks), 4 * n_threads()):
            some = blocks[start : start + 4 * n_threads()]
            yield from zip((first for first, _ in some), map_blocks(draw, some), strict=True)


def _in_memory(draws: _Draws, n_sessions: int, rankers: TextColumn | None, place: np.ndarray) -> ClickLog:
    parts = [part for _, part in draws.blocks(n_sessions, draws.sessions)]
    query, ranker, is_random, length = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = [part for _, part in draws.blocks(n_sessions, draws.rows)]
    pair, click = (np.concatenate(column) for column in zip(*rows, strict=True))
    optional: dict[str, Any] = {"is_random": is_random} if draws.random_share else {}
    if rankers is not None:
        optional |= {"rankers": rankers, "ranker": place[ranker]}
    return ClickLog(np.append(0, np.cumsum(length)), pair, click, query, draws.lists.pairs, **optional)


def _to_file(
    draws: _Draws, n_sessions: int, rankers: TextColumn | None, place: np.ndarray, path: str | os.PathLike
) -> None:
    with write_container(path, KIND, VERSION) as writer:
        for name, values in draws.lists.pairs.arrays().items():
            writer.add(name, values)
        writer.reserve("indptr", np.int64, (n_sessions + 1,))
        writer.reserve("session_query", np.int32, (n_sessions,))
        writer.write_rows("indptr", 0, np.zeros(1, dtype=np.int64))
        if rankers is not None:
            for name, values in names_as_arrays("rankers", rankers).items():
                writer.add(name, values)
            writer.reserve("ranker", np.int32, (n_sessions,))
        if draws.random_share:
            writer.reserve("is_random", np.bool_, (n_sessions,))
        n_shown = 0
        for first, (query, ranker, is_random, length) in draws.blocks(n_sessions, draws.sessions):
            ends = n_shown + np.cumsum(length)
            n_shown = int(ends[-1])
            writer.write_rows("indptr", first + 1, ends)
            writer.write_rows("session_query", first, query)
            if rankers is not None:
                writer.write_rows("ranker", first, place[ranker])
            if draws.random_share:
                writer.write_rows("is_random", first, is_random)
        writer.reserve("pair", np.int32, (n_shown,))
        writer.reserve("click", np.bool_, (n_shown,))
        row = 0
        for _, (pair, click) in draws.blocks(n_sessions, draws.rows):
            writer.write_rows("pair", row, pair)
            writer.write_rows("click", row, click)
            row += pair.size
        writer.finish({"feature_names": None, "cleaning": None})
