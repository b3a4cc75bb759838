"""Splits of whole queries into training, validation and test queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from plackett.data import datasets
from plackett.data.datasets.published import Fold
from plackett.data.grouping import group_rows
from plackett.data.judged import Columns, as_judged, check_no_columns
from plackett.data.queries import Queries
from plackett.exceptions import ParameterError
from plackett.storage.remote import local_files
from plackett.validation import check_positive_int, count_of, plain

__all__ = ["Fold", "QueryKFold", "as_folds", "check_folds", "with_validation"]

LETOR = "letor"
MOST_NAMED = 5  # ids in an error message


class QueryKFold(BaseCrossValidator):
    """K-fold splitter that keeps queries whole; fold ``i`` tests on part ``i`` and validates on the next.

    The parts differ in size by at most one query. They depend only on the query ids and the seed, not on the order of
    rows, the number of threads or the machine. It is a scikit-learn splitter for ``GridSearchCV`` and
    ``cross_val_score``; with metadata routing it takes the ``qid`` of the rankers instead of ``groups``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of parts, at least 2.
    shuffle : bool, default=True
        Whether queries are assigned at random; False cuts them in order of first appearance into consecutive parts.
    random_state : int, RandomState instance or None, default=0
    validation : bool, default=True
        Whether the folds of ``folds`` have validation queries. With two parts, or False, they have
        ``validation=None``.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett import Queries
    >>> from plackett import QueryKFold
    >>> data = Queries(np.arange(8.0).reshape(-1, 1), y=np.zeros(8), qid=[1, 1, 2, 3, 3, 4, 5, 6])
    >>> for fold in QueryKFold(3).folds(data):
    ...     print(fold.train.ids, fold.validation.ids, fold.test.ids)
    [1 5] [2 4] [3 6]
    [3 6] [1 5] [2 4]
    [2 4] [3 6] [1 5]
    >>> [test.tolist() for train, test in QueryKFold(3, shuffle=False).split(data)]
    [[0, 1, 2], [3, 4, 5], [6, 7]]
    """

    # scikit-learn passes either when routing is enabled
    __metadata_request__split: ClassVar = {"groups": True, "qid": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0, validation: bool = True):
        self.n_splits, self.shuffle, self.random_state, self.validation = n_splits, shuffle, random_state, validation

    def folds(self, queries: Queries) -> Iterator[Fold]:
        """Yield the training, validation and test queries of each fold, in order of appearance."""
        part_of, n_splits = self.parts(queries.ids), int(self.n_splits)
        for number in range(n_splits):
            is_test = part_of == number
            is_validation = (part_of == (number + 1) % n_splits) & bool(self.validation and n_splits > 2)
            validation = queries[is_validation] if is_validation.any() else None
            yield Fold(queries[~is_test & ~is_validation], validation, queries[is_test])

    def split(self, X: Any, y: Any = None, groups: Any = None, *, qid: Any = None) -> Iterator[tuple]:
        """Yield the row numbers to train on and to test on, for each fold; there are no validation rows.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features), or Queries
            A Queries has its own ids; row numbers are then those of ``queries.X``.
        y : ignored
        groups, qid : array-like of shape (n_docs,)
            The query of each row, under either name.
        """
        if isinstance(X, Queries):
            ids, query_of_row = X.ids, X.query_of_row
        else:
            ids, query_of_row = _queries_of_rows(X, groups if groups is not None else qid)
        part_of_row = self.parts(ids)[query_of_row]
        for number in range(int(self.n_splits)):
            yield np.flatnonzero(part_of_row != number), np.flatnonzero(part_of_row == number)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, qid: Any = None) -> int:
        """Return the number of folds; all arguments are ignored."""
        return int(self.n_splits)

    def parts(self, ids: np.ndarray) -> np.ndarray:
        """Return the part, counted from 0, of each of the queries with these ids."""
        n_splits = check_positive_int(self.n_splits, "n_splits")
        if n_splits < 2:
            raise ParameterError("n_splits", 1, "at least 2 parts are needed, one to train on and one to test on.")
        if ids.size < n_splits:
            raise ParameterError(
                "n_splits", n_splits, f"{count_of(ids.size, 'query', 'queries')} cannot be divided into so many parts."
            )
        order = np.arange(ids.size)
        if self.shuffle:
            order = _sorted_places(ids)[check_random_state(self.random_state).permutation(ids.size)]
        answer = np.empty(ids.size, dtype=np.int64)
        for number, places in enumerate(np.array_split(order, n_splits)):
            answer[places] = number
        return answer


@local_files
def as_folds(cv: Any, data: Any = None, **columns: Unpack[Columns]) -> list[Fold]:
    """Return the folds of ``data``; raise if a query is in two sets of a fold, or in two test sets.

    Parameters
    ----------
    cv : int, "letor", splitter or sequence
        An int n is ``QueryKFold(n)``, ``"letor"`` the published folds of the data. Splitters of scikit-learn get the
        query ids as groups and must keep queries whole; their folds have ``validation=None`` (see `with_validation`). A
        sequence has a `Fold`, (train, validation, test) or (train, test) for each fold, each set a Queries or row
        numbers of ``data.X``.
    data, **columns
        As for ``as_judged``, with the names of known sets in the folder PLACKETT_DATA. Not needed if ``cv`` has
        queries.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett import Queries
    >>> from plackett.evaluation.splits import as_folds
    >>> data = Queries(np.arange(6.0).reshape(-1, 1), y=np.zeros(6), qid=[1, 2, 3, 4, 5, 6])
    >>> [fold.test.n_queries for fold in as_folds(4, data)]
    [2, 2, 1, 1]
    >>> as_folds([(data[:4], None, data[3:])])
    Traceback (most recent call last):
    ValueError: fold 1: query 4 is in both train and test. A query must be in one of them only.
    """
    folds = [
        Fold(fold.train.grouped, None if fold.validation is None else fold.validation.grouped, fold.test.grouped)
        for fold in _make_folds(cv, data, columns)
    ]
    check_folds(folds)
    return folds


def check_folds(folds: Sequence[Fold]) -> None:
    """Raise if a query is in two sets of a fold, or in the test sets of two folds, or if a set is empty."""
    if not folds:
        raise ValueError("there are no folds.")
    fold_testing: dict = {}
    for number, fold in enumerate(folds, 1):
        sets = {role: queries for role, queries in fold._asdict().items() if queries is not None}
        role_of: dict = {}
        for role, queries in sets.items():
            if not queries.n_queries:
                raise ValueError(f"fold {number}: {role} has no queries.")
            if queries.n_features != fold.test.n_features:
                raise ValueError(
                    f"fold {number}: {role} has {count_of(queries.n_features, 'feature')}, "
                    f"but test has {fold.test.n_features}."
                )
            shared = [key for key in queries.ids.tolist() if key in role_of]
            if shared:
                where = f"in both {role_of[shared[0]]} and {role}"
                raise ValueError(f"fold {number}: {_named(shared)} {where}. A query must be in one of them only.")
            role_of.update(dict.fromkeys(queries.ids.tolist(), role))
        shared = [key for key in fold.test.ids.tolist() if key in fold_testing]
        if shared:
            where = f"in the test sets of fold {fold_testing[shared[0]]} and of fold {number}"
            raise ValueError(f"{_named(shared)} {where}. Test sets must not overlap, or queries would count twice.")
        fold_testing.update(dict.fromkeys(fold.test.ids.tolist(), number))


def with_validation(fold: Fold, *, n_parts: int = 4, random_state: Any = 0) -> Fold:
    """Return ``fold`` with validation queries: its own, or one of ``n_parts`` parts of its training queries.

    Parameters
    ----------
    fold : Fold
    n_parts : int, default=4
    random_state : int, RandomState instance or None, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from plackett import Queries
    >>> from plackett import datasets
    >>> from plackett.evaluation.splits import with_validation
    >>> data = Queries(np.arange(9.0).reshape(-1, 1), y=np.zeros(9), qid=np.arange(9))
    >>> fold = with_validation(datasets.Fold(data[:8], None, data[8:]))
    >>> fold.train.n_queries, fold.validation.n_queries
    (6, 2)
    """
    if fold.validation is not None:
        return fold
    n_queries = fold.train.n_queries
    if n_queries < 2:
        raise ValueError(
            f"hyperparameters are chosen on a part of the training queries, but there is "
            f"{count_of(n_queries, 'query')} to train on. Pass more queries, folds with "
            "validation queries, or rankers without a grid."
        )
    n_parts = min(n_parts, n_queries)
    is_validation = QueryKFold(n_parts, random_state=random_state).parts(fold.train.ids) == 0
    return Fold(fold.train[~is_validation], fold.train[is_validation], fold.test)


def _make_folds(cv: Any, data: Any, columns: Columns) -> list[Fold]:
    if isinstance(cv, str):
        if cv != LETOR:
            raise ValueError(f'cv={cv!r} is not known; pass a number of folds, "letor", a splitter or a list of folds.')
        check_no_columns(columns, 'cv="letor" takes files, which have no names of columns')
        return _published(data)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = QueryKFold(int(cv))
    if hasattr(cv, "folds") or hasattr(cv, "split"):
        if data is None:
            raise ValueError(f"{cv!r} divides data, but none was given.")
        queries = as_judged(data, **columns)
        if hasattr(cv, "folds"):
            return list(cv.folds(queries))
        # ids that are neither numbers nor text cannot be sorted
        groups = queries.qid if queries.ids.dtype.kind in "iufUS" else queries.query_of_row
        return [_fold_of(sets, queries) for sets in cv.split(queries.X, queries.y, groups)]
    if not isinstance(cv, Iterable):
        raise TypeError(f'cv is {plain(cv)!r}; it must be a number of folds, "letor", a splitter or a list of folds.')
    lists = None if data is None else as_judged(data, **columns)
    return [_fold_of(sets, lists) for sets in cv]


def _published(data: Any) -> list[Fold]:
    if isinstance(data, (str, PathLike)):
        is_name = not Path(data).exists() and fspath(data) in datasets.names()
        return datasets.load_folds(fspath(data)) if is_name else datasets.load_folds(folder=data)
    raise ValueError(
        f'cv="letor" needs the name of a data set or its folder, but data is {type(data).__name__}, which does not '
        "say what its parts are. Pass a list of folds, or their number."
    )


def _fold_of(sets: Any, queries: Queries | None) -> Fold:
    """Return the fold of (train, validation, test) or (train, test), each a Queries or row numbers."""
    sets = tuple(sets)
    if len(sets) not in (2, 3):
        raise ValueError(f"a fold has {len(sets)} sets; (train, test) or (train, validation, test) is needed.")
    found = [part if part is None or isinstance(part, Queries) else _with_rows(part, queries) for part in sets]
    train, validation, test = (found[0], None, found[1]) if len(found) == 2 else found
    if train is None or test is None:
        raise ValueError("a fold has None instead of training or test queries; only its validation may be None.")
    return Fold(train, validation, test)


def _with_rows(rows: Any, queries: Queries | None) -> Queries:
    """Return the queries of these rows; raise if only some rows of a query are among them."""
    if queries is None:
        raise ValueError("a fold consists of row numbers, but data was not given.")
    chosen = np.zeros(queries.n_docs, dtype=bool)
    chosen[np.asarray(rows)] = True
    n_chosen = np.bincount(queries.query_of_row[chosen], minlength=queries.n_queries)
    is_split = (n_chosen > 0) & (n_chosen < np.diff(queries.grouped.indptr))
    if is_split.any():
        split = _named(queries.ids[is_split].tolist())
        raise ValueError(
            f"{split} split: some documents are in a set, others are not. "
            "Use QueryKFold, or a splitter that keeps groups together, such as GroupKFold."
        )
    return queries[n_chosen > 0]


def _queries_of_rows(X: Any, qid: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return one id per query, and for each row the number of its query."""
    if qid is None:
        raise ValueError("QueryKFold needs the query of each row: pass groups (or qid), one id per row.")
    n_docs = X.shape[0] if hasattr(X, "shape") else len(X)
    groups = group_rows(qid, n_docs)
    query_of_row = np.empty(n_docs, dtype=np.int64)
    order = slice(None) if groups.order is None else groups.order
    query_of_row[order] = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
    return groups.ids, query_of_row


def _sorted_places(ids: np.ndarray) -> np.ndarray:
    """Return the places of the ids in sorted order, which does not depend on the order of rows."""
    if ids.dtype.kind != "O":
        return np.argsort(ids, kind="stable")
    keys = [(type(key).__name__, repr(key)) for key in ids.tolist()]  # ids of several types cannot be compared
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _named(ids: list) -> str:
    """Return the ids as the subject of a sentence: "query 4 is", "3 queries (4, 5, 7) are"."""
    if len(ids) == 1:
        return f"query {ids[0]!r} is"
    listed = ", ".join(repr(key) for key in ids[:MOST_NAMED])
    return f"{len(ids):,} queries ({listed}{', ...' if len(ids) > MOST_NAMED else ''}) are"
