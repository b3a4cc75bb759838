"""Contestants of a comparison: a name, an unfitted estimator, and its hyperparameter grid."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from plackett.data.preprocessing.categories import ENCODINGS, get_encoder
from plackett.data.preprocessing.missing import MissingValues, check_rule
from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import BEST
from plackett.evaluation.estimators import check_estimator, fit_copy, predict, takes_queries
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER
from plackett.evaluation.select.grids import Grid, candidates_of, default_grid
from plackett.rankers.registry import known_name, ranker, table_name
from plackett.validation import check_choice, is_sparse

FEW_QUERIES = 20  # on which estimators of other packages are tried


@dataclass(frozen=True)
class Contestant:
    """A ranker in a comparison.

    Attributes
    ----------
    name : str
        Name in tables.
    estimator : ranker, or any estimator that `check_estimator` accepts
        The ranker, not fitted.
    grid : dict of lists, or list of such dicts
        Validation queries choose among its candidates; ``{}`` uses the estimator as given.

    Examples
    --------
    >>> from plackett.evaluation.compare.contestants import Contestant
    >>> import plackett as pk
    >>> Contestant("hinge", pk.LinearRanker("hinge"), {"l2": [0.1, 0.01]}).candidates()
    [{'l2': 0.1}, {'l2': 0.01}]
    """

    name: str
    estimator: Any
    grid: Grid

    def candidates(self) -> list[dict[str, Any]]:
        """Return the parameters of each candidate of the grid."""
        return candidates_of(self.estimator, self.grid)

    @property
    def missing(self) -> str | None:
        """The advice to install the package of the estimator; None if it is installed."""
        try:
            _import_package(self.estimator)
        except ModuleNotFoundError as error:
            return str(error)
        return None


def as_contestants(rankers: Any) -> list[Contestant]:
    """Return contestants for names, rankers, or a mapping of them.

    Parameters
    ----------
    rankers : str, ranker or estimator, or iterable or mapping of these
        Text with names between commas; a sequence of names, rankers and contestants; or a mapping of any name to a
        name, a ranker, or a tuple (name or ranker, grid). A name of ``pk.ranker_names()``, or ``"lightgbm"``,
        ``"xgboost"``, ``"catboost"``, gets its default grid; so does a ranker with any loss and its loss, such as
        ``"trees:logistic"``. A ranker is used as given. Pipelines, regressors and rankers of other packages are
        accepted like our own.

    Examples
    --------
    >>> from plackett.evaluation.compare.contestants import as_contestants
    >>> import plackett as pk
    >>> [contestant.name for contestant in as_contestants("listmle, adarank")]
    ['listmle', 'adarank']
    >>> as_contestants({"no penalty": pk.ranker("listmle", l2=0.0)})[0].candidates()
    [{}]
    """
    contestants = _listed(rankers)
    if not contestants:
        raise ValueError('no rankers were given; pass some, such as "listmle,adarank".')
    names = [contestant.name for contestant in contestants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} occurs twice; pass a mapping with a different name for each.")
    for name in (RANDOM_ORDER, BEST_FEATURE):
        if name in names:
            raise ValueError(f"{name!r} is the name of a reference score; choose another name.")
    if BEST in names:
        raise ValueError(f'{BEST!r} means the best contestant (baseline="best"); choose another name.')
    for contestant in contestants:
        contestant.candidates()  # raises for unknown parameters, before the first fit
    return contestants


def installed(contestants: list[Contestant]) -> tuple[list[Contestant], list[str]]:
    """Return the contestants whose packages are installed, and notes on the others; raise if none is installed."""
    missing = {contestant.name: contestant.missing for contestant in contestants}
    present = [contestant for contestant in contestants if missing[contestant.name] is None]
    if not present:
        _import_package(contestants[0].estimator)  # raises
    return present, [f"{name} is skipped: {why}" for name, why in missing.items() if why is not None]


def with_preparation(
    contestant: Contestant, missing: Any = None, missing_indicator: bool | None = None, encoding: str | None = None
) -> Contestant:
    """Return the contestant with rules for missing values and categories where it has them, but not in its grid."""
    if missing is not None:
        check_rule(missing, "missing", also=("error",))
    if encoding is not None:
        check_choice(encoding, "encoding", (*ENCODINGS, "error"))
    params = {"missing": missing, "missing_indicator": missing_indicator, "encoding": encoding}
    params = {name: value for name, value in params.items() if value is not None}
    if params and takes_queries(contestant.estimator):  # XGBoost's ``missing`` is another parameter
        known = set(contestant.estimator.get_params(deep=False)).difference(*contestant.candidates())
        if params := {name: value for name, value in params.items() if name in known}:
            return replace(contestant, estimator=clone(contestant.estimator).set_params(**params))
    return contestant


def filled(
    contestants: Sequence[Contestant], queries: Queries, *, missing: Any = None, encoding: str | None = None
) -> tuple[list[Contestant], list[str]]:
    """Return contestants that do not fail for missing values and categories, and a note on what was done, if anything.

    Where ``missing`` and ``encoding`` say nothing, rankers that cannot take them fill missing values by the median of
    the training lists, and encode categories one-hot.
    """
    known = queries.categories or {}
    values = queries.X.data if is_sparse(queries.X) else np.delete(queries.X.max(axis=0), list(known))
    has_missing = bool(np.isnan(values).any())
    defaults = {"missing": "median"} if missing is None and has_missing else {}
    defaults |= {"encoding": "one-hot"} if encoding is None and known else {}
    steps = {"encoding": get_encoder(encoding or "one-hot")} if known and encoding != "error" else {}
    steps |= {"missing": MissingValues(missing or "median")} if has_missing and missing != "error" else {}
    few = _few(queries) if steps else queries
    answer: list[Contestant] = []
    changed: dict[str, list[str]] = {name: [] for name in defaults}
    takes = {"missing": "takes_missing", "encoding": "takes_categories"}
    for one in contestants:
        if steps and not takes_queries(one.estimator):
            lacking: dict[str, Any] = defaults
            answer.append(_in_pipeline(one, steps, few))
        else:
            lacking = {
                name: value
                for name, value in defaults.items()
                if getattr(one.estimator, name, None) == "error" and not getattr(one.estimator, takes[name], False)
            }
            answer.append(with_preparation(one, **lacking))
        for name in lacking if answer[-1] is not one else ():
            changed[name].append(one.name)
    words = {"missing": "missing values are filled by the median of the training lists"}
    words["encoding"] = "categories are encoded one-hot"
    done = [f'{words[name]} ({name}="{defaults[name]}") for {", ".join(by)}' for name, by in changed.items() if by]
    return answer, [", ".join(done)] if done else []


def _few(queries: Queries) -> Queries:
    """Return the first queries, and for some columns with missing values the first that has one."""
    places, X = {*range(min(FEW_QUERIES, queries.n_queries))}, queries.X
    for column in () if is_sparse(X) else np.flatnonzero(np.isnan(X.max(axis=0)))[:FEW_QUERIES]:
        places.add(int(queries.query_of_row[np.argmax(np.isnan(X[:, column]))]))
    return queries[np.array(sorted(places), dtype=np.int64)]


def _in_pipeline(contestant: Contestant, steps: dict[str, Any], few: Queries) -> Contestant:
    """Return an estimator of another package behind these steps if it fails for few queries, and not behind them."""
    pipeline = Pipeline([*((name, clone(step)) for name, step in steps.items()), ("estimator", contestant.estimator)])
    if not _can_fit(contestant.estimator, few) and _can_fit(pipeline, few):
        grids = [contestant.grid] if isinstance(contestant.grid, Mapping) else contestant.grid
        inside = [{f"estimator__{name}": values for name, values in grid.items()} for grid in grids]
        return replace(contestant, estimator=pipeline, grid=inside)
    return contestant


def _can_fit(estimator: Any, queries: Queries) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            predict(fit_copy(estimator, queries, queries), queries)
        except Exception:  # each package has its own; the fit on all queries will raise it
            return False
    return True


def contestant_of(entry: Any, name: str | None = None) -> Contestant:
    """Return the contestant for a name, ranker, tuple with a grid, or contestant; raise if its package is missing."""
    contestant = _contestant_of(entry, name)
    _import_package(contestant.estimator)
    return contestant


def _contestant_of(entry: Any, name: str | None = None) -> Contestant:
    if isinstance(entry, Contestant):
        return entry if name is None else Contestant(name, entry.estimator, entry.grid)
    if isinstance(entry, tuple) and len(entry) == 2:
        inner = _contestant_of(entry[0], name)
        is_absent = isinstance(inner.estimator, _Absent)  # its parameters are not known
        return Contestant(inner.name, inner.estimator, {} if entry[1] is None or is_absent else entry[1])
    if isinstance(entry, str):
        key = known_name(entry)
        try:
            estimator, grid = ranker(key), default_grid(key)
            return Contestant(name or table_name(key, estimator), estimator, grid)
        except ModuleNotFoundError as error:
            return Contestant(name or key, _Absent(error), {})
    check_estimator(entry)
    return Contestant(name or type(entry).__name__, entry, {})


@dataclass(frozen=True)
class _Absent:
    """A ranker of a package that is not installed."""

    error: ModuleNotFoundError

    def import_package(self) -> None:
        raise self.error

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}


def _listed(rankers: Any) -> list[Contestant]:
    if isinstance(rankers, str):
        rankers = [name for name in (part.strip() for part in rankers.split(",")) if name]
    if isinstance(rankers, Mapping):
        return [_contestant_of(entry, str(name)) for name, entry in rankers.items()]
    last = rankers[1] if isinstance(rankers, tuple) and len(rankers) == 2 else None
    is_with_grid = isinstance(last, Mapping) or (isinstance(last, list) and all(isinstance(p, Mapping) for p in last))
    is_one = isinstance(rankers, Contestant) or hasattr(rankers, "get_params") or not isinstance(rankers, Iterable)
    return [_contestant_of(entry) for entry in ([rankers] if is_with_grid or is_one else rankers)]


def _import_package(estimator: Any) -> None:
    """Raise if the package of the estimator is missing."""
    if hasattr(estimator, "import_package"):
        estimator.import_package()
