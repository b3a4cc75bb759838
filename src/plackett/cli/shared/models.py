"""Reading and writing model files, and matching the columns of data to them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plackett.data.queries import Queries


def next_step(path: str) -> None:
    """Say what to do with a model that was written."""
    from plackett.cli.shared import output

    output.next_step(f"Evaluate it: plackett evaluate DATA {shlex.quote(path)}")


def load_ranker(path: str) -> Any:
    """Return the ranker in a model file."""
    from plackett.cli.shared import output
    from plackett.rankers.base import Ranker
    from plackett.rankers.registry import load
    from plackett.storage.opening import name_of

    with output.doing(f"loading {name_of(path)}"):
        loaded = load(path)
    if not isinstance(loaded, Ranker):
        raise ValueError(f"{name_of(path)} holds a {type(loaded).__name__}, not a ranker.")
    return loaded


def check_features(queries: Queries, name: str) -> None:
    """Raise for data without features."""
    if queries.n_features == 0:
        from plackett.validation import count_of

        needed = 'expected rows like "label qid:ID 1:value 2:value ...".'
        raise ValueError(f"{name} has {count_of(queries.n_docs, 'row')} but no features; {needed}")


def fit_columns(queries: Queries, n_features: int, name: str, wanted_by: str) -> tuple[Queries, str | None]:
    """Return queries with as many columns as the model, and a note if some were added.

    LETOR files may leave out zeros, so a file whose last columns are all zero seems to have fewer.
    """
    from plackett.validation import count_of

    check_features(queries, name)
    n_missing = n_features - queries.n_features
    if n_missing == 0:
        return queries, None
    if n_missing < 0 or queries.feature_names is not None:  # only rows of LETOR leave out zeros
        raise ValueError(f"{name} has {count_of(queries.n_features, 'feature')} but {wanted_by} has {n_features:,}.")
    note = (
        f"{name} has {count_of(queries.n_features, 'feature')} and {wanted_by} has {n_features:,}; "
        f"the last {n_missing:,} count as 0"
    )
    return _padded(queries, n_features), note


def for_model(queries: Queries, ranker: Any, name: str, model: str) -> Queries:
    """Return queries with as many columns as a model; print a note if some were added."""
    from plackett.cli.shared import output

    if ranker.ignores_further_columns_ and queries.n_features > ranker.n_features_in_:
        return queries
    queries, note = fit_columns(queries, ranker.n_features_in_, name, f"the model {model}")
    if note is not None:
        output.note(note)
    return queries


def name_of_data(data: list) -> str:
    """Return the name of the data in messages."""
    from plackett.storage.opening import name_of

    first = name_of(data[0])
    return first if len(data) == 1 else f"{first} and {len(data) - 1} more"


def _padded(queries: Queries, n_features: int) -> Queries:
    import numpy as np

    from plackett.validation import is_sparse

    X: Any = queries.X
    if is_sparse(X):
        X = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    else:
        X = np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
    return queries.replace(X=X, feature_names=None)
