"""Partitioned inputs of ``fit``: paths, ``Queries`` and Dask collections."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett.data.parquet.read import column_names
from plackett.data.queries import Queries
from plackett.data.sources import Source, sources
from plackett.data.tables.column_roles import COLUMNS_LISTED, ID_NAMES, warn_of_columns
from plackett.distributed import loading
from plackett.distributed.cluster import (
    ClusterPartitions,
    active_client,
    has_graph,
    is_future,
    on_parts,
    require_client,
)
from plackett.distributed.local import DelayedPart, LocalPartitions
from plackett.storage.file_names import files_of, is_parquet
from plackett.storage.remote import is_remote

BYTES_PER_PART = 1 << 26  # of a Parquet file read in this process


class PartitionedInput(NamedTuple):
    """Parts to load, the Dask client that loads them, and whether they are data frames."""

    parts: list[DelayedPart]
    client: Any  # None loads them in this process
    has_frames: bool = False

    def map(self, work: Callable[..., Any], *arguments: Any) -> list:
        """Return ``work(part, number, *arguments)`` of each part; no part stays in memory."""
        if self.client is not None:
            return on_parts(self.client, self.parts, work, arguments)
        return [work(part.make(*part.arguments), number, *arguments) for number, part in enumerate(self.parts)]

    def load(self) -> LocalPartitions | ClusterPartitions:
        """Load the parts."""
        return LocalPartitions(self.parts) if self.client is None else ClusterPartitions(self.client, self.parts)


def is_in_parts(X: Any) -> bool:
    """Return whether X is partitioned data rather than rows. Does not import Dask."""
    if isinstance(X, (Queries, np.ndarray)):
        return False
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(one, (Queries, Source)) or _is_part(one) for one in X)
    return _is_part(X)


def _is_part(one: Any) -> bool:
    return isinstance(one, (str, os.PathLike)) or has_graph(one) or is_future(one)


def _is_collection(one: Any) -> bool:
    """Return whether a value is a Dask collection. A Delayed object seems to have any attribute, so check its class."""
    return has_graph(one) and hasattr(type(one), "to_delayed")


def parts_of(
    X: Any,
    y: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    *,
    takes_categories: bool = False,
    needs_labels: bool = True,
) -> PartitionedInput:
    """Return the parts of an X for which ``is_in_parts`` is true, with their labels, query ids and weights."""
    if _is_collection(X):
        client = require_client("A fit to a Dask collection")
        if getattr(X, "ndim", 0) != 2:
            raise ValueError("X is a Dask collection with one dimension; rows and columns are needed.")
        if (y is None and needs_labels) or qid is None:
            raise ValueError(
                "a Dask collection needs y and qid: collections with the same partitions, or column names."
            )
        if hasattr(X, "columns"):
            parts = _of_frame(X, y, qid, sample_weight, takes_categories=takes_categories)
            return PartitionedInput(parts, client, has_frames=True)
        columns = {"label": y, "qid": qid, "weight": sample_weight}
        return PartitionedInput(_side_by_side(partitions_of(X)[0], columns, X.chunks[0]), client)
    items = list(X) if isinstance(X, (list, tuple)) else [X]
    if sample_weight is not None:
        raise ValueError(
            "sample_weight cannot be used with a list of partitions or paths: the query weights would need the same "
            "partitions. Pass a Dask data frame or array, with sample_weight as a column or a matching array."
        )
    n_dask = sum(has_graph(one) or is_future(one) for one in items)
    if n_dask or any(isinstance(one, Queries) for one in items):
        if y is not None or qid is not None:
            what = "Delayed objects and futures" if n_dask else "Queries"
            raise ValueError(f"{what} already have labels and qid; pass neither y nor qid.")
        if 0 < n_dask < len(items):
            raise ValueError("X mixes Dask objects with other partitions. Pass one kind of partition.")
        parts = [DelayedPart(loading.from_queries, (one, f"partition {number}")) for number, one in enumerate(items)]
        return PartitionedInput(parts, require_client("A fit to Delayed objects or futures") if n_dask else None)
    client = active_client()
    files = _sources(items, y, qid, client, needs_labels)
    return PartitionedInput([DelayedPart(loading.load_source, (source.path, source)) for source in files], client)


# --- Files ------------------------------------------------------------------------------------------------------------


def _sources(items: list, y: Any, qid: Any, client: Any, needs_labels: bool) -> list[Source]:
    columns: dict[str, Any] = {name: column for name, column in (("label", y), ("qid", qid)) if column is not None}
    for name, column in columns.items():
        if not isinstance(column, str):
            argument = "y" if name == "label" else name
            raise ValueError(f"X names files, so {argument} must be the name of a column, or left out.")
    made = [one for one in items if isinstance(one, Source)]
    if made:
        return made
    files = files_of(items)
    if client is None:
        n_parts = -(-sum(0 if is_remote(file) else os.path.getsize(file) for file in files) // BYTES_PER_PART)
    else:
        n_parts = sum(client.nthreads().values())
    if not needs_labels and y is None and is_parquet(files[0]) and "label" not in column_names(files[0]):
        columns["label"] = None
    return sources(files, pieces=max(1, n_parts), **columns)


# --- Dask collections -------------------------------------------------------------------------------------------------


def _of_frame(X: Any, y: Any, qid: Any, weight: Any, *, takes_categories: bool) -> list[DelayedPart]:
    roles = {"label": y, "qid": qid, "weight": weight}
    if X.index.name not in X.columns and X.index.name in [value for value in roles.values() if isinstance(value, str)]:
        X = X.reset_index()
    named = [value for value in roles.values() if isinstance(value, str)]
    for name in named:
        if name not in X.columns:
            raise ValueError(f"X has no column {name!r}; it has {', '.join(map(str, X.columns[:COLUMNS_LISTED]))}.")
    ids = [name for name in ID_NAMES if named and name in X.columns and name not in named]
    times = [
        name
        for name, dtype in X.dtypes.items()
        if named and getattr(dtype, "kind", "") in ("m", "M") and name not in named
    ]
    if ids[1:] or times:
        X = X.drop(columns=ids[1:] + times)
        warn_of_columns({}, left_out=ids[1:], times=times, remedy="Drop columns that are not features.")
    roles["docid"] = ids[0] if ids else None
    _check_numbers(X, roles, takes_categories=takes_categories)
    return _side_by_side(X.to_delayed(), roles, None)


def _check_numbers(X: Any, roles: dict[str, Any], *, takes_categories: bool) -> None:
    """Raise for columns that are not numbers, from the types of the frame, before anything is computed."""
    other = {name: dtype for name, dtype in X.dtypes.items() if not loading.is_number(dtype)}
    named = {role: value for role, value in roles.items() if isinstance(value, str)}
    for role, what in (("label", "labels"), ("weight", "weights")):
        if named.get(role) in other:
            raise ValueError(f"{what} must be numbers, but column {named[role]!r} of X is {other[named[role]]}.")
    features = [
        f"{name!r} ({dtype})" for name, dtype in other.items() if name not in (named.get("qid"), named.get("docid"))
    ]
    if features and not takes_categories:
        more = f" and {len(features) - COLUMNS_LISTED} more" if len(features) > COLUMNS_LISTED else ""
        raise ValueError(
            "features must be numbers, but these columns of X are not: "
            f"{', '.join(features[:COLUMNS_LISTED])}{more}. Leave them out, X.drop(columns=[...]), or convert "
            "them to numbers, X.astype({...})."
        )


def partitions_of(X: Any) -> tuple[list, list]:
    """Return the partitions of a Dask data frame, array or vector, as Delayed objects, and their numbers of rows."""
    if getattr(X, "ndim", 0) == 2 and hasattr(X, "numblocks"):
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        return X.to_delayed()[:, 0].tolist(), list(X.chunks[0])
    parts = list(X.to_delayed())
    return parts, list(X.chunks[0]) if hasattr(X, "chunks") else [np.nan] * len(parts)


def _side_by_side(rows: list, of_rows: dict[str, Any], chunks: Any) -> list[DelayedPart]:
    """Return parts whose rows, labels, ids and weights are partitions of collections, or columns of the rows."""
    docid = of_rows.pop("docid", None)
    columns = [_parts_of_column(values, role, len(rows), chunks) for role, values in of_rows.items()]
    return [
        DelayedPart(loading.from_arrays, (X, *of_part, f"partition {number}", docid))
        for number, (X, *of_part) in enumerate(zip(rows, *columns, strict=True))
    ]


def _parts_of_column(values: Any, role: str, n_parts: int, chunks: Any) -> list:
    if values is None or (chunks is None and isinstance(values, str)):  # a column of a frame
        return [values] * n_parts
    argument = {"label": "y", "qid": "qid", "weight": "sample_weight"}[role]
    if not _is_collection(values):
        raise ValueError(
            f"{argument} is a {type(values).__name__}, but X is a Dask collection, whose labels must be on the "
            f"same workers. Pass {argument} as a Dask collection with the same partitions, such as "
            "dask.array.from_array(values, chunks=X.chunks[0])."
        )
    is_array = hasattr(values, "rechunk")
    if is_array and values.ndim > 1:
        if values.ndim > 2 or values.shape[1] != 1:
            raise ValueError(f"{argument} has {values.ndim} dimensions; one value for each row of X is needed.")
        values = values[:, 0]
    if is_array and chunks is not None and values.chunks[0] != chunks and sum(values.chunks[0]) == sum(chunks):
        values = values.rechunk((chunks,))
    parts = list(values.to_delayed())
    if len(parts) != n_parts:
        raise ValueError(f"{argument} has {len(parts)} partitions but X has {n_parts}; the partitions must match.")
    return parts
