"""Tables as rankers take them: columns by their names, in any order and among others."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._names import did_you_mean
from plackett.data.judged import Columns, as_judged, check_columns
from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import as_arrow, is_frame, is_lazy
from plackett.data.tables.column_roles import COLUMNS_LISTED, near
from plackett.data.tables.column_roles import is_number as is_number_text
from plackett.data.tables.kinds import is_number, number_texts

ROLES = tuple(Columns.__annotations__)


def judged_by_names(X: Any, y: Any, qid: Any, eval_set: Any, columns: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return X, y, qid and eval_set of ``fit``: a frame whose columns are named by their roles becomes ``Queries``."""
    y = columns.pop("label", None) if y is None else y
    named = {name: value for name, value in (("qid", qid), ("label", y)) if value is not None}
    if not is_local_frame(X) or not (columns or any(isinstance(value, str) for value in named.values())):
        if columns:
            check_columns(columns)
            raise TypeError(f"{next(iter(columns))} names columns of a data frame, but X is a {type(X).__name__}.")
        return X, y, qid, eval_set
    if is_local_frame(eval_set):
        roles: dict[str, Any] = {name: value for name, value in named.items() if isinstance(value, str)}
        eval_set = as_judged(eval_set, **roles, **columns)
    return as_judged(X, **named, **columns), None, None, eval_set


def values_of(X: Any, role: Any) -> Any:
    """Return the values of a column of a frame if ``role`` is a name, else ``role``."""
    if not is_local_frame(X) or not isinstance(role, str):
        return role
    names = names_of(X) or []
    if role not in names:  # as the id of all rows it would make one list of them
        raise ValueError(f"there is no column {role!r}.{did_you_mean([*map(repr, near(role, names))])}")
    column = X[role] if hasattr(X, "iloc") else as_arrow(X.select(role) if is_lazy(X) else X).column(role)
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    return values.tolist() if values.dtype == object else values


def columns_of_fit(ranker: Any, X: Any) -> Any:
    """Return the columns of a frame, or of ``Queries``, that a fitted ranker knows by name, in its order."""
    known = getattr(ranker, "feature_names_", None)
    names = X.feature_names if isinstance(X, Queries) else names_of(X)
    if known is None or names is None:
        return X
    known = list(known)
    if names != known:
        missing = next((name for name in known if name not in names), None)
        if missing is not None:
            more = ", ..." if len(names) > COLUMNS_LISTED else ""
            raise ValueError(
                f"the model needs {missing!r}, which this table does not have; it has "
                f"{', '.join(map(repr, names[:COLUMNS_LISTED]))}{more}."
                + did_you_mean([*map(repr, near(missing, names))])
            )
        places = [names.index(name) for name in known]
        if isinstance(X, Queries):
            own = X.categories or {}
            categories = {place: own[other] for place, other in enumerate(places) if other in own}
            return X.replace(X=X.X[:, places], feature_names=known, categories=categories or None)
        X = X.iloc[:, places] if hasattr(X, "iloc") else X.select(known)
    if isinstance(X, Queries):
        return X
    X = X.collect() if is_lazy(X) else X
    found = (ranker.categories_ or {}).items()
    return _with_texts(X, [known[place] for place, texts in found if all(map(is_number_text, texts.tolist()))])


def is_local_frame(X: Any) -> bool:
    """Return whether X is a data frame in this process; ``fit`` reads the columns of a Dask collection itself."""
    return is_frame(X) and not hasattr(X, "__dask_graph__")


def names_of(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame; None for other data."""
    if not is_local_frame(X):
        return None
    found = X.collect_schema().names() if is_lazy(X) else getattr(X, "column_names", None) or X.columns
    return [str(name) for name in found]


def _with_texts(X: Any, columns: list[str]) -> Any:
    """Return a frame whose columns of categories are text, also where they hold numbers, as those of ``fit`` did."""
    for name in columns:
        column = as_arrow(X[[name]] if hasattr(X, "iloc") else X.select([name])).column(0)
        if str(column.type).startswith("dictionary"):  # categories, which may be numbers
            column = column.cast(column.type.value_type)
        if not is_number(column.type):
            continue
        texts = number_texts(column)
        if hasattr(X, "iloc"):
            X = X.assign(**{name: texts.to_pylist()})
        else:
            X = as_arrow(X)
            X = X.set_column(X.column_names.index(name), name, texts)
    return X
