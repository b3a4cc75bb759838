"""Logs of ranked lists and the clicks on them, as flat arrays."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from plackett._tables import Column, Table, notebook_html
from plackett.clicks.correction.features import features_of_pairs
from plackett.clicks.counted import counts_of_rows
from plackett.clicks.description import ClickDescription, describe
from plackett.clicks.pairs import (
    PEEKED,
    NameTable,
    Pairs,
    PairTable,
    code_names,
    coded_pairs,
    names_as_arrays,
    stored_names,
)
from plackett.clicks.reading.cleaning import Cleaning
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataFormatError
from plackett.storage.container import ContainerError, open_container, write_container
from plackett.storage.mapped import take_rows
from plackett.storage.remote import local_files
from plackett.validation import check_choice, check_finite, check_number, check_scores, check_seed, count_of

KIND, VERSION = "plackett click log", 1
_PER_ROW = {"pair": np.int32, "click": np.bool_, "propensity": np.float64}
_PER_SESSION = {"session_query": np.int32, "times": np.float64, "ranker": np.int32, "is_random": np.bool_}
_DTYPES = {"indptr": np.int64, **_PER_ROW, **_PER_SESSION}
SESSIONS_AT_ONCE = 1 << 16
OF_SESSIONS = ("indptr", "pair", "click", "session_query")  # which a log of counts does not have


class ClickLog:
    """Sessions: each showed one ranked list for a query, and some of its documents were clicked.

    Session ``i`` owns the rows ``indptr[i]:indptr[i + 1]`` of ``pair`` and ``click``, from rank 1 down. All arrays are
    read-only, and those of a loaded log are mapped from its file. Use ``read_clicks``, ``from_arrays`` or ``load``.

    Slices and parts of a log keep its pairs and their codes, so that results for pairs can be compared between them.

    Attributes
    ----------
    indptr : ndarray of int64 of shape (n_sessions + 1,)
        Bounds of the sessions.
    pair : ndarray of int32 of shape (n_shown,)
        Code of the pair of query and document in each row.
    click : ndarray of bool of shape (n_shown,)
        Whether it was clicked.
    session_query : ndarray of int32 of shape (n_sessions,)
        Code of the query of each session.
    pairs : Pairs
        The query and the document of each pair, by codes and names.
    session_ids : TextColumn or None
        Names of the sessions.
    times : ndarray of float64 of shape (n_sessions,) or None
        When the list was shown, in seconds.
    ranker : ndarray of int32 of shape (n_sessions,) or None
        Which ranker made the list, as a position in ``rankers``.
    rankers : TextColumn or None
        Names of the rankers.
    is_random : ndarray of bool of shape (n_sessions,) or None
        Whether the list was shuffled.
    propensity : ndarray of float64 of shape (n_shown,) or None
        Probability with which the service showed the document at its rank, as it logged it.
    features : ndarray of shape (n_pairs, n_features) or None
        Features of each pair.
    feature_names : list of str or None
        Their names.
    cleaning : Cleaning or None
        The damage that ``read_clicks`` found, and how it was treated.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(
    ...     ["shoe", "shoe"], ["a", "b", "b", "a", "c"], [0, 1, 1, 0, 0], indptr=[0, 2, 5]
    ... )
    >>> log
    ClickLog(2 sessions of 1 query, 5 shown, 2 clicks, 3 pairs)
    >>> log.rank
    array([1, 2, 1, 2, 3], dtype=int32)
    """

    may_hold_mapped_arrays = True

    def __init__(
        self,
        indptr: np.ndarray,
        pair: np.ndarray,
        click: np.ndarray,
        session_query: np.ndarray,
        pairs: Pairs,
        *,
        session_ids: TextColumn | None = None,
        times: np.ndarray | None = None,
        ranker: np.ndarray | None = None,
        rankers: TextColumn | None = None,
        is_random: np.ndarray | None = None,
        propensity: np.ndarray | None = None,
        features: np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
        cleaning: Cleaning | None = None,
    ):
        # Internal: arrays are trusted. ``from_arrays`` and ``load`` check them.
        self.indptr, self.pair, self.click = _read_only(indptr), _read_only(pair), _read_only(click)
        self.session_query, self.pairs, self.session_ids = _read_only(session_query), pairs, session_ids
        self.times, self.ranker, self.rankers = _read_only(times), _read_only(ranker), rankers
        self.is_random, self.propensity = _read_only(is_random), _read_only(propensity)
        self.features = _read_only(features)
        self.feature_names = None if feature_names is None else list(feature_names)
        self.cleaning = cleaning

    @classmethod
    def from_arrays(
        cls,
        query: Any,
        docid: Any,
        click: Any,
        *,
        indptr: Any,
        session_ids: Any = None,
        times: Any = None,
        ranker: Any = None,
        is_random: Any = None,
        propensity: Any = None,
        features: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> ClickLog:
        """Return a log of the given lists. Sessions keep their order.

        Parameters
        ----------
        query : array-like of shape (n_sessions,)
            Name of the query of each session; numbers become text.
        docid : array-like of shape (n_shown,)
            Names of the shown documents, session by session, from rank 1 down.
        click : array-like of shape (n_shown,)
            Whether each document was clicked: booleans, or 0 and 1.
        indptr : array-like of shape (n_sessions + 1,)
            Bounds of the sessions; each shows at least one document.
        session_ids, ranker : array-like of shape (n_sessions,), default=None
            Names of the sessions, and of the rankers that made the lists.
        times : array-like of shape (n_sessions,), default=None
            In seconds.
        is_random : array-like of shape (n_sessions,), default=None
            Whether the list was shuffled.
        propensity : array-like of shape (n_shown,), default=None
            Logged probability of each document at its rank.
        features : array-like of shape (n_pairs, n_features), default=None
            Features of the pairs, in the order of their codes (by name of the query, then of the document).
        feature_names : sequence of str, default=None

        Raises
        ------
        ValueError
            If lengths differ, a session is empty, or shows a document twice. ``read_clicks`` repairs such logs.
        """
        queries, session_query = code_names(query, "query")
        docids, doc = code_names(docid, "docid")
        bounds = _checked_bounds(indptr, session_query.size, doc.size)
        clicks = _flags(click, "click", doc.size, "docid")
        pairs, pair = coded_pairs(queries, docids, np.repeat(session_query, np.diff(bounds)), doc)
        log = cls(bounds, pair, clicks, session_query, pairs)
        _check_repeats(log)
        n_sessions = len(log)
        if session_ids is not None:
            log.session_ids = _names_of(session_ids, "session_ids", n_sessions)
        if ranker is not None:
            log.rankers, codes = code_names(ranker, "ranker")
            log.ranker = _read_only(_of_length(codes, "ranker", n_sessions))
        if times is not None:
            seconds = _of_length(np.asarray(times, dtype=np.float64), "times", n_sessions)
            if not np.isfinite(seconds).all():
                raise ValueError(f"times is {seconds[~np.isfinite(seconds)][0]} in one session; seconds are needed.")
            log.times = _read_only(seconds)
        if is_random is not None:
            log.is_random = _read_only(_flags(is_random, "is_random", n_sessions, "query"))
        if propensity is not None:
            chances = check_chances(propensity, "propensity")
            log.propensity = _read_only(_of_length(chances, "propensity", doc.size, "docid"))
        return log if features is None else log.with_features(features, feature_names)

    @classmethod
    def from_counts(cls, query: Any, docid: Any, rank: Any, clicks: Any, impressions: Any) -> ClickLog:
        """Return a log without sessions, from numbers that a database or a cluster has counted.

        GCTR, RCTR, DCTR and PBM, and ``estimate_propensities`` by all methods but "randomised", need no more than this.
        What needs sessions raises an error.

        Parameters
        ----------
        query, docid : array-like of shape (n,)
            Names of queries and documents; numbers become text.
        rank : array-like of shape (n,)
            From 1.
        clicks, impressions : array-like of shape (n,)
            How often the document was clicked, and shown, at this rank for this query. Rows of the same query, document
            and rank are added up.

        Examples
        --------
        >>> import plackett as pk
        >>> log = pk.clicks.ClickLog.from_counts(["shoe"] * 3, ["a", "b", "a"], [1, 1, 2], [9, 5, 2], [20, 20, 20])
        >>> log
        ClickLog(counts by rank, 60 shown, 16 clicks, 2 pairs)
        >>> pk.clicks.RCTR(prior=(0, 0)).fit(log).rates_
        array([0.35, 0.1 ])
        """
        queries, query_code = code_names(query, "query")
        docids, doc = code_names(docid, "docid")
        _of_length(doc, "docid", query_code.size)
        pairs, pair = coded_pairs(queries, docids, query_code, doc)
        return CountedLog(pairs, *counts_of_rows(pair, len(pairs), rank, clicks, impressions))

    def with_features(self, features: Any, feature_names: Sequence[str] | None = None) -> ClickLog:
        """Return the same log with features of its pairs.

        Parameters
        ----------
        features : Queries, or array-like of shape (n_pairs, n_features)
            Queries that hold the shown pairs, found by query and document as text; the log then has only the pairs that
            it shows. An array has a row for each pair, in the order of ``pairs``.
        feature_names : sequence of str, default=None
            Names of the columns of an array.
        """
        if isinstance(features, Queries):
            log = self.compact()
            return log.with_features(features_of_pairs(log.pairs, features), features.feature_names)
        values = np.asarray(features)
        values = values.astype(np.float64) if values.dtype.kind != "f" else values
        if values.ndim != 2 or values.shape[0] != self.n_pairs:
            raise ValueError(
                f"features has shape {values.shape}; a row for each of the {self.n_pairs:,} pairs is needed."
            )
        if feature_names is not None and len(feature_names) != values.shape[1]:
            raise ValueError(f"there are {len(feature_names)} feature names but {values.shape[1]} features.")
        check_finite(values, feature_names)
        return self._with(features=values, feature_names=feature_names)

    def with_clicks(self, click: Any) -> ClickLog:
        """Return the same sessions with other clicks.

        Parameters
        ----------
        click : array-like of shape (n_shown,)
            Booleans, or 0 and 1.
        """
        return self._with(click=_flags(click, "click", self.n_shown, "pair"))

    # --- Sizes --------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.indptr.size - 1

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self)

    @property
    def n_shown(self) -> int:
        """Number of rows: documents shown in all sessions."""
        return self.pair.size

    @property
    def n_clicks(self) -> int:
        """Number of clicked rows."""
        return int(np.count_nonzero(self.click))

    @property
    def n_pairs(self) -> int:
        """Number of pairs, including those without a session in a part of a log."""
        return len(self.pairs)

    @property
    def longest(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.indptr).max(initial=0))

    @cached_property
    def rank(self) -> np.ndarray:
        """Rank of each row, from 1."""
        return _read_only(ranks(self.indptr))

    # --- Names --------------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> TextColumn:
        """Names of the queries, sorted."""
        return self.pairs.queries

    @property
    def docids(self) -> TextColumn:
        """Names of the different documents, sorted; `docid` has one for each shown document."""
        return self.pairs.docids

    @property
    def docid(self) -> np.ndarray:
        """One document name per row, as in ``Queries``."""
        return as_str_array(list(self.docids))[self.pair_doc[self.pair]]

    @property
    def pair_query(self) -> np.ndarray:
        """Code of the query of each pair."""
        return self.pairs.pair_query

    @property
    def pair_doc(self) -> np.ndarray:
        """Code of the document of each pair."""
        return self.pairs.pair_doc

    # --- Parts --------------------------------------------------------------------------------------------------------

    def __getitem__(self, which: Any) -> ClickLog:
        """Return some sessions: a slice, a mask or positions. Pairs keep their codes."""
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                return self._between(start, max(start, stop))
        elif np.ndim(which) == 0:
            raise TypeError(f"log[{which!r}]: a slice, a mask or positions of sessions are needed, such as log[:1000].")
        return self._take(np.arange(len(self))[which])

    def _between(self, start: int, stop: int) -> ClickLog:
        first, last = self.indptr[start], self.indptr[stop]
        part = slice(start, stop)
        return self._with(
            indptr=self.indptr[start : stop + 1] - first,
            session_ids=None if self.session_ids is None else self.session_ids[part],
            **{name: values[first:last] for name, values in self._given(_PER_ROW).items()},
            **{name: values[part] for name, values in self._given(_PER_SESSION).items()},
        )

    def _take(self, sessions: np.ndarray) -> ClickLog:
        lengths = np.diff(self.indptr)[sessions]
        indptr = np.append(0, np.cumsum(lengths))
        rows = np.arange(indptr[-1]) + np.repeat(self.indptr[sessions] - indptr[:-1], lengths)
        return self._with(
            indptr=indptr,
            session_ids=None if self.session_ids is None else self.session_ids[sessions],
            **{name: take_rows(values, rows) for name, values in self._given(_PER_ROW).items()},
            **{name: values[sessions] for name, values in self._given(_PER_SESSION).items()},
        )

    def _given(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _with(self, **changed: Any) -> ClickLog:
        own = {name: value for name, value in vars(self).items() if name != "rank"}  # cached
        return ClickLog(**{**own, **changed})

    def split(self, share: float = 0.8, *, by: str = "session", random_state: int = 0) -> tuple[ClickLog, ClickLog]:
        """Return two parts, drawn at random; sessions keep their order.

        Parameters
        ----------
        share : float, default=0.8
            Share of the sessions, or queries, in the first part.
        by : {"session", "query"}, default="session"
            Whether sessions are drawn, or queries with all their sessions.
        random_state : int, default=0

        Examples
        --------
        >>> import plackett as pk
        >>> log = pk.clicks.ClickLog.from_arrays(list("abcd"), list("wxyz"), [1, 0, 0, 1], indptr=range(5))
        >>> train, test = log.split(0.75)
        >>> len(train), len(test)
        (3, 1)
        """
        if check_number(share, "share", above=0) >= 1:
            raise ValueError(f"share={share}; it must be below 1.")
        check_choice(by, "by", ("session", "query"))
        rng = np.random.default_rng(check_seed(random_state))
        of_session = self.session_query if by == "query" else np.arange(len(self))
        units = np.unique(of_session) if by == "query" else of_session
        is_first = np.zeros(int(units.max(initial=-1)) + 1, dtype=bool)
        is_first[units[rng.permutation(units.size)[: round(share * units.size)]]] = True
        chosen = is_first[of_session]
        return self[chosen], self[~chosen]

    def compact(self) -> ClickLog:
        """Return the log without pairs that none of its sessions shows; codes change."""
        is_shown = np.zeros(self.n_pairs, dtype=bool)
        is_shown[self.pair] = True
        kept = np.flatnonzero(is_shown)
        if kept.size == self.n_pairs:
            return self
        place = np.cumsum(is_shown, dtype=np.int32) - 1
        pairs, pair = self.pairs.subset(kept), place[self.pair]
        return self._with(
            pair=pair,
            pairs=pairs,
            session_query=pairs.pair_query[pair[self.indptr[:-1]]],
            features=None if self.features is None else self.features[kept],
        )

    @classmethod
    def concat(cls, logs: Sequence[ClickLog], path: str | os.PathLike | None = None) -> ClickLog:
        """Return the sessions of several logs as one, such as those of several days; codes change.

        Optional columns and features are kept if all logs have them, and counts of damage are added up.

        Parameters
        ----------
        logs : sequence of ClickLog
        path : path, default=None
            File for the log, which is then mapped into memory. With logs of ``load`` only the names of queries and
            documents and one log are held in memory.

        Examples
        --------
        >>> import plackett as pk
        >>> days = [pk.clicks.ClickLog.from_arrays(["shoe"], [doc], [1], indptr=[0, 1]) for doc in "ab"]
        >>> pk.clicks.ClickLog.concat(days)
        ClickLog(2 sessions of 1 query, 2 shown, 2 clicks, 2 pairs)
        """
        logs = list(logs)
        if not logs:
            raise ValueError("logs is empty; at least one log is needed.")
        queries, query = _union([log.queries for log in logs])
        docids, doc = _union([log.docids for log in logs])
        table = PairTable(len(docids))
        codes = [table.add(query[i][log.pair_query], doc[i][log.pair_doc]) for i, log in enumerate(logs)]
        pairs, place = table.finish(queries, docids)
        parts: dict[str, Iterator[np.ndarray]] = {
            "indptr": _joined_bounds(log.indptr for log in logs),
            "pair": (place[codes[i]][log.pair] for i, log in enumerate(logs)),
            "session_query": (query[i][log.session_query] for i, log in enumerate(logs)),
        }
        given = [log._given(vars(log)) for log in logs]
        whole, has_all = pairs.arrays(), set.intersection(*map(set, given))
        for name in sorted(has_all & {"click", "propensity", "times", "is_random"}):
            parts[name] = map(attrgetter(name), logs)
        if "ranker" in has_all:
            rankers, ranker = _union([log.rankers for log in logs])
            parts["ranker"] = (ranker[i][log.ranker] for i, log in enumerate(logs))
            whole |= names_as_arrays("rankers", rankers)
        if "session_ids" in has_all:
            ids = [names_as_arrays("", one["session_ids"]) for one in given]
            parts["session_ids.bytes"] = (one[".bytes"] for one in ids)
            parts["session_ids.bounds"] = _joined_bounds(one[".bounds"] for one in ids)
        if "features" in has_all:
            if any(log.feature_names != logs[0].feature_names for log in logs):
                raise ValueError("the logs have features with different names. Attach them after concat.")
            dtype = np.result_type(*(log.features for log in logs))
            whole["features"] = np.empty((len(pairs), logs[0].features.shape[1]), dtype)
            for log, code in zip(logs, codes, strict=True):
                whole["features"][place[code]] = log.features
        cleaning = Cleaning.sum(one["cleaning"] for one in given).to_dict() if "cleaning" in has_all else None
        header = {"feature_names": logs[0].feature_names, "cleaning": cleaning}
        if path is None:
            return _log_of({**whole, **{name: np.concatenate([*part]) for name, part in parts.items()}}, header, True)
        with write_container(path, KIND, VERSION) as writer:
            for name, values in whole.items():
                writer.add(name, values)
            for name, part in parts.items():
                for values in part:
                    writer.append(name, values)
            writer.finish(header)
        return open_log(path, is_trusted=True)

    def describe(self) -> ClickDescription:
        """Return what ``plackett clicks info`` shows: sizes, click rates by rank, and what can be learned from the log.

        Examples
        --------
        >>> import plackett as pk
        >>> log = pk.clicks.ClickLog.from_arrays(["q", "q"], ["a", "b", "a", "b"], [1, 0, 0, 1], indptr=[0, 2, 4])
        >>> log.describe().rank_groups
        [[1], [2]]
        """
        return describe(self)

    # --- Files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the log to a file that ``load`` maps into memory. Nothing in it is executable.

        Parameters
        ----------
        path : path
            Replaced only when everything was written.
        """
        with write_container(path, KIND, VERSION) as writer:
            for name, values in self._stored().items():
                writer.add(name, values)
            cleaning = None if self.cleaning is None else self.cleaning.to_dict()
            writer.finish({"feature_names": self.feature_names, "cleaning": cleaning})

    def _stored(self) -> dict[str, np.ndarray]:
        arrays = self._given(_DTYPES)
        for name in ("session_ids", "rankers"):
            names = getattr(self, name)
            if names is not None:
                arrays |= names_as_arrays(name, names)
        return {**arrays, **self.pairs.arrays(), **({} if self.features is None else {"features": self.features})}

    @classmethod
    def load(cls, path: str | os.PathLike) -> ClickLog:
        """Return the log in a file of ``save``, mapped into memory.

        Parameters
        ----------
        path : path

        Raises
        ------
        DataFormatError
            If the file is damaged, or is not a click log.
        """
        return open_log(path, is_trusted=False)

    def __repr__(self) -> str:
        sessions = count_of(len(self), "session")
        queries = count_of(np.unique(self.session_query).size, "query", "queries")
        clicks, pairs = count_of(self.n_clicks, "click"), count_of(self.n_pairs, "pair")
        return f"ClickLog({sessions} of {queries}, {self.n_shown:,} shown, {clicks}, {pairs})"

    def _repr_html_(self) -> str:
        columns = [Column("session", digits=0), Column("query", "text"), Column("rank", digits=0)]
        rows = []
        for session in range(min(PEEKED - 2, len(self))):
            query = self.queries[int(self.session_query[session])]
            for rank, row in enumerate(range(*self.indptr[session : session + 2])[:PEEKED], start=1):
                docid = self.docids[int(self.pair_doc[self.pair[row]])]
                rows.append([session, query, rank, docid, "clicked" if self.click[row] else ""])
        table = Table([*columns, Column("document", "text"), Column("click", "text")], rows)
        return notebook_html(table, [repr(self)], [f"up to {PEEKED} documents of the first {PEEKED - 2} sessions"])


class CountedLog(ClickLog):
    """Clicks and skips of each pair at each rank, by pair and rank; made by ``ClickLog.from_counts``.

    Cell ``i`` between ``cell_bounds[pair]`` and ``cell_bounds[pair + 1]`` is the rank ``cell[i]``, from 0.
    """

    may_hold_mapped_arrays = False

    def __init__(self, pairs: Pairs, bounds: np.ndarray, cell: np.ndarray, clicks: np.ndarray, skips: np.ndarray):
        self.pairs, self.cell, self.clicks, self.skips = pairs, cell, clicks, skips
        self.cell_bounds = bounds
        self.session_ids = self.times = self.ranker = self.rankers = self.is_random = self.propensity = None
        self.features = self.feature_names = self.cleaning = None

    def __getattr__(self, name: str) -> NoReturn:
        if name in OF_SESSIONS:
            raise ValueError("this log has counts of pairs by rank, and no sessions; read_clicks reads sessions.")
        raise AttributeError(name)

    @property
    def impressions(self) -> np.ndarray:
        """How often each pair was shown."""
        shown = np.append(0, np.cumsum(self.clicks, dtype=np.int64) + np.cumsum(self.skips, dtype=np.int64))
        return np.diff(shown[self.cell_bounds])

    def __len__(self) -> int:
        # every session of a query shows its first rank, unless that one was not counted
        query = np.repeat(self.pair_query, np.diff(self.cell_bounds)).astype(np.int64)
        sizes = len(self.queries), max(1, self.longest)
        shown = np.bincount(query * sizes[1] + self.cell, self.clicks + self.skips.astype(np.int64), np.prod(sizes))
        return int(shown.reshape(sizes).max(axis=1).sum())

    @property
    def n_shown(self) -> int:
        return int(self.impressions.sum())

    @property
    def n_clicks(self) -> int:
        return int(self.clicks.sum(dtype=np.int64))

    @property
    def longest(self) -> int:
        return int(self.cell.max(initial=-1)) + 1

    def compact(self) -> ClickLog:
        return self

    def _with(self, **changed: Any) -> ClickLog:
        other = copy.copy(self)
        vars(other).update(changed)
        return other

    def __repr__(self) -> str:
        shown, pairs = f"{self.n_shown:,} shown", count_of(self.n_pairs, "pair")
        return f"ClickLog(counts by rank, {shown}, {count_of(self.n_clicks, 'click')}, {pairs})"

    def _repr_html_(self) -> str:
        return repr(self)


@local_files
def open_log(path: str | os.PathLike, *, is_trusted: bool) -> ClickLog:
    """Return the log in a file, mapped; one that this process has just written is trusted, and not read to check it."""
    try:
        with open_container(path, KIND, VERSION, verify=False if is_trusted else None) as container:
            arrays = {name: container.mapped(name, "r") for name in container.arrays}
            header = container.header
        return _log_of(arrays, header, is_trusted)
    except (ContainerError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise DataFormatError(os.fspath(path), None, f"this click log cannot be read: {error}") from error


def ranks(indptr: np.ndarray) -> np.ndarray:
    """Return the rank of each row of lists with these bounds, from 1."""
    places = np.arange(1, indptr[-1] + 1)
    places -= np.repeat(indptr[:-1], np.diff(indptr))
    return places.astype(np.int32)


def _union(columns: Sequence[Any]) -> tuple[TextColumn, list[np.ndarray]]:
    """Return the names of several columns, sorted, and the place of each among them."""
    table = NameTable()
    codes = [table.add_column(names) for names in columns]
    names, place = table.finish()
    return names, [place[code] for code in codes]


def _joined_bounds(parts: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    yield np.zeros(1, dtype=np.int64)
    end = 0
    for bounds in parts:
        yield bounds[1:] + end
        end += int(bounds[-1])


def _read_only(values: Any) -> Any:
    if values is None:
        return None
    view = values.view()
    view.flags.writeable = False
    return view


# --- Checks -----------------------------------------------------------------------------------------------------------


def _checked_bounds(indptr: Any, n_sessions: int, n_shown: int) -> np.ndarray:
    bounds = np.asarray(indptr, dtype=np.int64)
    if bounds.shape != (n_sessions + 1,):
        wanted = f"{n_sessions + 1:,} bounds for {count_of(n_sessions, 'session')}"
        raise ValueError(f"indptr has shape {bounds.shape}; it must have {wanted}.")
    if bounds[0] != 0 or bounds[-1] != n_shown:
        raise ValueError(f"indptr goes from {bounds[0]} to {bounds[-1]:,}, but there are {n_shown:,} shown documents.")
    empty = np.flatnonzero(np.diff(bounds) <= 0)
    if empty.size:
        raise ValueError(f"session {empty[0]} shows no document (indptr). Leave it out.")
    return bounds


def _of_length(values: np.ndarray, name: str, n: int, other: str = "query") -> np.ndarray:
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape} but {other} has {n:,} values.")
    return values


def _flags(values: Any, name: str, n: int, other: str) -> np.ndarray:
    flags = _of_length(np.asarray(values), name, n, other)
    if flags.dtype == bool:
        return flags
    is_wrong = (flags != 0) & (flags != 1) if flags.dtype.kind in "iuf" else np.ones(n, dtype=bool)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ValueError(f"{name} is {flags[row]} in row {row}; booleans, or 0 and 1, are needed.")
    return flags.astype(bool)


def check_chances(values: Any, name: str) -> np.ndarray:
    """Return probabilities above 0."""
    chances = check_scores(values, name=name).astype(np.float64)
    is_wrong = ~((chances > 0) & (chances <= 1))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ValueError(f"{name} is {chances[row]:g} in row {row}; probabilities must be above 0 and at most 1.")
    return chances


def _names_of(names: Any, what: str, n: int) -> TextColumn:
    column = names if isinstance(names, TextColumn) else TextColumn.from_strings(map(str, names))
    if len(column) != n:
        raise ValueError(f"{what} has {len(column):,} names but query has {n:,} values.")
    return column


def _check_repeats(log: ClickLog) -> None:
    session = np.repeat(np.arange(len(log)), np.diff(log.indptr))
    order = np.lexsort((log.pair, session))
    pair, session = log.pair[order], session[order]
    repeats = np.flatnonzero((pair[1:] == pair[:-1]) & (session[1:] == session[:-1]))
    if repeats.size:
        doc = log.pairs[int(pair[repeats[0]])][1]
        raise ValueError(f"session {session[repeats[0]]} shows document {doc!r} twice. Keep the first of the two.")


def _log_of(arrays: dict[str, np.ndarray], header: dict[str, Any], is_trusted: bool) -> ClickLog:
    """Return the log of a file, checked if it is not trusted: compiled code trusts bounds and codes."""
    for name, dtype in _DTYPES.items():
        if name in arrays and (arrays[name].dtype != dtype or arrays[name].ndim != 1):
            raise ValueError(f"{name} has the wrong type.")
    pairs, optional = Pairs.from_stored(arrays), dict[str, Any]()
    n_sessions = arrays["session_query"].size
    for name in ("session_ids", "rankers"):
        if f"{name}.bytes" in arrays:
            optional[name] = stored_names(name, arrays)
    if not is_trusted:
        _checked_bounds(arrays["indptr"], n_sessions, arrays["pair"].size)
        _check_pairs(arrays["indptr"], arrays["pair"], arrays["session_query"], pairs)
        if "session_ids" in optional and len(optional["session_ids"]) != n_sessions:
            raise ValueError("session_ids has the wrong length.")
        if "ranker" in arrays:
            _check_codes(arrays["ranker"], len(optional["rankers"]), "ranker")
    for names, other, n in ((_PER_ROW, "pair", arrays["pair"].size), (_PER_SESSION, "query", n_sessions)):
        optional |= {name: _of_length(arrays[name], name, n, other) for name in names if name in arrays}
    if header.get("cleaning") is not None:
        optional["cleaning"] = Cleaning.from_dict(header["cleaning"])
    log = ClickLog(arrays["indptr"], pairs=pairs, **optional)
    return log.with_features(arrays["features"], header.get("feature_names")) if "features" in arrays else log


def _check_pairs(indptr: np.ndarray, pair: np.ndarray, session_query: np.ndarray, pairs: Pairs) -> None:
    """Check the pairs of all rows, some sessions at a time."""
    for first in range(0, session_query.size, SESSIONS_AT_ONCE):
        bounds = indptr[first : first + SESSIONS_AT_ONCE + 1]
        rows = pair[bounds[0] : bounds[-1]]
        _check_codes(rows, len(pairs), "pair")
        query = np.repeat(session_query[first : first + SESSIONS_AT_ONCE], np.diff(bounds))
        if (pairs.pair_query[rows] != query).any():
            raise ValueError("session_query does not agree with the pairs.")


def _check_codes(codes: np.ndarray, n: int, name: str) -> None:
    if codes.size and not 0 <= codes.min() <= codes.max() < n:
        raise ValueError(f"{name} holds a code outside of 0 to {n - 1}.")
