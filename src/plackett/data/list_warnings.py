"""Warnings about lists without label differences, and about a missing ``qid``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from plackett.data.queries import Queries, QueryLists
from plackett.exceptions import DataWarning, NothingToLearnWarning, warn
from plackett.validation import count_of, feature_number, is_sparse

ONE_LIST = 0  # the id of all rows where qid is None
LONGEST_UNNAMED_LIST = 200  # rows that are accepted as one list without a warning


def warn_of_lists(lists: QueryLists, *, has_qid: bool, is_pointwise: bool) -> None:
    """Warn if no labels differ, or if many rows were taken as one list."""
    if not has_qid:
        warn_of_one_list(lists.n_docs, "fit")
    if not has_differences(lists, is_pointwise=is_pointwise):
        warn(nothing_to_learn(lists.n_queries, lists.n_docs, is_pointwise=is_pointwise), NothingToLearnWarning)


def warn_of_one_list(n_docs: int, where: str) -> None:
    """Warn if ``qid`` was not passed to ``where`` and there are many rows for one list."""
    if n_docs > LONGEST_UNNAMED_LIST:
        warn(
            f"{where} was called without qid: all {n_docs:,} rows were taken as one list. Pass one query id per row, "
            "qid=...; if they are one list, pass qid=0. In pipelines and searches, enable metadata routing: "
            "sklearn.set_config(enable_metadata_routing=True).",
            DataWarning,
        )


def has_differences(lists: QueryLists, *, is_pointwise: bool) -> bool:
    """Return whether two labels differ: within a query, or for pointwise learning anywhere."""
    differs = lists.labels[1:] != lists.labels[:-1]
    if not is_pointwise:
        bounds = lists.indptr[1:-1]
        differs[bounds[(bounds > 0) & (bounds < lists.n_docs)] - 1] = False
    return bool(differs.any())


def nothing_to_learn(n_queries: int, n_docs: int, *, is_pointwise: bool) -> str:
    """Return the warning for labels without differences."""
    if is_pointwise:
        return (
            f"there is nothing to learn: all {count_of(n_docs, 'label')} are equal. Is y the right column, and were "
            "all judgements read?"
        )
    said, n = "there is nothing to learn: no query has two documents with different labels.", f"{n_queries:,}"
    if n_queries == n_docs > 1:
        return (
            f"{said} Each of the {n} queries has one document: is qid a row number or a document id? It must be the "
            "same for all documents of a query."
        )
    where = "All labels are equal" if n_queries == 1 else f"In each of the {n} queries all labels are equal"
    return f"{said} {where}: is y the right column, is qid the id of the query, and were documents of all labels read?"


@contextlib.contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Name the column of X in errors about values that are not numbers."""
    try:
        yield
    except (TypeError, ValueError) as error:
        named = None if is_sparse(X) else _refusal(X)
        if named is None:
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(named) from None


def _refusal(X: Any) -> str | None:
    """Return the message of ``Queries`` if some values of X are not numbers."""
    try:
        values = np.asarray(X)
        if values.ndim == 2 and values.dtype.kind in "OUSM":
            queries = Queries(X)
            for column in queries.categories or ():
                which = feature_number(column, None, queries.feature_names)
                return (
                    f"{which} of X holds text or categories, not numbers. Encode them first, for example with "
                    "plackett.preprocessing.OneHotCategories, or leave the column out."
                )
    except (TypeError, ValueError) as error:
        return str(error)
    return None
