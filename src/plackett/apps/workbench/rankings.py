"""Rankings of many queries by several rankers, computed in the background and cached by the version of the ranker."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cachetools import LRUCache

from plackett.apps.access.errors import RequestError, missing
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.runs import Ranking
from plackett.apps.workbench.values import FROZEN_DEPTH
from plackett.data.queries import Queries

if TYPE_CHECKING:
    from plackett.apps.workbench.bench import Workbench
    from plackett.apps.workbench.rankers import TrainedRankers
    from plackett.rankers.base import Ranker

LOG = logging.getLogger("plackett.apps.workbench")
MAX_WAITING = 20_000  # values to compute; further ones are requested again by the next request
MAX_RANKINGS = 20_000  # each some kilobytes
RETRY_AFTER = 20.0  # seconds until a ranking that failed is tried again
LIVE_SECONDS = 600.0  # seconds until a ranking of a live engine is requested again
STRONGEST = 5  # features in the reasons of a document
DEFAULT_RANKERS = 4
MAX_LOADED = 48  # trained rankers, and those of their folds


class BackgroundCache:
    """Values by key; of more than ``max_size``, the least recently used one is dropped first. Thread-safe."""

    def __init__(self, max_size: int):
        self._values: LRUCache[Hashable, Any] = LRUCache(max_size)
        self._waiting: set[Hashable] = set()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "rankings")

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return a cached value, or None if it has to be computed first, which then happens in the background.

        ``compute`` returns errors that users should see as values; any other error is logged, and the value is computed
        again by the next call.
        """
        with self._lock:
            value = self._values.get(key)
        if value is None:
            self.renew(key, compute)
        return value

    def renew(self, key: Hashable, compute: Callable[[], Any]) -> None:
        """Compute a value in the background; an old one stays in the cache until then."""
        with self._lock, suppress(RuntimeError):  # of a worker that is closed
            if key not in self._waiting and len(self._waiting) < MAX_WAITING:
                self._worker.submit(self._compute, key, compute)
                self._waiting.add(key)

    def now(self, key: Hashable, compute: Callable[[], Any], *, is_renewed: bool = False) -> Any:
        """Return a value, computed here if it is not cached, or to be renewed."""
        with self._lock:
            value = None if is_renewed else self._values.get(key)
        if value is None:
            value = compute()
            with self._lock:
                self._values[key] = value
        return value

    def close(self) -> None:
        """Drop pending values; the thread ends after the current one."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _compute(self, key: Hashable, compute: Callable[[], Any]) -> None:
        value = None
        try:
            value = compute()
        except Exception:
            LOG.exception("a value of the scoreboard cannot be computed")
        with self._lock:
            self._waiting.discard(key)
            if value is not None:
                self._values[key] = value


class Found(NamedTuple):
    """The ranking of a query, or a message that says why there is none, and its monotonic ``time``."""

    ranking: Ranking
    error: str | None
    time: float


class Rankings:
    """The rankings of a collection: of its base rankers and other trained rankers. Thread-safe."""

    def __init__(self, collection: Collection, trained: TrainedRankers, cache: BackgroundCache):
        self._collection, self._trained, self._cache = collection, trained, cache
        self._loaded: LRUCache[Hashable, Ranker] = LRUCache(MAX_LOADED)
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the rankers that can be measured: base rankers, then other trained ones."""
        bases = self._collection.base_rankers()
        return [*bases, *(one.name for one in self._trained.all() if one.name not in bases)]

    def key(self, name: str) -> Hashable:
        """Return the key of a ranker: its name, and a version that changes when another one gets the name."""
        if name in self._collection.base_rankers():
            return self._collection.version(name)
        for one in self._trained.all():
            if one.name == name:
                return name, one.created
        known = ", ".join(self.names()[:12])
        raise missing(f"there is no ranker {name!r}.", f"The rankers are {known}.")

    def known(self, name: str, queries: Sequence[str]) -> dict[str, Found]:
        """Return the rankings that are cached, by query; the others are computed in the background."""
        key, answer = self.key(name), {}
        for query in queries:
            found = self._cache.get((key, query), partial(self._find, name, key, query))
            if found is not None:
                answer[query] = found
                if self._is_old(found):  # it is shown until the new one is there
                    self._cache.renew((key, query), partial(self._find, name, key, query))
        return answer

    def now(self, name: str, query: str) -> Found:
        """Return a ranking, computed here if it is not cached; that of a live engine is requested again."""
        key = self.key(name)
        is_live = self._collection.is_live
        return self._cache.now((key, query), partial(self._find, name, key, query), is_renewed=is_live)

    def can_explain(self, name: str) -> bool:
        """Return whether a ranker can explain its scores by features: a trained ranker or a model can."""
        return name not in self._collection.own_rankers()

    def reasons(self, name: str, query: str, n_docs: int) -> dict[str, list[tuple[str, float | str, float]]]:
        """Return (feature, value, contribution) of the strongest features, for the first documents of a ranking."""
        if not self.can_explain(name):
            return {}
        ranker = self._ranker(name, self.key(name), query) or self._collection.ranker(name)
        assert ranker is not None
        hits = self._collection.find(query, name, FROZEN_DEPTH, ranker=ranker)
        try:
            lists = Queries(hits.X, feature_names=hits.feature_names)
            explained = ranker.explain(lists, rows=range(min(n_docs, len(hits.docid))))
        except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
            LOG.info("%s gives no reasons: %s", name, error)
            return {}
        return {hits.docid[row]: list(explained.top(row, STRONGEST)) for row in explained.rows}

    def _is_old(self, found: Found) -> bool:
        age = time.monotonic() - found.time
        return age > RETRY_AFTER if found.error is not None else self._collection.is_live and age > LIVE_SECONDS

    def _find(self, name: str, key: Hashable, query: str) -> Found:
        error, ranking = None, Ranking([], [])
        try:
            ranker = self._ranker(name, key, query)
            hits = self._collection.find(query, name, FROZEN_DEPTH, ranker=ranker)
            ranking = Ranking(hits.docid, hits.scores.tolist())
        except (ValueError, LookupError, RequestError) as raised:  # such as a syntax error in a Boolean query
            error = str(raised) or type(raised).__name__
        except Exception:
            LOG.exception("a query of a set cannot be ranked")
            error = "internal error; see the server's log."
        return Found(ranking, error, time.monotonic())

    def _ranker(self, name: str, key: Hashable, query: str) -> Ranker | None:
        """Return the ranker of a query: for one that it was trained on, the model that was trained without it."""
        fold = self._trained.fold(name, query)
        if not fold and name in self._collection.base_rankers():
            return None
        with self._lock:
            ranker = self._loaded.get((key, fold))
            if ranker is None:
                ranker = self._loaded[key, fold] = self._trained.ranker(name, fold)
            return ranker


def chosen_rankers(bench: Workbench, chosen: Sequence[str]) -> list[str]:
    """Return the chosen rankers, each once; by default the first base ranker and the newest saved ones."""
    if chosen:
        return list(dict.fromkeys(chosen))
    own, names = bench.collection.own_rankers(), bench.rankings.names()
    saved = [name for name in names if name not in own]
    return [names[0], *[name for name in saved if name != names[0]][-(DEFAULT_RANKERS - 1) :]]
