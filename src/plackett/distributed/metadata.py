"""Metadata of the parts of a data set: size, columns and query ids, checked before a fit."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.categories import Categories, same_categories
from plackett.data.list_warnings import has_differences
from plackett.data.preprocessing.missing import missing_in_words
from plackett.data.text_column import as_str_array
from plackett.distributed.loading import LoadedPart, n_bytes
from plackett.validation import check_labels, count_of, feature_number, plain

_LARGEST = 2**63 - 1  # integers up to this are their own keys


class PartMetadata(NamedTuple):
    """Size, columns, labels and query keys of one part."""

    name: str
    n_docs: int
    n_queries: int
    n_features: int
    feature_names: list[str] | None
    first_index: int | None
    may_widen: bool
    weight: float  # of the queries; their number without weights
    keys: np.ndarray  # a 64-bit hash of each query id, the same on every machine
    has_pairs: bool  # whether a query has two documents with different labels
    labels: tuple[float, float] | None  # the lowest and the highest; None if there are no rows
    missing: str | None  # where values are missing, in words
    categories: Categories | None
    n_bytes: int
    label_sum: float  # over the documents, each with the weight of its query
    doc_weight: float


def metadata_of(part: LoadedPart) -> PartMetadata:
    """Return the metadata of a part."""
    queries = part.queries
    try:
        check_labels(queries.labels, queries.n_docs, row_numbers=queries.row_order)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from error
    labels = (float(queries.labels.min()), float(queries.labels.max())) if queries.n_docs else None
    weights = np.ones(queries.n_docs) if part.weights is None else np.repeat(part.weights, np.diff(queries.indptr))
    return PartMetadata(
        part.name, queries.n_docs, queries.n_queries, queries.n_features, queries.feature_names, queries.first_index,
        part.may_widen, part.weight, _keys(queries.ids), has_differences(queries.lists, is_pointwise=False), labels,
        missing_in_words(queries) if part.has_missing else None, queries.categories, n_bytes(queries),
        float(weights @ queries.labels), float(weights.sum()),
    )  # fmt: skip


def check_columns(metadata: Sequence[PartMetadata]) -> tuple[int, list[str] | None]:
    """Return the number of columns and their names; raise if parts differ."""
    first = metadata[0]
    n_features = max(one.n_features for one in metadata)
    for one in metadata:
        if one.n_features != first.n_features and not one.may_widen:
            raise ValueError(
                f"{one.name} has {count_of(one.n_features, 'feature')} but {first.name} has {first.n_features:,}; "
                "all partitions need the same columns."
            )
        if (one.feature_names, one.first_index) != (first.feature_names, first.first_index):
            raise ValueError(
                f"{one.name} has other columns than {first.name}: {_difference(one, first)}. All partitions need the "
                "same columns in the same order."
            )
    return n_features, first.feature_names


def check_categories(metadata: Sequence[PartMetadata]) -> Categories | None:
    """Return the categories of all parts by column, in alphabetical order if parts differ, as a file has them."""
    named = [one.categories or {} for one in metadata]
    columns = sorted(set().union(*named))
    for one, own in zip(metadata, named, strict=True):
        for column in set(columns) - set(own):
            raise ValueError(
                f"{one.name} holds numbers in {feature_number(column, one.first_index, one.feature_names)}, but other "
                "partitions hold text or categories there."
            )
    if all(same_categories(own, named[0]) for own in named):
        return named[0] or None
    return {
        column: as_str_array(sorted({name for own in named for name in own[column].tolist()})) for column in columns
    }


def _difference(one: PartMetadata, other: PartMetadata) -> str:
    if one.feature_names == other.feature_names:
        return f"feature numbers start at {one.first_index} in the former and at {other.first_index} in the latter"
    if one.feature_names is None or other.feature_names is None:
        return "only one of them has column names"
    pairs = zip(one.feature_names, other.feature_names, strict=True)
    place, (new, known) = next((place, pair) for place, pair in enumerate(pairs) if pair[0] != pair[1])
    return f"{feature_number(place, one.first_index)} is {new!r} in the former and {known!r} in the latter"


# --- Queries in two partitions ----------------------------------------------------------------------------------------


def check_whole_queries(metadata: Sequence[PartMetadata], partitions: Any) -> None:
    """Reject a query with rows in two partitions: its loss is not a sum over them."""
    keys, counts = np.unique(np.concatenate([one.keys for one in metadata]), return_counts=True)
    if (counts > 1).any():  # different ids may have the same hash
        ids = partitions.map(ids_of_keys, keys[counts > 1])
        check_ids((one.name, own) for one, own in zip(metadata, ids, strict=True))


def check_ids(ids: Iterable[tuple[str, Iterable[Any]]]) -> None:
    """Raise for a query in two partitions, from their names and the ids of their queries."""
    owners: dict[Any, int] = {}
    shared = defaultdict[tuple[int, int], list](list)
    names = []
    for number, (name, own) in enumerate(ids):
        names.append(name)
        for one in map(plain, own):
            if (owner := owners.setdefault(one, number)) != number:
                shared[owner, number].append(one)
    if shared:
        first, second = min(shared)
        query, *others = shared[first, second]
        more = f" (and {len(others):,} more)" if others else ""
        raise ValueError(
            f"query {query!r}{more} has rows in {names[first]} and in {names[second]}. All rows of a query must be in "
            "one partition. plackett.write_parquet does this; in Dask, use frame.set_index or frame.shuffle by the "
            "query id."
        )


def ids_of_keys(part: LoadedPart, keys: np.ndarray) -> list[Any]:
    """Return the ids of the queries with these keys."""
    own = _keys(part.queries.ids)
    return [plain(one) for one in part.queries.ids[np.isin(own, keys, kind="sort")].tolist()]


def _keys(ids: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each id. Ids that compare equal, such as 7 and 7.0, have equal hashes."""
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
