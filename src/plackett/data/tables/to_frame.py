"""Converting ``Queries`` to data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._optional import import_optional
from plackett.data.categories import decode_column
from plackett.data.tables.column_roles import COMMENT, check_feature_names
from plackett.validation import check_choice, check_csr, is_sparse

if TYPE_CHECKING:
    from plackett.data.queries import Queries

BACKENDS = ("pandas", "polars", "pyarrow")


def to_frame(queries: Queries, backend: str, *, label: str, qid: str, docid: str) -> Any:
    """Return the queries as a data frame: see ``Queries.to_frame``."""
    check_choice(backend, "backend", BACKENDS)
    module = import_optional(backend, extra=None, needed_for=f"to_frame with backend={backend!r}")
    names = queries.feature_labels
    columns = {qid: _as_values(queries.qid)}
    if queries.docid is not None:
        columns[docid] = _as_values(queries.docid)
    if queries.y is not None:
        columns[label] = queries.y
    if queries.comments is not None:
        columns[COMMENT] = list(queries.comments)
    check_feature_names(names, columns, "to_frame(..., qid=...).")
    check_csr(queries.X)
    X = queries.X.toarray() if is_sparse(queries.X) else queries.X
    known = queries.categories or {}
    columns |= {
        name: decode_column(X[:, place], known[place], backend) if place in known else np.ascontiguousarray(X[:, place])
        for place, name in enumerate(names)
    }
    try:
        return module.table(columns) if backend == "pyarrow" else module.DataFrame(columns)
    except (TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(f'{backend} has no column type for some ids ({reason}). Use to_frame("pandas").') from error


def _as_values(ids: np.ndarray) -> np.ndarray | list:
    return ids if ids.dtype.kind in "iuf" else ids.tolist()
