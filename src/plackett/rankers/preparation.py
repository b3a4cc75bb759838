"""Preparation of rows before scaling: categories become numbers, then missing values are filled.

The one place for all rankers: ``fit`` learns the encoder and the imputer from training rows, and everything that checks
rows applies them. Rankers that take categories or NaN as they are (``takes_categories``, ``takes_missing``) receive
them unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.categories import Categories, align, column_of
from plackett.data.preprocessing.categories import CategoryEncoder, TargetCategories, categories_in_words, get_encoder
from plackett.data.preprocessing.missing import MissingValues, check_rule, missing_in_words
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_choice, feature_labels, feature_number

RULES = '"zero", "mean", "median", "min", "query-median" or a transformer'


def fills_missing(ranker: Any) -> bool:
    """Return whether a ranker has a rule for missing values."""
    rule = getattr(ranker, "missing", "error")
    return not (isinstance(rule, str) and rule == "error")


def check_parameters(ranker: Any) -> None:
    """Reject invalid values of ``missing``, ``missing_indicator`` and ``encoding``."""
    if hasattr(type(ranker), "missing"):  # trees pass further keywords on to their package
        check_rule(ranker.missing, "missing", also=("error",))
        check_choice(ranker.missing_indicator, "missing_indicator", (False, True))
        if ranker.missing_indicator and not fills_missing(ranker):
            raise ValueError(f"missing_indicator=True needs a rule for the missing values: missing={RULES}.")
    if hasattr(type(ranker), "encoding"):
        check_choice(ranker.encoding, "encoding", ("error", "one-hot", "target"))


def fit_preparation(ranker: Any, queries: Queries, *, has_missing: bool) -> Queries:
    """Learn the encoder and the imputer of a ranker from checked training rows; return the rows prepared."""
    ranker.categories_ = queries.categories
    if not ranker.takes_categories:
        ranker.encoder_ = None if queries.categories is None else _new_encoder(ranker, queries)
    if not ranker.takes_missing:
        ranker.imputer_ = None
    if ranker.encoder_ is not None:
        ranker.encoder_.fit_queries(queries)
    is_filled = not ranker.takes_missing and fills_missing(ranker)
    if has_missing and not is_filled and not ranker.takes_missing:
        _refuse_missing(ranker, queries)
    encoded = _encoded(ranker, queries, is_fit=True)
    if not is_filled:
        return encoded
    ranker.imputer_ = MissingValues(ranker.missing, bool(ranker.missing_indicator))
    ranker.imputer_.fit_queries(encoded)
    return _filled(ranker, encoded, has_missing)


def apply_preparation(ranker: Any, queries: Queries, *, has_missing: bool) -> Queries:
    """Return checked rows, with the codes of ``fit``, prepared as in ``fit``."""
    if has_missing and ranker.imputer_ is None and not ranker.takes_missing:
        _refuse_missing(ranker, queries)
    encoded = _encoded(ranker, queries, is_fit=False)
    return encoded if ranker.imputer_ is None else _filled(ranker, encoded, has_missing)


def _new_encoder(ranker: Any, queries: Queries) -> CategoryEncoder:
    rule = getattr(ranker, "encoding", None)
    if rule in (None, "error"):
        advice = (
            'Set encoding="one-hot" (a column for each category) or "target" (the mean label of a category, '
            "cross-fitted by query), on the command line --encoding. Or use a tree ranker, which takes categories as "
            "they are, or leave these columns out."
            if rule == "error"
            else "Leave these columns out, or encode them first (plackett.preprocessing)."
        )
        raise ValueError(f"X holds text or categories in {categories_in_words(queries)}. {advice}")
    return get_encoder(rule)


def _refuse_missing(ranker: Any, queries: Queries) -> None:
    words = missing_in_words(queries, () if ranker.encoder_ is None else queries.categories or ())
    if words is None:  # only categories are missing, which encoders define
        return
    if hasattr(ranker, "missing"):
        advice = (
            f"Set missing= to a rule ({RULES}; on the command line: --missing), or use a tree ranker, which takes NaN "
            "as it is."
        )
    else:
        advice = "Fill or drop them first."
    raise ValueError(f"{words} {advice}")


def _encoded(ranker: Any, queries: Queries, *, is_fit: bool) -> Queries:
    encoder = ranker.encoder_
    if encoder is None:
        return queries
    is_crossed = is_fit and isinstance(encoder, TargetCategories)
    X = encoder.cross_fitted(queries) if is_crossed else encoder.transform_queries(queries)
    return _with_columns(queries, X, encoder)


def _filled(ranker: Any, queries: Queries, has_missing: bool) -> Queries:
    X = ranker.imputer_.transform_queries(queries, has_missing)
    return queries if X is queries.X else _with_columns(queries, X, ranker.imputer_)


def _with_columns(queries: Queries, X: Any, step: Any) -> Queries:
    names = queries.feature_names
    if names is not None or X.shape[1] != queries.n_features:
        names = step.labels(queries.feature_labels)
    return queries.replace(X=X, feature_names=names, categories=None)


def align_categories(ranker: Any, X: Any, given: Categories | None, *, is_array: bool) -> Any:
    """Return X with the codes of ``fit``; a category that was not in ``fit`` becomes missing.

    Columns are compared by name where X has categories. An array has the codes of ``fit``.
    """
    known: Categories = ranker.categories_ or {}
    if is_array or (not known and not given):
        return X
    first_index, names = ranker.first_index_, ranker.feature_names_
    unseen = []
    for column, own in (given or {}).items():
        is_other = ~np.isin(own, known.get(column, own))
        other = own[np.flatnonzero(is_other & np.isin(np.arange(own.size), column_of(X, column)))].tolist()
        if other:
            shown = ", ".join(map(repr, other[:3])) + (", ..." if len(other) > 3 else "")
            unseen.append(f"{shown} of {feature_number(column, first_index, names)}")
    if unseen:
        warn(f"categories that were not in fit count as missing: {'; '.join(unseen)}.", DataWarning)
    return align(X, given, known, lambda column: feature_number(column, first_index, names))


def steps_of(ranker: Any) -> list[Any]:
    """Return the transformers of the preparation, in order."""
    return [step for step in (ranker.encoder_, ranker.imputer_) if step is not None]


def prepared_labels(ranker: Any) -> list[str] | None:
    """Return the names of the columns after the preparation; None for columns of arrays that stay as they are."""
    if ranker.feature_names_ is None and ranker.first_index_ is None and n_prepared(ranker) == ranker.n_features_in_:
        return None
    labels = feature_labels(ranker.n_features_in_, ranker.feature_names_, ranker.first_index_)
    for step in steps_of(ranker):
        labels = step.labels(labels)
    return labels


def n_prepared(ranker: Any) -> int:
    """Return the number of columns after the preparation."""
    steps = steps_of(ranker)
    return steps[-1].n_columns_out_ if steps else ranker.n_features_in_


def check_loaded_preparation(ranker: Any) -> None:
    """Raise a ``ValueError`` if the encoder or the imputer of a loaded ranker does not fit its columns."""
    n = ranker.n_features_in_
    encoder, imputer, known = ranker.encoder_, ranker.imputer_, ranker.categories_
    if known is not None:
        if type(known) is not dict or not all(type(column) is int and 0 <= column < n for column in known):
            raise ValueError("categories_ must be a dict from columns to names, or None.")
        for names in known.values():
            if not hasattr(names, "dtype") or names.ndim != 1 or not all(isinstance(name, str) for name in names):
                raise ValueError("categories_ must hold arrays of strings.")
    if encoder is not None:
        if not isinstance(encoder, CategoryEncoder) or encoder.n_features_in_ != n:
            raise ValueError(f"encoder_ must be fitted to {n} columns.")
        if known is None or list(known) != encoder.columns_.tolist():
            raise ValueError("categories_ must be those of encoder_.")
        if any(names.tolist() != own.tolist() for names, own in zip(known.values(), encoder.names_, strict=True)):
            raise ValueError("categories_ must be those of encoder_.")
        n = encoder.n_columns_out_
    elif known is not None and not ranker.takes_categories:
        raise ValueError("encoder_ is missing.")
    if imputer is not None and (not isinstance(imputer, MissingValues) or imputer.n_features_in_ != n):
        raise ValueError(f"imputer_ must be fitted to {n} columns.")
