"""What is known of each partition before a fit: its size, its columns, and which queries it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.list_checks import has_differences
from plackett.distributed.piece import Piece
from plackett.validation import count_of, feature_number, plain

_LARGEST = 2**63 - 1  # numbers from here down are keys themselves


class Facts(NamedTuple):
    """One piece in a few numbers, and eight bytes for each of its queries.

    Attributes
    ----------
    weight : float
        Sum of the weights of its queries; their number where there are none.
    keys : ndarray of shape (n_queries,)
        A hash of each query's id, the same on every machine.
    has_pairs : bool
        Whether a query has two documents with different labels.
    labels : tuple of two floats, or None
        The lowest and the highest label; None without rows.
    """

    name: str
    n_docs: int
    n_queries: int
    n_features: int
    feature_names: list[str] | None
    first_index: int | None
    may_widen: bool
    weight: float
    keys: np.ndarray
    has_pairs: bool
    labels: tuple[float, float] | None


def facts_of(piece: Piece) -> Facts:
    """The facts of a piece."""
    queries = piece.queries
    labels = (float(queries.labels.min()), float(queries.labels.max())) if queries.n_docs else None
    return Facts(
        piece.name, queries.n_docs, queries.n_queries, queries.n_features, queries.feature_names, queries.first_index,
        piece.may_widen, piece.weight, _keys(queries.ids), has_differences(queries.lists, is_pointwise=False), labels,
    )  # fmt: skip


def check_columns(facts: Sequence[Facts]) -> tuple[int, list[str] | None]:
    """The number of columns and their names, the same in all pieces that have rows."""
    first = facts[0]
    n_features = max(fact.n_features for fact in facts)
    for fact in facts:
        if fact.n_features != first.n_features and not fact.may_widen:
            raise ValueError(
                f"{fact.name} has {count_of(fact.n_features, 'feature')} but {first.name} has {first.n_features:,}; "
                "all partitions need the same columns."
            )
        if (fact.feature_names, fact.first_index) != (first.feature_names, first.first_index):
            raise ValueError(
                f"{fact.name} has other columns than {first.name}: {_difference(fact, first)}. All partitions need the "
                "same columns in the same order."
            )
    return n_features, first.feature_names


def _difference(one: Facts, other: Facts) -> str:
    if one.feature_names == other.feature_names:
        return f"they begin at {one.first_index} there and at {other.first_index} here"
    if one.feature_names is None or other.feature_names is None:
        return "only one of them names its columns"
    pairs = zip(one.feature_names, other.feature_names, strict=True)
    place, (new, known) = next((place, pair) for place, pair in enumerate(pairs) if pair[0] != pair[1])
    return f"{feature_number(place, one.first_index)} is {new!r} there and {known!r} here"


# --- Queries in two partitions ----------------------------------------------------------------------------------------


class Shared(NamedTuple):
    """Keys that stand in two pieces, and the places of these pieces."""

    first: int
    second: int
    keys: np.ndarray


def shared_keys(facts: Sequence[Facts]) -> Shared | None:
    """The first two pieces that have keys in common."""
    sizes = [fact.keys.size for fact in facts]
    keys = np.concatenate([fact.keys for fact in facts])
    pieces = np.repeat(np.arange(len(facts)), sizes)
    order = np.argsort(keys, kind="stable")
    is_twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if not is_twice.size:
        return None
    firsts, seconds = pieces[order[is_twice]], pieces[order[is_twice + 1]]
    place = np.lexsort((seconds, firsts))[0]
    first, second = int(firsts[place]), int(seconds[place])
    is_theirs = (firsts == first) & (seconds == second)
    return Shared(first, second, keys[order][is_twice[is_theirs]])


def ids_of_keys(piece: Piece, keys: np.ndarray) -> list[Any]:
    """The ids of the queries with these keys."""
    own = _keys(piece.queries.ids)
    return [plain(one) for one in piece.queries.ids[np.isin(own, keys)].tolist()]


def _keys(ids: np.ndarray) -> np.ndarray:
    """A hash of 64 bits for each id; ids that compare equal have equal ones, also 7 and 7.0, of whatever type."""
    if ids.dtype.kind == "i" or (ids.dtype.kind == "u" and ids.max(initial=0) <= _LARGEST):
        return ids.astype(np.int64).view(np.uint64)
    return np.array([_key(plain(one)) for one in ids.tolist()], dtype=np.uint64)


def _key(one: Any) -> int:
    if isinstance(one, float) and one.is_integer():
        one = int(one)
    if isinstance(one, int) and -_LARGEST - 1 <= one <= _LARGEST:
        return one % (1 << 64)
    kind = "text" if isinstance(one, str) else "other"
    text = one if isinstance(one, str) else repr(one)
    return int.from_bytes(hashlib.blake2b(f"{kind} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
