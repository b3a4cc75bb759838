"""What a file may say of a query-dependent ranker, and what not."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.rankers.linear_scores import check_vector


def check_matrix(ranker: Any, name: str) -> None:
    """Refuse an attribute from a file that is not a matrix of finite numbers."""
    matrix = getattr(ranker, name, None)
    if (
        not isinstance(matrix, np.ndarray)
        or matrix.ndim != 2
        or matrix.dtype.kind != "f"
        or not np.isfinite(matrix).all()
    ):
        raise ValueError(f"{name} must be a matrix of finite numbers.")


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
