"""Who takes part in a comparison: a name, an estimator that is not fitted yet, and the settings it may choose from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plackett.evaluation.estimators import check_estimator
from plackett.evaluation.floors import BEST_FEATURE, RANDOM_ORDER
from plackett.evaluation.grids import default_grid
from plackett.evaluation.settings import Grid, settings_of
from plackett.rankers.lambdarank import LightGBMRanker
from plackett.rankers.other_trees import CatBoostRanker, XGBoostRanker
from plackett.rankers.registry import ranker, ranker_names

# trees of other packages, by the names of these; CatBoost has no other
PEERS = {"lightgbm": LightGBMRanker, "xgboost": XGBoostRanker, "catboost": CatBoostRanker}


@dataclass(frozen=True)
class Contestant:
    """A ranker that takes part.

    Attributes
    ----------
    name : str
    estimator : ranker, or any estimator that check_estimator lets through; not fitted
    grid : dict of lists, or list of such dicts
        Of which validation queries choose; ``{}`` takes the estimator as it is.
    """

    name: str
    estimator: Any
    grid: Grid

    def settings(self) -> list[dict[str, Any]]:
        """All settings of the grid, in order."""
        return settings_of(self.estimator, self.grid)


def as_contestants(rankers: Any) -> list[Contestant]:
    """Contestants from whatever names or holds rankers.

    Parameters
    ----------
    rankers : str, ranker or estimator, or iterable or mapping of these
        Text with names between commas; a sequence of names, rankers and contestants; or a mapping of any name to a
        name, a ranker, or a tuple (name or ranker, grid). A name, of ``pk.ranker_names()`` or ``"lightgbm"``,
        ``"xgboost"``, ``"catboost"``, brings its default grid along; a ranker is taken as it is. Pipelines, regressors
        and rankers of other packages take part like our own: see ``estimators.fit``.

    Examples
    --------
    >>> import plackett as pk
    >>> [contestant.name for contestant in as_contestants("listmle, adarank")]
    ['listmle', 'adarank']
    >>> as_contestants({"no penalty": pk.ranker("listmle", l2=0.0)})[0].settings()
    [{}]
    """
    contestants = _listed(rankers)
    if not contestants:
        raise ValueError('no ranker is named; give some, such as "listmle,adarank".')
    names = [contestant.name for contestant in contestants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} takes part twice; give a mapping with a name of its own for each.")
    for name in (RANDOM_ORDER, BEST_FEATURE):
        if name in names:
            raise ValueError(f"{name!r} is the name of a floor, which stands in every table; give another name.")
    for contestant in contestants:
        contestant.settings()  # wrong names of parameters are found now and not after hours
    return contestants


def contestant_of(entry: Any, name: str | None = None) -> Contestant:
    """One contestant from a name, a ranker, a tuple with a grid, or a contestant."""
    if isinstance(entry, Contestant):
        return entry if name is None else Contestant(name, entry.estimator, entry.grid)
    if isinstance(entry, tuple) and len(entry) == 2:
        inner = contestant_of(entry[0], name)
        return Contestant(inner.name, inner.estimator, {} if entry[1] is None else entry[1])
    if isinstance(entry, str):
        key, estimator = _by_name(entry)
        return Contestant(name or key, estimator, default_grid(key))
    check_estimator(entry)
    _import_package(entry)
    return Contestant(name or type(entry).__name__, entry, {})


def _listed(rankers: Any) -> list[Contestant]:
    if isinstance(rankers, str):
        rankers = [name for name in (part.strip() for part in rankers.split(",")) if name]
    if isinstance(rankers, Mapping):
        return [contestant_of(entry, str(name)) for name, entry in rankers.items()]
    is_with_grid = isinstance(rankers, tuple) and len(rankers) == 2 and _is_grid(rankers[1])
    is_one = isinstance(rankers, Contestant) or hasattr(rankers, "get_params") or not isinstance(rankers, Iterable)
    return [contestant_of(entry) for entry in ([rankers] if is_with_grid or is_one else rankers)]


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(part, Mapping) for part in value))


def _by_name(text: str) -> tuple[str, Any]:
    """The name as it is written in the tables, and its ranker."""
    key = text.strip().lower().replace("_", "-")
    if key not in ranker_names() and key not in PEERS:
        names = [*ranker_names(), *PEERS]
        close = difflib.get_close_matches(key, names, n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(f"there is no ranker {text!r}.{hint} The names are {', '.join(names)}.")
    estimator = PEERS[key]() if key in PEERS else ranker(key)
    _import_package(estimator)
    return key, estimator


def _import_package(estimator: Any) -> None:
    """Tell of a package that is missing now and not after hours."""
    if hasattr(estimator, "import_package"):
        estimator.import_package()
