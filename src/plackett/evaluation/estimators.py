"""Fit and predict for any estimator: our rankers take ``Queries``, all others arrays.

Query ids are passed to a ``fit`` or ``predict`` that has the parameter ``qid``, to rankers of LightGBM, XGBoost and
CatBoost under the names that these use, and through pipelines and searches to every part that requests them, by the
metadata routing of scikit-learn.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.data.categories import decode_column
from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Ranker
from plackett.validation import check_not_masked, is_sparse


class _PackageArguments(NamedTuple):
    """How the estimators of a package take query groups and validation queries."""

    groups: str  # the argument of ``fit``
    eval_groups: str
    as_groups: Callable[[Queries], np.ndarray]
    stops_by: tuple[str, ...]  # parameters of early stopping


def _sizes(queries: Queries) -> np.ndarray:
    return np.diff(queries.indptr)


_numbers, _ids = attrgetter("query_of_row"), attrgetter("qid")  # of each row; ids may be strings
_STOPS = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
_PACKAGES = {
    "lightgbm": _PackageArguments("group", "eval_group", _sizes, _STOPS),
    "xgboost": _PackageArguments("qid", "eval_qid", _numbers, ("early_stopping_rounds",)),
    "catboost": _PackageArguments("group_id", "", _numbers, ()),
}


# --- Checks before any fit --------------------------------------------------------------------------------------------


def check_estimator(estimator: Any) -> None:
    """Raise if an object cannot be fitted to queries and predict scores."""
    if isinstance(estimator, type):
        raise TypeError(f"{estimator.__name__} is a class; pass an instance: {estimator.__name__}().")
    for method in ("fit", "predict", "get_params"):
        if not callable(getattr(estimator, method, None)):
            hint = " Derive its class from sklearn.base.BaseEstimator." if method == "get_params" else ""
            raise TypeError(
                f"a contestant must be a ranker, the name of one, or an estimator with fit, predict and get_params as "
                f"in scikit-learn, not {_short_repr(estimator)}, which has no {method}.{hint}"
            )
    for method, n_known in (("fit", 2), ("predict", 1)):  # X and y
        unknown = _required(getattr(estimator, method))[n_known:]
        if unknown:
            raise TypeError(
                f"{type(estimator).__name__}.{method} needs {' and '.join(unknown)}, which is not available: "
                "contestants are fitted to features, labels and qid."
            )


def stops_on_validation(estimator: Any) -> bool:
    """Whether its parameters ask for early stopping, for which its package requires validation queries."""
    package = _package_of(estimator)
    return package is not None and any(estimator.get_params().get(name) for name in package.stops_by)


def uses_validation(estimator: Any) -> bool:
    """Whether ``fit_copy`` passes validation queries on, so that they choose an iteration or stop the fit."""
    if not takes_queries(estimator):
        return stops_on_validation(estimator)
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    is_minimum = "max_iter" in params and params.get("patience", 1) is None
    return "eval_set" in parameters_of(estimator.fit) and not is_minimum


def predicts_classes(estimator: Any) -> bool:
    """Whether ``predict`` returns classes, which tie most documents of a query."""
    try:
        return hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
    except Exception:  # other packages may implement tags differently; this is only for a note
        return False


def takes_queries(estimator: Any) -> bool:
    """Whether ``fit`` takes a ``Queries``: our rankers, and estimators whose ``fit`` has no ``y``."""
    if isinstance(estimator, Ranker):
        return True
    given = parameters_of(estimator.fit)
    return bool(given) and "y" not in given and len(_required(estimator.fit)) < 2 and not takes_any(given.values())


def parts_of(estimator: Any) -> list[Any]:
    """Return the estimator and all estimators in it, such as the steps of a pipeline."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return [estimator, *(part for part in inside if hasattr(part, "fit") and not isinstance(part, type))]


# --- Fits and scores --------------------------------------------------------------------------------------------------


def fit_copy(
    estimator: Any, train: Queries, validation: Queries | None = None, metric: str | Measure | None = None
) -> Any:
    """Return a fitted copy of an estimator.

    Validation queries are passed to a ``fit`` with ``Queries`` and ``eval_set``, which uses ``metric``, and to
    estimators of LightGBM and XGBoost with early stopping, which use their own measures. A ranker with ``max_iter``
    and ``patience=None`` is fitted to its minimum and gets no ``eval_set``: choosing the best iteration would be a
    second choice on the same queries. A ranker that was trained elsewhere (``is_frozen``) is returned unchanged.
    """
    if getattr(estimator, "is_frozen", False):
        return estimator
    estimator = clone(estimator)
    if takes_queries(estimator):
        is_shown = validation is not None and uses_validation(estimator)
        estimator.fit(train, **({"eval_set": validation, "eval_metric": metric} if is_shown else {}))
        return estimator
    if _package_of(estimator) is not None:
        train = train.grouped  # packages take sizes of adjacent lists
    stops = _eval_set(estimator, validation) if stops_on_validation(estimator) else {}
    with _group_arguments(train, estimator, "fit") as groups:
        estimator.fit(_rows(estimator, train), train.labels, **groups, **stops)
    return estimator


def predict(estimator: Any, queries: Queries) -> np.ndarray:
    """Return one finite score per document, higher is better."""
    if takes_queries(estimator):
        scores = estimator.predict(queries)
    else:
        chosen = getattr(estimator, "best_estimator_", estimator)  # searches do not route qid in predict
        with _group_arguments(queries, chosen, "predict") as groups:
            scores = chosen.predict(_rows(chosen, queries), **groups)
    check_not_masked(scores, "scores")
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape == (queries.n_docs, 1):
        scores = scores[:, 0]
    if scores.shape != (queries.n_docs,):
        raise ValueError(f"predict returned scores of shape {scores.shape} for {queries.n_docs:,} documents.")
    if not np.isfinite(scores).all():
        raise ValueError("predict returned scores that are not finite numbers.")
    return scores


def _eval_set(estimator: Any, validation: Queries | None) -> dict[str, Any]:
    package = _package_of(estimator)
    if validation is None or package is None:
        raise ValueError(
            f"{type(estimator).__name__} uses early stopping, but there are no validation queries. Pass some, or set "
            "a number of rounds."
        )
    X, y, given = _rows(estimator, validation), validation.labels, parameters_of(estimator.fit)
    lists = {"eval_X": (X,), "eval_y": (y,)} if "eval_X" in given else {"eval_set": [(X, y)]}  # newer LightGBM
    groups = {package.eval_groups: [package.as_groups(validation)]}
    quiet = {"verbose": False}  # XGBoost prints every round
    return {name: value for name, value in {**lists, **groups, **quiet}.items() if name in given}


def _rows(estimator: Any, queries: Queries) -> Any:
    """Return X in a form that the estimator accepts: a data frame for categories, or if it selects columns by name."""
    if queries.categories is not None:
        return _categorical_frame(queries)
    if queries.feature_names is not None and not is_sparse(queries.X):
        with importing:
            from sklearn.compose import ColumnTransformer

        if any(isinstance(part, ColumnTransformer) for part in parts_of(estimator)):
            with contextlib.suppress(ModuleNotFoundError):  # without pandas, columns are selected by place
                with importing:
                    import pandas as pd

                return pd.DataFrame(queries.X, columns=queries.feature_names)
    if is_sparse(queries.X) and _package_of(estimator) is _PACKAGES["lightgbm"]:
        return sparse.csr_matrix(queries.X)  # LightGBM warns about csr_array
    return queries.X


def _categorical_frame(queries: Queries) -> Any:
    """Return X as a pandas data frame with categorical columns, as scikit-learn and tree packages take them."""
    pd = import_optional("pandas", extra=None, needed_for="Passing categories to other estimators")
    X, known = queries.X.toarray() if is_sparse(queries.X) else queries.X, queries.categories or {}
    return pd.DataFrame({
        name: decode_column(X[:, column], known[column], "pandas") if column in known else X[:, column]
        for column, name in enumerate(queries.feature_labels)
    })  # fmt: skip


# --- Query groups -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _group_arguments(queries: Queries, estimator: Any, method: str):
    """Yield the arguments of ``method`` that group rows by query; routing is enabled inside if they are routed."""
    package, given = _package_of(estimator), parameters_of(getattr(estimator, method))
    name = "qid" if package is None else package.groups
    if name in given:
        yield {name: queries.qid if package is None else package.as_groups(queries)}
        return
    with sklearn.config_context(enable_metadata_routing=True):
        routed = _routed(queries, estimator, method)
    with sklearn.config_context(enable_metadata_routing=True) if routed else contextlib.nullcontext():
        yield routed


def _routed(queries: Queries, estimator: Any, method: str) -> dict[str, Any]:
    """Return the arguments that the parts of the estimator request."""
    available: dict[str, Callable[[Queries], np.ndarray]] = {"qid": _ids, "groups": _ids}  # splitters take groups
    for part in parts_of(estimator)[1:]:
        package = _package_of(part)
        if package is None:
            _request_qid(part)
        elif package.groups in parameters_of(part.fit) and hasattr(part, "set_fit_request"):
            alias = f"own_{package.groups}"
            part.set_fit_request(**{package.groups: alias})
            available[alias] = package.as_groups
    try:
        wanted = get_routing_for_object(estimator).consumes(method, available)
    except NotImplementedError:  # an estimator of scikit-learn without routing
        return {}
    return {name: available[name](queries) for name in wanted}


def _request_qid(part: Any) -> None:
    """Request ``qid`` for a part that takes it, unless its routing is set."""
    for method in ("fit", "transform", "predict"):
        if "qid" not in parameters_of(getattr(part, method, None)) or not hasattr(part, f"set_{method}_request"):
            continue
        if getattr(part.get_metadata_routing(), method).requests.get("qid") is None:
            getattr(part, f"set_{method}_request")(qid=True)


def _package_of(estimator: Any) -> _PackageArguments | None:
    """Return the argument names of the package of the estimator or of a base class."""
    homes = (cls.__module__.partition(".")[0] for cls in type(estimator).__mro__)
    return next((_PACKAGES[home] for home in homes if home in _PACKAGES), None)


# --- Signatures -------------------------------------------------------------------------------------------------------


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, bound method or class by name; empty if it has no signature."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _required(function: Any) -> list[str]:
    given = parameters_of(function).values()
    return [one.name for one in given if one.default is one.empty and not takes_any([one])]


def takes_any(given: Iterable[inspect.Parameter]) -> bool:
    """Whether the parameters include ``*args`` or ``**kwargs``."""
    return any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in given)


def _short_repr(value: Any) -> str:
    """Return the repr on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
