"""Dividing queries, always whole ones, into what is trained on, what chooses between models, and what tests them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from plackett.data import datasets
from plackett.data.datasets.published import Fold
from plackett.data.grouping import group_rows
from plackett.data.queries import Queries
from plackett.data.sources import read_queries
from plackett.evaluation.letor_folds import LetorFolds, read_whole
from plackett.storage.file_names import has_parquet
from plackett.validation import check_positive_int, count_of, plain

__all__ = ["Fold", "LetorFolds", "QueryKFold", "as_folds", "check_folds", "with_validation"]

LETOR = "letor"
MOST_NAMED = 5  # ids in an error message


class QueryKFold(BaseCrossValidator):
    """Parts of whole queries, of equal size up to one; fold ``i`` tests on part ``i`` and validates on the next.

    Which queries stand together follows from their ids and the seed alone: the order of the rows, the number of threads
    and the machine change nothing. As a scikit-learn splitter it goes into ``GridSearchCV`` and ``cross_val_score``;
    under metadata routing it takes the ``qid`` that the rankers take, so that ``groups`` need not be given as well.

    Parameters
    ----------
    n_splits : int, default=5
        Number of parts, at least 2.
    shuffle : bool, default=True
        Whether queries are dealt at random; False cuts them in order of first appearance into consecutive parts.
    random_state : int, RandomState instance or None, default=0
    validation : bool, default=True
        Whether ``folds`` holds the next part back to choose between models. With two parts there is none to spare: they
        have ``validation=None``, as have all folds with False.

    Examples
    --------
    >>> data = Queries(np.arange(8.0).reshape(-1, 1), y=np.zeros(8), qid=[1, 1, 2, 3, 3, 4, 5, 6])
    >>> for fold in QueryKFold(3).folds(data):
    ...     print(fold.train.ids, fold.validation.ids, fold.test.ids)
    [1 5] [2 4] [3 6]
    [3 6] [1 5] [2 4]
    [2 4] [3 6] [1 5]
    >>> [test.tolist() for train, test in QueryKFold(3, shuffle=False).split(data)]
    [[0, 1, 2], [3, 4, 5], [6, 7]]
    """

    # scikit-learn passes on either, when routing is enabled
    __metadata_request__split: ClassVar = {"groups": True, "qid": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0, validation: bool = True):
        self.n_splits, self.shuffle, self.random_state, self.validation = n_splits, shuffle, random_state, validation

    def folds(self, queries: Queries) -> Iterator[Fold]:
        """Training, validation and test queries of each fold, in their order of appearance."""
        part_of, n_splits = self.parts(queries.ids), int(self.n_splits)
        for number in range(n_splits):
            is_test = part_of == number
            is_validation = part_of == (number + 1) % n_splits
            if not self.validation or n_splits == 2:
                is_validation[:] = False
            yield _fold(
                queries[~is_test & ~is_validation],
                queries[is_validation] if is_validation.any() else None,
                queries[is_test],
            )

    def split(self, X: Any, y: Any = None, groups: Any = None, *, qid: Any = None) -> Iterator[tuple]:
        """Row numbers to train on and to test on, for each fold; nothing is held back for validation.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features), or Queries
            A Queries brings its own ids; row numbers are then those of ``queries.X``.
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
        """The number of folds; all arguments are ignored."""
        return int(self.n_splits)

    def parts(self, ids: np.ndarray) -> np.ndarray:
        """The part, counted from 0, of each of the queries with these ids."""
        n_splits = check_positive_int(self.n_splits, "n_splits")
        if n_splits < 2:
            raise ValueError("n_splits=1; at least 2 parts are needed, one to train on and one to test on.")
        if ids.size < n_splits:
            raise ValueError(
                f"{count_of(ids.size, 'query', 'queries')} cannot be divided into {n_splits} parts. Lower n_splits, "
                "the number of folds."
            )
        order = np.arange(ids.size)
        if self.shuffle:
            order = _sorted_places(ids)[check_random_state(self.random_state).permutation(ids.size)]
        answer = np.empty(ids.size, dtype=np.int64)
        for number, places in enumerate(np.array_split(order, n_splits)):
            answer[places] = number
        return answer


def as_folds(cv: Any, data: Any = None) -> list[Fold]:
    """The folds that ``cv`` makes of ``data``, checked: no query is trained on and tested, none is tested twice.

    Parameters
    ----------
    cv : int, "letor", splitter or sequence
        An int n is ``QueryKFold(n)``, ``"letor"`` the folds that the data were published with. Splitters of
        scikit-learn are given the query ids as groups and must keep queries whole; their folds have
        ``validation=None`` (see `with_validation`). A sequence holds a `Fold` or (train, validation, test) or (train,
        test) for each fold, each set a Queries or row numbers of ``data.X``.
    data : Queries, path or str, default=None
        Queries; a LETOR or Parquet file; a folder of Parquet files, or one with S1.txt to S5.txt, or with Fold1, Fold2,
        ...; or the name of a known set, which is looked for in the folder PLACKETT_DATA. Not needed where ``cv`` brings
        queries.

    Examples
    --------
    >>> data = Queries(np.arange(6.0).reshape(-1, 1), y=np.zeros(6), qid=[1, 2, 3, 4, 5, 6])
    >>> [fold.test.n_queries for fold in as_folds(4, data)]
    [2, 2, 1, 1]
    >>> as_folds([(data[:4], None, data[3:])])
    Traceback (most recent call last):
    ValueError: fold 1: query 4 stands in both train and test. A query must be in one of them only.
    """
    folds = [Fold(*(part if part is None else part.grouped for part in fold)) for fold in _make_folds(cv, data)]
    check_folds(folds)
    return folds


def check_folds(folds: Sequence[Fold]) -> None:
    """Refuse folds that leak: a query in two sets of one fold, or in the test sets of two; also empty sets."""
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
    """``fold`` itself if it has validation queries; otherwise with one of ``n_parts`` parts of its training queries.

    Examples
    --------
    >>> data = Queries(np.arange(9.0).reshape(-1, 1), y=np.zeros(9), qid=np.arange(9))
    >>> fold = with_validation(Fold(data[:8], None, data[8:]))
    >>> fold.train.n_queries, fold.validation.n_queries
    (6, 2)
    """
    if fold.validation is not None:
        return fold
    n_queries = fold.train.n_queries
    if n_queries < 2:
        raise ValueError(
            f"settings are chosen on a part of the training queries, but there is {count_of(n_queries, 'query')} to "
            "train on. Give more queries, folds with validation queries, or rankers without a grid."
        )
    n_parts = min(n_parts, n_queries)
    held_back = QueryKFold(n_parts, random_state=random_state).parts(fold.train.ids) == 0
    return Fold(fold.train[~held_back], fold.train[held_back], fold.test)


def _make_folds(cv: Any, data: Any) -> list[Fold]:
    if isinstance(cv, str):
        if cv != LETOR:
            raise ValueError(f'cv={cv!r} is not known; give a number of folds, "letor", a splitter or a list of folds.')
        return list(_published(data).folds())
    if isinstance(cv, LetorFolds):
        return list(cv.folds(None if data is None else _as_queries(data)))
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = QueryKFold(int(cv))
    if hasattr(cv, "folds") or hasattr(cv, "split"):
        if data is None:
            raise ValueError(f"{cv!r} divides data, but none was given.")
        queries = _as_queries(data)
        if hasattr(cv, "folds"):
            return list(cv.folds(queries))
        return [_fold_of(sets, queries) for sets in cv.split(queries.X, queries.y, _groups_of(queries))]
    if not isinstance(cv, Iterable):
        raise TypeError(f'cv is {plain(cv)!r}; it must be a number of folds, "letor", a splitter or a list of folds.')
    return [_fold_of(sets, None if data is None else _as_queries(data)) for sets in cv]


def _published(data: Any) -> LetorFolds:
    if isinstance(data, (str, PathLike)):
        is_name = not Path(data).exists() and fspath(data) in datasets.names()
        return LetorFolds(name=fspath(data)) if is_name else LetorFolds(folder=data)
    raise ValueError(
        f'cv="letor" needs the name of a data set or its folder, but data is {type(data).__name__}, which does not '
        "say what its parts are. Give cv=LetorFolds(parts=...) with the part of each query, or a number of folds."
    )


def _as_queries(data: Any) -> Queries:
    if isinstance(data, Queries):
        return data
    if not isinstance(data, (str, PathLike)):
        raise TypeError(f"data is a {type(data).__name__}; Queries, a path or the name of a data set is needed.")
    path = Path(data).expanduser()
    if path.is_dir() and not has_parquet(path):
        return read_whole(path)
    if path.exists():
        return read_queries(path)
    loaded = datasets.load(fspath(data))
    if not isinstance(loaded, Queries):
        raise ValueError(f"{data} holds {type(loaded).__name__}, not judged lists of feature vectors.")
    return loaded


def _fold_of(sets: Any, queries: Queries | None) -> Fold:
    """A fold from (train, validation, test) or (train, test), each a Queries or row numbers."""
    sets = tuple(sets)
    if len(sets) not in (2, 3):
        raise ValueError(f"a fold has {len(sets)} sets; (train, test) or (train, validation, test) is needed.")
    found = [part if part is None or isinstance(part, Queries) else _with_rows(part, queries) for part in sets]
    train, validation, test = (found[0], None, found[1]) if len(found) == 2 else found
    if train is None or test is None:
        raise ValueError("a fold has None instead of training or test queries; only its validation may be None.")
    return _fold(train, validation, test)


def _with_rows(rows: Any, queries: Queries | None) -> Queries:
    """The queries that own ``rows``, all of whose rows must be among them."""
    if queries is None:
        raise ValueError("a fold consists of row numbers, but data was not given.")
    chosen = np.zeros(queries.n_docs, dtype=bool)
    chosen[np.asarray(rows)] = True
    n_chosen = np.bincount(queries.query_of_row[chosen], minlength=queries.n_queries)
    is_torn = (n_chosen > 0) & (n_chosen < np.diff(queries.grouped.indptr))
    if is_torn.any():
        torn = _named(queries.ids[is_torn].tolist(), one="is", many="are")
        raise ValueError(
            f"{torn} torn apart: some documents are in a set, others are not. "
            "Divide by query: QueryKFold, or a splitter that heeds groups, such as GroupKFold."
        )
    return queries[n_chosen > 0]


def _fold(train: Queries, validation: Queries | None, test: Queries) -> Fold:
    return Fold(train, cast(Queries, validation), test)  # published folds always validate; ours may not


def _queries_of_rows(X: Any, qid: Any) -> tuple[np.ndarray, np.ndarray]:
    """One id per query, and for each row the number of its query."""
    if qid is None:
        raise ValueError("QueryKFold divides queries and needs to know them: give groups (or qid), one id per row.")
    n_docs = X.shape[0] if hasattr(X, "shape") else len(X)
    groups = group_rows(qid, n_docs)
    grouped = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
    if groups.order is None:
        return groups.ids, grouped
    query_of_row = np.empty_like(grouped)
    query_of_row[groups.order] = grouped
    return groups.ids, query_of_row


def _groups_of(queries: Queries) -> np.ndarray:
    """One id per row that scikit-learn can sort: the ids, or their places where they are neither numbers nor text."""
    if queries.ids.dtype.kind in "iufUS":
        return queries.qid
    return queries.query_of_row


def _sorted_places(ids: np.ndarray) -> np.ndarray:
    """The places of the ids in an order that does not depend on where they stand."""
    if ids.dtype.kind != "O":
        return np.argsort(ids, kind="stable")
    keys = [(type(key).__name__, repr(key)) for key in ids.tolist()]  # ids of several types do not compare
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _named(ids: list, *, one: str = "stands", many: str = "stand") -> str:
    """The ids as the subject of a sentence: "query 4 stands", "3 queries (4, 5, 7) stand"."""
    if len(ids) == 1:
        return f"query {ids[0]!r} {one}"
    listed = ", ".join(repr(key) for key in ids[:MOST_NAMED])
    return f"{len(ids):,} queries ({listed}{', ...' if len(ids) > MOST_NAMED else ''}) {many}"
