"""Sources of query features: a matrix, columns that are constant within queries, or means of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._arrays import column_of, dense, part_of_place
from plackett._lazy import importing
from plackett._parameters import Parameters
from plackett._threads import query_blocks
from plackett.data.description.describe import constant_within
from plackett.data.queries import Queries
from plackett.rankers.query_dependent.query_table import QueryTable, check_loaded_columns
from plackett.scorers.linear import LinearScorer
from plackett.storage.models.array_checks import check_vector
from plackett.validation import (
    check_choice,
    check_positive_int,
    count_of,
    feature_number,
    find_column,
    is_sparse,
    plain,
)

DOCS_PER_BLOCK = 16384
ALIKE = 1e-12  # relative spread up to which means are constant except for rounding


@dataclass(eq=False, repr=False)
class QueryFeatureSource(Parameters):
    """Extracts query features from training queries, and later in the same way from others; fit sets the parameters.

    Query features are none, a separate matrix, columns of X (which are then not features of the documents), or means of
    the features of documents, of the first ``depth`` by ``base_column``. ``n_columns`` are those of X, or of the
    matrix. ``scaled`` are the places of those that are numbers; ``centre`` is subtracted from them, and the rest
    multiplied by ``factor``.
    """

    kind: str = "none"
    columns: list[int] | None = None
    names: list[str] | None = None
    n_columns: int = 0
    depth: int | None = None
    base_column: int | None = None
    centre: np.ndarray | None = None
    factor: np.ndarray | None = None
    scaled: list[int] | None = None

    def fit(
        self,
        queries: Queries,
        setting: Any = None,
        matrix: Any = None,
        *,
        depth: int | None = None,
        base_column: int | str | None = None,
        scale: bool = False,
        kernels: Mapping[int | str, Any] | None = None,
    ) -> tuple[Queries, np.ndarray | None]:
        """Return the training queries without the columns that are query features, and the query features.

        ``setting`` is that of ``QueryDependentRanker``, or ``"none"``. Documents that tie for the last places of
        ``depth`` share them, so the order of the rows has no influence. Constant features become 0 where they are
        scaled. ``kernels`` are columns of the matrix, or of X, that are categories or rankings, which are not scaled;
        features are then objects.
        """
        setting, matrix = self._settle(queries, setting, matrix)
        self.kind, self.columns, self.names, self.n_columns = setting, None, None, queries.n_features
        self.depth = self.base_column = self.centre = self.factor = self.scaled = None
        if setting == "none":
            return queries, None
        if setting == "mean" and depth is not None:
            self._keep_depth(queries, depth, base_column)
        elif isinstance(setting, list):
            self.kind, self.columns = "columns", setting
        if setting == "matrix":
            table = _check_matrix(matrix, queries)
            self.names, self.n_columns = table.names, table.n_columns
        elif queries.feature_names is not None or queries.first_index is not None:
            labels = queries.feature_labels
            self.names = labels if self.columns is None else [labels[column] for column in self.columns]
        other = set(self.kernels_of(kernels) or ())
        n_features = self.n_columns if self.columns is None else len(self.columns)
        self.scaled = [place for place in range(n_features) if place not in other]
        features = self._features(queries, matrix)
        if scale:
            alike = ALIKE if self.kind == "mean" else 0.0
            self.centre, self.factor = _scaling(features[:, self.scaled].astype(np.float64), alike)
            self._scale(features)
        return self.documents(queries), features

    def transform(self, queries: Queries, matrix: Any = None) -> tuple[Queries, np.ndarray | None]:
        """Return other queries without the columns that are query features, and their query features.

        ``matrix`` is needed if there was one in :meth:`fit`, with the same columns and one row per query.
        """
        if self.kind != "matrix" and matrix is not None:
            came_from = {"columns": "took columns of X", "mean": "took means of the documents", "none": "had none"}
            raise ValueError(f"a matrix of query features was given, but fit {came_from[self.kind]}. Leave it out.")
        if self.kind == "none":
            return queries, None
        if self.kind == "matrix" and matrix is None:
            raise ValueError(
                "fit had a matrix of query features; new queries need theirs too: pass query_features with one "
                f"row per query ({queries.n_queries:,}), in order of first appearance."
            )
        features = self._features(queries, matrix)
        self._scale(features)
        return self.documents(queries), features

    def documents(self, queries: Queries) -> Queries:
        """Return ``queries`` without the columns that are query features."""
        self._check_width(queries)
        if self.columns is None:
            return queries
        kept = np.setdiff1d(np.arange(queries.n_features), self.columns)
        X = queries.X[:, kept] if is_sparse(queries.X) else np.take(queries.X, kept, axis=1)
        names = queries.feature_names
        return queries.replace(
            X=X, feature_names=None if names is None else [names[column] for column in kept], first_index=None
        )

    def kernels_of(self, kernels: Mapping[int | str, Any] | None) -> dict[int, Any] | None:
        """Return ``kernels`` by place among the query features, as ``QueryWeights`` takes them.

        They are given by number or name of the column, in X if query features are columns of X.
        """
        if not kernels:
            return None
        places: dict[int, Any] = {}
        for column, kernel in kernels.items():
            place = self._place_of(column)
            if place in places:
                raise ValueError(f"kernels has column {plain(column)!r} twice, by number and by name.")
            places[place] = kernel
        return places

    def _place_of(self, column: int | str) -> int:
        if isinstance(column, str):
            if column not in (self.names or ()):
                known = ", ".join(map(repr, self.names)) if self.names else "no names"
                raise ValueError(f"kernels has {column!r}, which is not a query feature; they have {known}.")
            return (self.names or []).index(column)
        known_columns = list(range(self.n_columns)) if self.columns is None else self.columns
        if column not in known_columns:
            shown = f"columns {', '.join(map(str, known_columns))}" if self.columns else f"{self.n_columns} columns"
            raise ValueError(f"kernels has column {plain(column)!r}, which is not a query feature; they are {shown}.")
        return known_columns.index(column)

    def _settle(self, queries: Queries, setting: Any, matrix: Any) -> tuple[Any, Any]:
        """Return the kind of query features or a list of column numbers, and the matrix."""
        if is_matrix(setting):
            if matrix is not None:
                raise ValueError("two matrices of query features were given; one is needed.")
            return "matrix", setting
        if matrix is not None:
            if setting is not None:
                raise ValueError(
                    f"a matrix of query features was given, and query_features={plain(setting)!r}. Pass one of them."
                )
            return "matrix", matrix
        if isinstance(setting, str):
            if setting not in ("auto", "mean", "none"):
                raise ValueError(
                    f'query_features={setting!r}; it must be "auto", "mean", a list of columns, a matrix or None. For '
                    f"one column: [{setting!r}]."
                )
            if setting != "auto":
                return setting, None
        elif setting is not None:
            return column_numbers(setting, queries, "query_features"), None
        columns = query_level_columns(queries)
        if not columns and setting == "auto":
            raise ValueError(
                'query_features="auto" looks for columns that are constant within every query and differ between '
                'queries, but X has none, or only such columns. Try query_features="mean", or pass a matrix with one '
                "row per query."
            )
        return columns or "mean", None

    def _keep_depth(self, queries: Queries, depth: int, base_column: int | str | None) -> None:
        if base_column is None:
            raise ValueError(f"depth={depth!r} needs base_column, the column of X by which documents come first.")
        self.depth = check_positive_int(depth, "depth")
        self.base_column = column_numbers([base_column], queries, "base_column")[0]

    def _check_width(self, queries: Queries) -> None:
        if self.kind in ("columns", "mean") and queries.n_features != self.n_columns:
            raise ValueError(f"X has {count_of(queries.n_features, 'column')}, but had {self.n_columns} in fit.")

    def _features(self, queries: Queries, matrix: Any) -> np.ndarray:
        """Return query features before scaling."""
        self._check_width(queries)
        if self.kind == "mean":
            return mean_features(queries, document_weights(queries, self.depth, self.base_column))
        if self.kind == "columns":
            assert self.columns is not None
            return column_features(queries, self.columns)
        table = _check_matrix(matrix, queries)
        if table.n_columns != self.n_columns:
            raise ValueError(
                f"the query features have {count_of(table.n_columns, 'column')}, but had {self.n_columns} in fit."
            )
        if table.names is not None and self.names is not None and table.names != self.names:
            raise ValueError(f"the query features have the columns {table.names}, but in fit they were {self.names}.")
        assert self.scaled is not None
        numbers = table.numbers(self.scaled)
        if len(self.scaled) == table.n_columns:
            return numbers
        features = table.objects()
        features[:, self.scaled] = numbers
        return features

    def _scale(self, features: np.ndarray) -> None:
        if self.centre is not None:
            features[:, self.scaled] = (features[:, self.scaled].astype(np.float64) - self.centre) * self.factor

    def check_loaded_for(self, n_features: int) -> int:
        """Raise a ValueError if a loaded source does not fit ``n_features`` columns; return those of the documents."""
        check_choice(self.kind, "kind", ["none", "matrix", "columns", "mean"])
        if type(self.n_columns) is not int or (self.kind != "matrix" and self.n_columns != n_features):
            raise ValueError("the number of columns of the query features is wrong.")
        columns = check_loaded_columns(self.columns, n_features, "columns")
        if (self.kind == "columns") != (self.columns is not None):
            raise ValueError("columns must be those that hold query features.")
        scaled = check_loaded_columns(self.scaled, len(columns) if self.kind == "columns" else self.n_columns, "scaled")
        check_loaded_columns(None if self.base_column is None else [self.base_column], n_features, "base_column")
        if self.depth is not None:
            check_positive_int(self.depth, "depth")
        if self.kind != "none" and self.scaled is None:
            raise ValueError("scaled must be the query features that are numbers.")
        if self.centre is not None:
            for name in ("centre", "factor"):
                check_vector(self, name, size=len(scaled))
        return n_features - len(columns)


def is_matrix(setting: Any) -> bool:
    """Return whether the setting is a matrix of query features, not columns or a method."""
    if setting is None or isinstance(setting, str):
        return False
    if is_sparse(setting) or hasattr(setting, "columns") or getattr(setting, "ndim", 1) > 1:
        return True
    return (
        isinstance(setting, (list, tuple))
        and len(setting) > 0
        and all(hasattr(row, "__len__") and not isinstance(row, str) for row in setting)
    )


def column_numbers(columns: Iterable[int | str], queries: Queries, what: str) -> list[int]:
    """Return the numbers of columns of X given by number or name; at least one column must be left for documents."""
    if not hasattr(columns, "__iter__"):
        raise ValueError(
            f'{what}={plain(columns)!r}; it must be "auto", "mean", a list of columns, a matrix or None.'
            f" For one column: [{plain(columns)!r}]."
        )
    numbers: list[int] = []
    for column in columns:
        if isinstance(column, str):
            found = find_column(column, queries.n_features, queries.feature_names, queries.first_index)
            if found is None and queries.feature_names is None:
                raise ValueError(f"{what} names column {column!r}, but the columns of X have no names.")
            if found is None:
                raise ValueError(f"{what} names column {column!r}, which X does not have.")
            number = found
        elif isinstance(column, (int, np.integer)) and not isinstance(column, (bool, np.bool_)):
            number = int(column)
            if not 0 <= number < queries.n_features:
                raise ValueError(f"{what} has column {number}, but X has {count_of(queries.n_features, 'column')}.")
        else:
            raise ValueError(f"{what} has {plain(column)!r}; columns are given by number or name.")
        if number in numbers:
            raise ValueError(f"{what} has column {plain(column)!r} twice.")
        numbers.append(number)
    if not numbers:
        raise ValueError(f"{what} is an empty list; name at least one column.")
    if what == "query_features" and len(numbers) == queries.n_features:
        raise ValueError(f"{what} takes all columns of X; at least one must be left for the documents.")
    return numbers


def query_level_columns(queries: Queries) -> list[int]:
    """Return the columns of X that are constant within every query, but not in all of X.

    Empty if all queries have a single document, or if all columns are such.
    """
    if (np.diff(queries.indptr) < 2).all():
        return []
    columns = np.flatnonzero(constant_within(queries))
    values = dense(queries.X[queries.indptr[:-1]][:, columns])
    columns = columns[(values != values[:1]).any(axis=0)]
    return [] if columns.size == queries.n_features else columns.tolist()


def column_features(queries: Queries, columns: list[int]) -> np.ndarray:
    """Return the values of columns that are constant within each query; an error names the first that is not."""
    values = np.stack([column_of(queries.X, column) for column in columns], axis=1)
    first = values[queries.indptr[:-1]]
    row, at = np.nonzero(values != np.repeat(first, np.diff(queries.indptr), axis=0))
    if row.size:
        which = feature_number(columns[at[0]], queries.first_index, queries.feature_names)
        raise ValueError(
            f"{which} is a query feature, but it differs between the documents of query "
            f"{plain(queries.qid[row[0]])!r}. Query features must be constant within each query; "
            'query_features="mean" takes means.'
        )
    return first


def document_weights(queries: Queries, depth: int | None, base_column: int | None) -> np.ndarray:
    """Return the weight of each document in the mean of its query: 1, or a share of the first ``depth`` places."""
    if depth is None:
        return np.ones(queries.n_docs)
    assert base_column is not None
    base = column_of(queries.X, base_column)
    query = part_of_place(queries.indptr)
    order = np.lexsort((-base, query))
    ranked = base[order]
    # documents of equal base share the places from that of the first of them to that of the last
    is_first = np.concatenate([[True], (query[1:] != query[:-1]) | (ranked[1:] != ranked[:-1])])
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=base.size)
    ahead = starts - queries.indptr[query[starts]]
    weights = np.empty(base.size)
    weights[order] = np.repeat(np.clip(depth - ahead, 0, sizes) / sizes, sizes)
    return weights


def mean_features(queries: Queries, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the rows of each query, in float64, bit-identical for any order of its rows.

    The models of new queries depend on it, and a rounding error can change the steps of their solver.
    """
    with importing:
        from scipy import sparse

    features = np.empty((queries.n_queries, queries.n_features))
    direction = np.random.default_rng(0).normal(size=queries.n_features)
    for first, last in query_blocks(queries.indptr, DOCS_PER_BLOCK):
        part = queries[first:last]
        order = np.lexsort((LinearScorer(part.X).scores(direction), part_of_place(part.indptr)))  # by values
        own = weights[queries.indptr[first] : queries.indptr[last]][order]
        shares = sparse.csr_array((own, order, part.indptr), (last - first, own.size))
        sums = dense(shares @ part.X.astype(np.float64))
        totals = np.add.reduceat(own, part.indptr[:-1])
        features[first:last] = sums / totals[:, None]
    return features


def _check_matrix(matrix: Any, queries: Queries) -> QueryTable:
    table = QueryTable(matrix, queries.ids)
    if table.n_queries != queries.n_queries:
        is_per_document = table.n_queries == queries.n_docs
        hint = "the first of each query, not one per document" if is_per_document else "in order of first appearance"
        raise ValueError(
            f"the query features have {count_of(table.n_queries, 'row')}, but there are "
            f"{count_of(queries.n_queries, 'query', 'queries')}; one row per query is needed ({hint})."
        )
    return table


def _scaling(features: np.ndarray, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and inverse deviations; 0 for columns that are constant up to the relative spread ``alike``."""
    centre, spread = features.mean(axis=0), np.ptp(features, axis=0)
    is_constant = spread <= alike * abs(features).max(axis=0)
    unit = np.where(is_constant, 1.0, spread)  # avoids underflow of squares
    deviation = unit * ((features - centre) / unit).std(axis=0)
    return centre, np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, deviation))
