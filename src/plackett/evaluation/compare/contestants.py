"""Who takes part in a comparison: a name, an estimator that is not fitted yet, and the settings it may choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plackett.evaluation.compare.comparison import BEST
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER
from plackett.evaluation.select.estimators import check_estimator
from plackett.evaluation.select.grids import default_grid
from plackett.evaluation.store.settings import Grid, settings_of
from plackett.rankers.registry import known_name, ranker


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

    @property
    def missing(self) -> str | None:
        """What to install where the package of the estimator is missing; None where nothing is."""
        try:
            _import_package(self.estimator)
        except ModuleNotFoundError as error:
            return str(error)
        return None


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
    if BEST in names:
        raise ValueError(f'{BEST!r} stands for the best contestant (baseline="best"); give another name.')
    for contestant in contestants:
        contestant.settings()  # wrong names of parameters are found now and not after hours
    return contestants


def installed(contestants: list[Contestant]) -> tuple[list[Contestant], list[str]]:
    """The contestants whose packages are installed, and a note on each of the others; an error where none is."""
    missing = {one.name: one.missing for one in contestants}
    present = [one for one in contestants if missing[one.name] is None]
    if not present:
        _import_package(contestants[0].estimator)  # raises
    return present, [f"{name} is left out: {why}" for name, why in missing.items() if why is not None]


def contestant_of(entry: Any, name: str | None = None) -> Contestant:
    """One contestant from a name, a ranker, a tuple with a grid, or a contestant, whose package must be installed."""
    contestant = _contestant_of(entry, name)
    _import_package(contestant.estimator)
    return contestant


def _contestant_of(entry: Any, name: str | None = None) -> Contestant:
    if isinstance(entry, Contestant):
        return entry if name is None else Contestant(name, entry.estimator, entry.grid)
    if isinstance(entry, tuple) and len(entry) == 2:
        inner = _contestant_of(entry[0], name)
        return Contestant(inner.name, inner.estimator, {} if entry[1] is None else entry[1])
    if isinstance(entry, str):
        key = known_name(entry)
        return Contestant(name or key, ranker(key), default_grid(key))
    check_estimator(entry)
    return Contestant(name or type(entry).__name__, entry, {})


def _listed(rankers: Any) -> list[Contestant]:
    if isinstance(rankers, str):
        rankers = [name for name in (part.strip() for part in rankers.split(",")) if name]
    if isinstance(rankers, Mapping):
        return [_contestant_of(entry, str(name)) for name, entry in rankers.items()]
    is_with_grid = isinstance(rankers, tuple) and len(rankers) == 2 and _is_grid(rankers[1])
    is_one = isinstance(rankers, Contestant) or hasattr(rankers, "get_params") or not isinstance(rankers, Iterable)
    return [_contestant_of(entry) for entry in ([rankers] if is_with_grid or is_one else rankers)]


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(part, Mapping) for part in value))


def _import_package(estimator: Any) -> None:
    """Raise where a package is missing, before anything is fitted."""
    if hasattr(estimator, "import_package"):
        estimator.import_package()
