"""What a file may say of a query-dependent ranker, and what not."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.rankers.linear_scores import check_vector
from plackett.rankers.query_dependent.kernels import Overlap, get_kernel
from plackett.scorers.kernel import check_kernel
from plackett.validation import check_choice, check_number, check_positive_int, is_sparse


def check_matrix(ranker: Any, name: str) -> None:
    """Refuse an attribute from a file that is not a matrix of finite numbers."""
    matrix = getattr(ranker, name, None)
    if (
        not isinstance(matrix, np.ndarray)
        or matrix.ndim != 2
        or matrix.dtype not in (np.float32, np.float64)
        or not np.isfinite(matrix).all()
    ):
        raise ValueError(f"{name} must be a matrix of finite numbers.")
    setattr(ranker, name, np.ascontiguousarray(matrix))  # as kernels take them


def check_source(source: Any, n_features: int) -> int:
    """Refuse a ``QueryFeatureSource`` from a file that takes other columns than there are.

    Returns
    -------
    int
        The number of columns that documents keep.
    """
    check_choice(source.kind, "kind", ["none", "matrix", "columns", "mean"])
    if type(source.n_columns) is not int or (source.kind != "matrix" and source.n_columns != n_features):
        raise ValueError("the number of columns of the query features is wrong.")
    columns = _column_numbers(source.columns, n_features, "columns")
    if (source.kind == "columns") != (source.columns is not None):
        raise ValueError("columns must be those that hold query features.")
    n_found = len(columns) if source.kind == "columns" else source.n_columns
    scaled = _column_numbers(source.scaled, n_found, "scaled")
    _column_numbers(None if source.base_column is None else [source.base_column], n_features, "base_column")
    if source.depth is not None:
        check_positive_int(source.depth, "depth")
    if source.kind != "none" and source.scaled is None:
        raise ValueError("scaled must be the query features that are numbers.")
    if source.centre is not None:
        for name in ("centre", "factor"):
            check_vector(source, name)
            if getattr(source, name).size != len(scaled):
                raise ValueError(f"{name} must have one number for each of {len(scaled)} query features.")
    return n_features - len(columns)


def _column_numbers(columns: Any, n: int, name: str) -> list[int]:
    if columns is None:
        return []
    is_list = isinstance(columns, list) and all(type(column) is int and 0 <= column < n for column in columns)
    if not is_list or len(set(columns)) < len(columns):
        raise ValueError(f"{name} must be different numbers from 0 to {n - 1}.")
    return columns


def check_weights(weights: Any, n_queries: int) -> None:
    """Refuse ``QueryWeights`` from a file whose features are not those of the training queries."""
    weights._check_parameters()
    if weights.n_queries_ != n_queries or type(weights.n_columns_) is not int:
        raise ValueError(f"there are {n_queries} models, but not as many queries.")
    if weights.numeric_ is not None:
        check_matrix(weights, "numeric_")
    parts = (weights.kernels_, weights.kernel_columns_, weights.coded_, weights.levels_)
    n_kernels = len(weights.kernels_)
    if any(type(part) is not list or len(part) != n_kernels for part in parts):
        raise ValueError("query weights must have a column, codes and levels for each kernel.")
    _column_numbers(weights.kernel_columns_, weights.n_columns_, "kernel_columns_")
    n_numeric = 0 if weights.numeric_ is None else weights.numeric_.shape[1]
    if n_numeric + n_kernels != weights.n_columns_ or (weights.needs_features and not weights.n_columns_):
        raise ValueError("query weights must have the columns of the query features.")
    if weights.numeric_ is not None and weights.numeric_.shape[0] != n_queries:
        raise ValueError(f"numeric_ must have {n_queries} rows.")
    for kernel, codes, levels in zip(weights.kernels_, weights.coded_, weights.levels_, strict=True):
        is_of_categories = isinstance(get_kernel(kernel), Overlap)
        wanted, n_axes = (np.int64, 1) if is_of_categories else (np.float64, 2)
        if not isinstance(codes, np.ndarray) or codes.dtype != wanted or codes.ndim != n_axes:
            raise ValueError("coded_ must hold categories or rankings as numbers.")
        if codes.shape[0] != n_queries or (levels is None) == is_of_categories:
            raise ValueError(f"coded_ must have {n_queries} rows, and levels_ the categories.")


def check_space(space: Any, n_columns: int) -> int:
    """Refuse a ``FunctionSpace`` from a file that does not take ``n_columns`` columns; the answer is its size."""
    check_kernel(space.kernel)
    check_number(space.gamma_, "gamma_", above=0.0)
    check_number(space.degree, "degree", least=1.0)
    check_number(space.coef0, "coef0")
    if space.is_linear:
        return n_columns
    rows = space.support_.data if is_sparse(space.support_) else space.support_
    if not isinstance(rows, np.ndarray) or rows.dtype not in (np.float32, np.float64) or not np.isfinite(rows).all():
        raise ValueError("support_ must hold documents.")
    if len(space.support_.shape) != 2 or space.support_.shape[1] != n_columns:
        raise ValueError(f"support_ must have {n_columns} columns.")
    if space.factor_ is None:
        return space.support_.shape[0]
    check_matrix(space, "factor_")
    if space.factor_.shape[0] != space.support_.shape[0]:
        raise ValueError(f"factor_ must have {space.support_.shape[0]} rows.")
    return space.factor_.shape[1]


def check_training(ranker: Any, n_queries: int, n_columns: int) -> None:
    """Refuse training documents from a file whose bounds or labels do not belong to them: kernels trust these."""
    check_matrix(ranker, "training_rows_")
    check_vector(ranker, "training_labels_")
    indptr, labels = ranker.training_indptr_, ranker.training_labels_
    if not isinstance(indptr, np.ndarray) or indptr.dtype != np.int64 or indptr.shape != (n_queries + 1,):
        raise ValueError(f"training_indptr_ must hold {n_queries + 1} whole numbers.")
    if indptr[0] != 0 or (np.diff(indptr) < 1).any() or indptr[-1] != labels.size:
        raise ValueError("training_indptr_ must rise from 0 to the number of labels.")
    if ranker.training_rows_.shape != (labels.size, n_columns):
        raise ValueError(f"training_rows_ must have {labels.size} rows of {n_columns} numbers.")
    rises = np.diff(labels) > 0
    rises[indptr[1:-1] - 1] = False
    if rises.any():
        raise ValueError("training_labels_ must fall within each query.")
    if ranker.training_shares_ is not None:
        check_vector(ranker, "training_shares_")
        if ranker.training_shares_.shape != (n_queries,) or (ranker.training_shares_ < 0).any():
            raise ValueError(f"training_shares_ must hold {n_queries} numbers of at least 0.")
