"""Fitting and asking estimators of any kind: our rankers by queries, all others by arrays.

Which rows belong together is said to those that want to know it: to a ``fit`` or ``predict`` that takes ``qid``, to
rankers of LightGBM, XGBoost and CatBoost in their own words, and through pipelines, searches and their like to every
part that asks for it, as scikit-learn's metadata routing does.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object

from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Ranker
from plackett.validation import check_not_masked, is_sparse


class _Package(NamedTuple):
    """How the estimators of a package are told of queries, and of queries to stop on."""

    groups: str  # the argument of ``fit``
    eval_groups: str
    as_groups: Callable[[Queries], np.ndarray]
    stops_by: tuple[str, ...]  # parameters that end rounds early


def _sizes(queries: Queries) -> np.ndarray:
    return np.diff(queries.indptr)


def _numbers(queries: Queries) -> np.ndarray:
    """One number per row that grows from query to query; ids may be words."""
    return np.repeat(np.arange(queries.n_queries), _sizes(queries))


_STOPS = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
_PACKAGES = {
    "lightgbm": _Package("group", "eval_group", _sizes, _STOPS),
    "xgboost": _Package("qid", "eval_qid", _numbers, ("early_stopping_rounds",)),
    "catboost": _Package("group_id", "", _numbers, ()),
}


# --- What can be told before any fit ----------------------------------------------------------------------------------


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot be fitted to queries and asked for scores, before anything runs."""
    if isinstance(estimator, type):
        raise TypeError(f"{estimator.__name__} is a class; give one of its objects: {estimator.__name__}().")
    for method in ("fit", "predict", "get_params"):
        if not callable(getattr(estimator, method, None)):
            raise TypeError(
                f"a contestant is a ranker, the name of one, or an estimator with fit, predict and get_params as "
                f"scikit-learn's have them, not {_shown(estimator)}, which has no {method}."
            )
    for method, n_known in (("fit", 2), ("predict", 1)):  # X and y
        unknown = _required(getattr(estimator, method))[n_known:]
        if unknown:
            raise TypeError(
                f"{type(estimator).__name__}.{method} needs {' and '.join(unknown)}, which is not at hand here: "
                "contestants are fitted to features, labels and qid."
            )


def stops_on_validation(estimator: Any) -> bool:
    """Whether its parameters end rounds on validation queries, without which its package refuses to fit."""
    package = _package_of(estimator)
    return package is not None and any(estimator.get_params().get(name) for name in package.stops_by)


def gives_classes(estimator: Any) -> bool:
    """Whether ``predict`` answers with classes, which leave most documents of a query tied."""
    try:
        return hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
    except Exception:  # other packages follow scikit-learn's tags more or less; this is but a note
        return False


def takes_queries(estimator: Any) -> bool:
    """Whether ``fit`` takes a ``Queries``: that of our rankers does, and one that takes nothing else."""
    if isinstance(estimator, Ranker):
        return True
    given = parameters_of(estimator.fit)
    return bool(given) and "y" not in given and len(_required(estimator.fit)) < 2 and not takes_any(given.values())


def parts_of(estimator: Any) -> list[Any]:
    """The estimator and all those within it, such as the steps of a pipeline."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return [estimator, *(part for part in inside if hasattr(part, "fit") and not isinstance(part, type))]


# --- Fits and scores --------------------------------------------------------------------------------------------------


def fit(estimator: Any, train: Queries, validation: Queries | None = None, metric: str | Measure | None = None) -> Any:
    """The estimator itself, fitted.

    Where there are validation queries, those whose ``fit`` takes queries get them, if they take an ``eval_set``; of the
    others those of LightGBM and XGBoost whose parameters end rounds early, which they do by their own measures. A
    ranker with ``max_iter`` and ``patience=None`` is fitted to its minimum and gets no ``eval_set``: the best iteration
    on it would be a second, hidden choice on the same queries.
    """
    if takes_queries(estimator):
        is_shown = validation is not None and "eval_set" in parameters_of(estimator.fit)
        params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        if "max_iter" in params and params.get("patience", 1) is None:
            is_shown = False
        estimator.fit(train, **({"eval_set": validation, "eval_metric": metric} if is_shown else {}))
        return estimator
    stops = _eval_set(estimator, validation) if stops_on_validation(estimator) else {}
    with _told_of(train, estimator, "fit") as told:
        estimator.fit(_rows(estimator, train), train.labels, **told, **stops)
    return estimator


def predict(estimator: Any, queries: Queries) -> np.ndarray:
    """One finite score per document, higher is better."""
    if takes_queries(estimator):
        scores = estimator.predict(queries)
    else:
        chosen = getattr(estimator, "best_estimator_", estimator)  # searches do not hand qid on
        with _told_of(queries, chosen, "predict") as told:
            scores = chosen.predict(_rows(chosen, queries), **told)
    check_not_masked(scores, "scores")
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape == (queries.n_docs, 1):
        scores = scores[:, 0]
    if scores.shape != (queries.n_docs,):
        raise ValueError(f"predict gave scores of shape {scores.shape} for {queries.n_docs:,} documents.")
    if not np.isfinite(scores).all():
        raise ValueError("predict gave scores that are not finite numbers.")
    return scores


def _eval_set(estimator: Any, validation: Queries | None) -> dict[str, Any]:
    package = _package_of(estimator)
    if validation is None or package is None:
        raise ValueError(
            f"{type(estimator).__name__} is set to stop early, for which there are no validation queries here. Give "
            "some, or set it to a number of rounds."
        )
    X, y, given = _rows(estimator, validation), validation.labels, parameters_of(estimator.fit)
    lists = {"eval_X": (X,), "eval_y": (y,)} if "eval_X" in given else {"eval_set": [(X, y)]}  # as new LightGBMs ask
    groups = {package.eval_groups: [package.as_groups(validation)]}
    quiet = {"verbose": False}  # XGBoost would print every round
    return {name: value for name, value in {**lists, **groups, **quiet}.items() if name in given}


def _rows(estimator: Any, queries: Queries) -> Any:
    """X as the estimator can take it: a data frame where columns may be chosen by their names."""
    if queries.feature_names is not None and not is_sparse(queries.X):
        from sklearn.compose import ColumnTransformer

        if any(isinstance(part, ColumnTransformer) for part in parts_of(estimator)):
            with contextlib.suppress(ModuleNotFoundError):  # places of columns will do without pandas
                import pandas as pd

                return pd.DataFrame(queries.X, columns=queries.feature_names)
    if is_sparse(queries.X) and _package_of(estimator) is _PACKAGES["lightgbm"]:
        return sparse.csr_matrix(queries.X)  # which warns of every csr_array
    return queries.X


# --- Which rows belong together ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _told_of(queries: Queries, estimator: Any, method: str):
    """Arguments for ``method`` that say which rows belong together; inside, routing is enabled if they are routed."""
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
    """What the parts of the estimator ask for."""
    on_offer: dict[str, Callable[[Queries], np.ndarray]] = {"qid": _ids, "groups": _ids}  # the latter to splitters
    for part in parts_of(estimator)[1:]:
        package = _package_of(part)
        if package is None:
            _ask_for_qid(part)
        elif package.groups in parameters_of(part.fit) and hasattr(part, "set_fit_request"):
            alias = f"own_{package.groups}"
            part.set_fit_request(**{package.groups: alias})
            on_offer[alias] = package.as_groups
    try:
        wanted = get_routing_for_object(estimator).consumes(method, on_offer)
    except NotImplementedError:  # one of scikit-learn's that routes nothing
        return {}
    return {name: on_offer[name](queries) for name in wanted}


def _ask_for_qid(part: Any) -> None:
    """Let a part that takes ``qid`` ask for it, unless it says itself whether it does."""
    for method in ("fit", "transform", "predict"):
        if "qid" not in parameters_of(getattr(part, method, None)) or not hasattr(part, f"set_{method}_request"):
            continue
        if getattr(part.get_metadata_routing(), method).requests.get("qid") is None:
            getattr(part, f"set_{method}_request")(qid=True)


def _ids(queries: Queries) -> np.ndarray:
    return queries.qid


def _package_of(estimator: Any) -> _Package | None:
    """The conventions of the package from which the estimator, or an ancestor of its class, comes."""
    homes = (cls.__module__.partition(".")[0] for cls in type(estimator).__mro__)
    return next((_PACKAGES[home] for home in homes if home in _PACKAGES), None)


# --- Signatures -------------------------------------------------------------------------------------------------------


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """By name the parameters of a function, of a method but for ``self``, or of a class; none if it does not tell."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _required(function: Any) -> list[str]:
    given = parameters_of(function).values()
    return [one.name for one in given if one.default is one.empty and not takes_any([one])]


def takes_any(given: Iterable[inspect.Parameter]) -> bool:
    """Whether there is a ``*args`` or ``**kwargs`` among the parameters."""
    return any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in given)


def _shown(value: Any) -> str:
    """Its repr on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
