"""Grouping rows by query id."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from plackett.validation import check_not_masked


class Groups(NamedTuple):
    """Queries in order of first appearance.

    Query ``q`` owns the grouped rows ``indptr[q]:indptr[q + 1]`` and has the id ``ids[q]``. ``order`` is the input row
    of each grouped row, or None if the rows were grouped already.
    """

    ids: np.ndarray
    indptr: np.ndarray
    order: np.ndarray | None


def group_rows(qid: Any, n_docs: int) -> Groups:
    """Group ``n_docs`` rows by query id; None or a single id means that all rows are one list.

    Ids may be any hashable values. Rows of one query keep their order.
    """
    if qid is None or is_one_id(qid):
        one = [0 if qid is None else qid]
        ids = as_keys(np.array(one) if isinstance(qid, (np.ndarray, np.generic)) else one)[: min(n_docs, 1)]
        return Groups(ids, np.array([0, n_docs] if n_docs else [0], dtype=np.int64), None)
    keys = as_keys(qid)
    if keys.size != n_docs:
        raise ValueError(f"qid has {keys.size:,} ids but there are {n_docs:,} rows.")
    starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1]) if n_docs else np.zeros(0, dtype=np.int64)
    ids = keys[starts]
    if _all_distinct(ids):
        return Groups(ids, np.append(starts, n_docs).astype(np.int64), None)
    codes, ids = _codes_by_appearance(keys)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=ids.size))]).astype(np.int64)
    return Groups(ids, indptr, np.argsort(codes, kind="stable"))


def group_runs(keys: np.ndarray, lengths: np.ndarray) -> Groups:
    """Group rows that are given as runs of equal ids, with their lengths; adjacent runs may have the same id."""
    is_new = np.ones(keys.size, dtype=bool)
    is_new[1:] = keys[1:] != keys[:-1]
    keys, lengths = keys[is_new], np.add.reduceat(lengths, np.flatnonzero(is_new))
    runs = group_rows(keys, keys.size)
    ends = np.append(0, np.cumsum(lengths))
    if runs.order is None:
        return Groups(runs.ids, ends, None)
    first_rows, lengths = ends[runs.order], lengths[runs.order]
    ends = np.append(0, np.cumsum(lengths))
    order = np.repeat(first_rows - ends[:-1], lengths)
    order += np.arange(order.size)
    return Groups(runs.ids, ends[runs.indptr], order)


def ranked_rows(query_of_row: np.ndarray, scores: np.ndarray, docid: np.ndarray | None = None) -> np.ndarray:
    """Return the rows by query and descending score.

    Equal scores are ordered by document id as text, descending, as trec_eval orders them; without ids by row.

    Examples
    --------
    >>> ranked_rows(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), np.array(["a", "b", "c"]))
    array([1, 2, 0])
    """
    order = np.lexsort((-scores, query_of_row))
    query, values = query_of_row[order], scores[order]
    is_tied = (query[1:] == query[:-1]) & (values[1:] == values[:-1])
    if docid is None or not is_tied.any():
        return order
    is_tied = np.append(is_tied, False) | np.insert(is_tied, 0, False)
    tied = order[is_tied]  # only ids of tied documents are sorted
    names = docid[tied] if docid.dtype.kind == "U" else np.array([str(name) for name in docid[tied].tolist()])
    place = np.unique(names, return_inverse=True)[1].reshape(-1)
    order[is_tied] = tied[np.lexsort((-place, -scores[tied], query_of_row[tied]))]
    return order


def is_one_id(qid: object) -> bool:
    """Return whether ``qid`` is one id for all rows: text, or anything that is not iterable. A tuple is many ids."""
    if hasattr(qid, "ndim"):  # arrays and numpy's scalars
        return qid.ndim == 0
    return isinstance(qid, (str, bytes)) or not isinstance(qid, Iterable)


def check_is_no_column(qid: Any, X: Any) -> None:
    """Reject the name of a column of X as the id of all rows."""
    if isinstance(qid, str) and qid in list(getattr(X, "columns", ())):
        raise ValueError(
            f"qid={qid!r} is the name of a column of X; expected one id per row: "
            f"qid=X[{qid!r}], and X without that column."
        )


def as_keys(qid: Iterable[Hashable], name: str = "qid") -> np.ndarray:
    """Return the ids as a one-dimensional array that compares element by element; ``name`` is for messages."""
    check_not_masked(qid, name)
    if isinstance(qid, (set, frozenset, Mapping)):
        raise ValueError(f"{name} is a {type(qid).__name__}; expected one id per row, in the order of the rows.")
    if isinstance(qid, np.ndarray) or hasattr(qid, "__array__"):
        keys = np.asarray(qid)
        if keys.ndim == 2 and 1 in keys.shape:
            keys = keys.reshape(-1)
        if keys.ndim != 1:
            raise ValueError(f"{name} has shape {keys.shape}; it must be a vector with one id per row.")
    else:
        keys = keys_of_list(list(qid))
    if keys.dtype.kind in "fcmM" and (keys != keys).any():
        row = int(np.argmax(keys != keys))
        raise _missing_id(name, keys[row], row)
    if keys.dtype.kind == "O":
        _check_objects(keys, name)
    return keys


def _check_objects(keys: np.ndarray, name: str) -> None:
    for row, key in enumerate(keys.tolist()):
        if type(key) is str or type(key) is int:
            continue
        try:
            hash(key)
        except TypeError as error:
            kind = type(key).__name__
            hint = "ids must be hashable, such as numbers, text or tuples of them"
            raise TypeError(f"{name} holds a {kind} in row {row} that cannot be an id ({error}); {hint}.") from error
        if is_missing(key):
            raise _missing_id(name, key, row)


def _missing_id(name: str, key: object, row: int) -> ValueError:
    spelled = "NaN" if str(key) == "nan" else str(key)
    return ValueError(f"{name} is {spelled} in row {row}. Every row needs {'a query' if name == 'qid' else 'an'} id.")


def is_missing(value: object) -> bool:
    """Return whether ``value`` is missing: None, NaN, NaT, or pandas' NA, whose comparison raises TypeError."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def keys_of_list(ids: list) -> np.ndarray:
    """Return ids as an array of whole numbers or text, or of objects."""
    types = {type(key) for key in ids}
    is_int = all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in types)
    if is_int or types <= {str, np.str_}:  # other ids stay objects: numpy would convert (1, "a") to text
        keys = np.array(ids) if ids else np.zeros(0, dtype=np.int64)
        if keys.dtype.kind in "iuU":
            return keys
    return as_objects(ids)


def as_objects(values: list) -> np.ndarray:
    """Return an object array of the values; ``np.array`` would make a matrix of tuples."""
    return np.fromiter(values, dtype=object, count=len(values))


def _all_distinct(ids: np.ndarray) -> bool:
    if ids.dtype.kind == "O":
        return len(set(ids.tolist())) == ids.size
    if ids.dtype.kind in "iuf" and (ids[1:] > ids[:-1]).all():  # the usual case
        return True
    return np.unique(ids).size == ids.size


def _codes_by_appearance(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if keys.dtype.kind == "O":
        places: dict = {}
        codes = np.fromiter((places.setdefault(key, len(places)) for key in keys), dtype=np.int64, count=keys.size)
        return codes, keys_of_list(list(places))
    first, codes = distinct_rows(keys)
    return codes, keys[first]


def distinct_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of every distinct combination, in order of appearance, and the combination of each row."""
    codes = columns[0]
    for column in columns[1:]:
        one, other = (np.unique(values, return_inverse=True)[1].reshape(-1) for values in (codes, column))
        codes = one * (int(other.max(initial=0)) + 1) + other
    _, first, found = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[found.reshape(-1)]
