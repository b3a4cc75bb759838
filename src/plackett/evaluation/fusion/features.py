"""Runs as features of documents, for rankers whose weights depend on the query."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from plackett.data.queries import Queries
from plackett.data.runs import as_qrels
from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.compare.runs import named_runs
from plackett.evaluation.fusion.learned import parts_of
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_positive_int, count_of

TOP = 10


def from_runs(runs: Any, qrels: Any = None, *, window: int | None = None) -> Queries:
    """Return the documents of runs as judged lists with features, for any ranker.

    Each run gives three features: 1 / (60 + rank), the min-max score of its list, and whether it retrieved the
    document; the first two are 0 where it did not. Features of the query are the mean number of documents that two runs
    share among their first ten, and the number of candidates. Judged documents that no run retrieved are left out: no
    ranker of these lists can show them.

    Parameters
    ----------
    runs : mapping of str to run, or sequence of runs
        As in ``compare_runs``.
    qrels : Qrels, path, or dict of dicts; default=None
        Judgements; documents without one have the label 0, and queries without any are left out. None gives lists
        without labels, for ``predict``.
    window : int, default=None
        Number of documents of each run that count for a query; None means all.

    Examples
    --------
    >>> import plackett as pk
    >>> runs = {"bm25": {"1": {"a": 7.0, "b": 5.0}}, "dense": {"1": {"b": 0.9, "c": 0.1}}}
    >>> queries = pk.from_runs(runs, {"1": {"b": 1}})
    >>> queries.docid, queries.labels, queries.feature_names[:3]
    (array(['b', 'a', 'c'], dtype='<U1'), array([1., 0., 0.]), ['rank of bm25', 'score of bm25', 'found by bm25'])
    """
    if window is not None:
        check_positive_int(window, "window")
    pool = PooledRuns(named_runs(runs), None if qrels is None else as_qrels(qrels))
    queries = features_of(pool.first(window))[0]
    if qrels is None:
        return queries.replace(y=None)
    judged = np.unique(pool.query[~np.isnan(pool.labels)])
    return queries[np.flatnonzero(np.isin(queries.ids, pool.ids[judged]))]


def features_of(pool: PooledRuns) -> tuple[Queries, np.ndarray]:
    """Return the retrieved documents with their features, and their rows in the pool."""
    ranks, scores = parts_of(pool, "rrf"), parts_of(pool, "min-max")
    rows = np.flatnonzero(pool.is_retrieved.any(axis=0))
    shared = shared_at_top(pool, TOP)
    counts = np.bincount(pool.query[rows], minlength=pool.ids.size)
    columns: dict[str, np.ndarray] = {}
    for place, name in enumerate(pool.names):
        own = ranks[place, rows]
        columns |= {f"rank of {name}": own, f"score of {name}": scores[place, rows], f"found by {name}": ~np.isnan(own)}
    columns |= {f"shared by runs in the first {TOP}": shared[pool.query[rows]], "candidates": counts[pool.query[rows]]}
    X = np.nan_to_num(np.stack(list(columns.values()), axis=1).astype(np.float64))
    labels, qid = np.nan_to_num(pool.labels[rows]), pool.ids[pool.query[rows]]
    return Queries(X, labels, qid, docid=pool.docid[rows], feature_names=list(columns)), rows


def shared_at_top(pool: PooledRuns, top: int) -> np.ndarray:
    """Return how many of their first documents two runs share, for each query, as a mean over all pairs of runs."""
    found_by = ((pool.ranks > 0) & (pool.ranks <= top)).sum(axis=0)
    pairs = np.bincount(pool.query, found_by * (found_by - 1) / 2, minlength=pool.ids.size)
    return pairs / max(1, len(pool.names) * (len(pool.names) - 1) // 2)


class RankerLearner:
    """Fits a ranker to the features of a pool's judged queries."""

    def __init__(self, pool: PooledRuns, ranker: Any, queries: np.ndarray):
        self.pool, self.ranker, self.queries = pool, ranker, queries
        self.data, self.rows = features_of(pool)
        self._place = {qid: place for place, qid in enumerate(self.data.ids.tolist())}
        if n_lost := sum(qid not in self._place for qid in pool.ids[queries].tolist()):
            counted = count_of(n_lost, "judged query is", "judged queries are")
            warn(f"{counted} answered by no run: the ranker learns nothing from them.", DataWarning)

    def fit(self, train: np.ndarray) -> Any:
        """Return the ranker, fitted to the queries at the places ``train`` of ``queries``."""
        names = self.pool.ids[self.queries[train]].tolist()
        places = np.array(sorted(self._place[name] for name in names if name in self._place), dtype=np.int64)
        return clone(self.ranker).fit(self.data[places])

    def scores(self, fitted: Any) -> np.ndarray:
        """Return the scores of all rows of the pool; below all others for documents that no run retrieved."""
        own = np.asarray(fitted.predict(self.data), dtype=np.float64)
        scores = np.full(self.pool.docid.size, own.min(initial=0.0) - 1.0)
        scores[self.rows] = own
        return scores
