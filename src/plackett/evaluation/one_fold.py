"""One contestant in one fold: validation queries choose a setting, its fit scores the test documents.

The test queries come without labels, so that nothing here could look at them.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pickle
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import set_n_threads
from plackett.data.queries import Queries
from plackett.evaluation import fingerprints
from plackett.evaluation.comparison import FoldFit
from plackett.evaluation.contestants import Contestant
from plackett.evaluation.cost import measured
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.floors import SingleFeature, best_single_features
from plackett.evaluation.runs import Record, RunStore
from plackett.evaluation.settings import fit_setting, seeded, with_setting
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.fitting import is_better


class Rules(NamedTuple):
    """What holds for every contestant and fold."""

    select_by: Measure
    convention: Convention
    random_state: int
    measures: list[Measure]


@dataclass(frozen=True)
class FoldData:
    """The queries of a fold as contestants see them: none of the test documents has a label.

    ``content`` holds hashes of the three sets; empty where nothing is stored.
    """

    number: int
    train: Queries
    validation: Queries | None
    test: Queries
    content: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """What became of one contestant in one fold: a fit and its test scores, or an error."""

    name: str
    fold: int
    fit: FoldFit | None = None
    scores: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    error: Exception | None = None
    is_stored: bool = False

    @property
    def reason(self) -> str:
        """The error in one line."""
        lines = str(self.error).splitlines() or [""]
        return f"fold {self.fold}: {type(self.error).__name__}" + (f": {lines[0]}" if lines[0] else "")


def fold_data(number: int, fold: Any, *, is_stored: bool) -> FoldData:
    """The fold without the labels of its test queries; with hashes of its contents where results are stored."""
    test = without_labels(fold.test)
    content = {}
    if is_stored:
        content = {
            "train": fingerprints.of_data(fold.train),
            "validation": fingerprints.of_data(fold.validation),
            "test": fingerprints.of_data(test),
        }
    return FoldData(number, fold.train, fold.validation, test, content)


def without_labels(queries: Queries) -> Queries:
    """The same documents, nothing said about which of them are good."""
    return Queries.from_groups(
        queries.X, None, queries.ids, queries.indptr, docid=queries._docid, feature_names=queries.feature_names
    )


def attempt(
    contestant: Contestant, data: FoldData, rules: Rules, store: RunStore | None, n_threads: int | None, parent: int
) -> Outcome:
    """`run_fold` with any error as part of the outcome; in a process other than ``parent`` on ``n_threads`` threads."""
    is_worker = os.getpid() != parent
    if is_worker:
        set_n_threads(n_threads)  # the cores are shared with the other workers
    try:
        return run_fold(contestant, data, rules, store)
    except Exception as error:  # anything may go wrong in a ranker; it shall stop nobody else
        return Outcome(contestant.name, data.number, error=_that_travels(error) if is_worker else error)


def _that_travels(error: Exception) -> Exception:
    """The error itself if it survives the way to another process; otherwise one with the same words."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # classes of errors may do anything here
        return RuntimeError(f"{type(error).__name__}: {error}")
    return copy


def run_fold(contestant: Contestant, data: FoldData, rules: Rules, store: RunStore | None) -> Outcome:
    """Try every setting on the validation queries, and score the test documents by the first of the best.

    With a store, whatever is finished there is taken from it, and whatever is finished here is put there at once. The
    fits do not depend on each other, so that it makes no difference which of them were there.
    """
    settings = contestant.settings()
    estimators = [seeded(with_setting(contestant.estimator, setting), rules.random_state) for setting in settings]
    shelf = _Shelf(store, estimators, data, rules)
    finished = shelf.scores(data.test.n_docs)
    if finished is not None:
        fit = FoldFit(data.number, settings[finished.values["chosen"]], **finished.values["fit"])
        told = tuple(finished.values["warnings"])
        return Outcome(contestant.name, data.number, fit, finished.array, told, is_stored=True)
    trials: list[_Trial] = []
    best, fitted = 0, None
    for place, estimator in enumerate(estimators):
        ranker, trial = None, shelf.trial(place)
        if trial is None:
            ranker, trial = _try(estimator, data, rules)
            shelf.put_trial(place, trial)
        trials.append(trial)
        so_far = trials[best].validation
        if place == 0 or is_better(trial.validation, None if math.isnan(so_far) else so_far, rules.select_by):
            best, fitted = place, ranker  # the one before is given free
    if fitted is None:  # its value was stored, the ranker was not; the same fit gives the same ranker
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are stored as well
            fitted = _fit(estimators[best], data, rules)
    scores = _check_scores(fitted.predict(data.test), data.test)
    parts: dict[str, Any] = {
        "validation": trials[best].validation,
        "seconds": sum(trial.seconds for trial in trials),
        "peak_mb": max((trial.peak_mb for trial in trials if not math.isnan(trial.peak_mb)), default=math.nan),
        "n_settings": len(trials),
        "history": history_of(fitted),
    }
    told = tuple(trials[best].warnings)  # those about settings that lose concern nobody
    shelf.put_scores({"chosen": best, "fit": parts, "warnings": told}, scores)
    return Outcome(contestant.name, data.number, FoldFit(data.number, settings[best], **parts), scores, told)


class _Trial(NamedTuple):
    """One setting: what it reached on the validation queries, what it cost, what was said about it."""

    validation: float
    seconds: float
    peak_mb: float
    warnings: list[str]


def _try(estimator: Any, data: FoldData, rules: Rules) -> tuple[Any, _Trial]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with measured() as cost:
            ranker = _fit(estimator, data, rules)
    told = [f"{one.category.__name__}: {one.message}" for one in caught]
    validation = math.nan
    if data.validation is not None:
        scores = _check_scores(ranker.predict(data.validation), data.validation)
        name = str(rules.select_by)
        validation = evaluate(data.validation, scores, metrics=[name], convention=rules.convention).mean()[name]
    return ranker, _Trial(validation, cost.seconds, cost.peak_mb, told)


def _fit(estimator: Any, data: FoldData, rules: Rules) -> Any:
    return fit_setting(estimator, {}, data.train, data.validation, rules.select_by)


def _check_scores(scores: Any, queries: Queries) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (queries.n_docs,):
        raise ValueError(f"predict gave scores of shape {scores.shape} for {queries.n_docs:,} documents.")
    if not np.isfinite(scores).all():
        raise ValueError("predict gave scores that are not finite numbers.")
    return scores


def history_of(ranker: Any) -> list[dict[str, float]] | None:
    """What a fitted ranker wrote down after every iteration, one dict each; None where it keeps nothing."""
    history = getattr(ranker, "history_", None)
    if not isinstance(history, Mapping):
        return None
    columns = {
        str(name): [float(value) for value in values]
        for name, values in history.items()
        if isinstance(values, (list, np.ndarray)) and len(values) and all(np.ndim(value) == 0 for value in values)
    }
    length = max((len(values) for values in columns.values()), default=0)
    whole = {name: values for name, values in columns.items() if len(values) == length}
    return [{name: values[place] for name, values in whole.items()} for place in range(length)] or None


class _Shelf:
    """Where the results of one contestant in one fold stand in a store; without a store all are missing."""

    def __init__(self, store: RunStore | None, estimators: list[Any], data: FoldData, rules: Rules):
        self._store = store
        if store is None:
            return
        try:
            self._settings = [fingerprints.of_value(estimator) for estimator in estimators]
            code = fingerprints.of_code(estimators[0])
        except fingerprints.Unrecognisable:  # nobody could tell its results from those of another
            self._store = None
            return
        self._test = data.content["test"]
        self._common = {
            "fold": data.number,
            "train": data.content["train"],
            "validation": data.content["validation"],
            "select_by": str(rules.select_by),
            "convention": _convention_key(rules.convention),
            "code": code,
        }

    def trial(self, place: int) -> _Trial | None:
        stored = None if self._store is None else self._store.get(self._key_of_setting(place))
        return None if stored is None else _Trial(**stored.values)

    def put_trial(self, place: int, trial: _Trial) -> None:
        if self._store is not None:
            self._store.put(self._key_of_setting(place), trial._asdict())

    def scores(self, n_docs: int) -> Record | None:
        stored = None if self._store is None else self._store.get(self._key_of_scores())
        return stored if stored is not None and getattr(stored.array, "shape", None) == (n_docs,) else None

    def put_scores(self, values: Mapping[str, Any], scores: np.ndarray) -> None:
        if self._store is not None:
            self._store.put(self._key_of_scores(), values, scores)

    def _key_of_setting(self, place: int) -> dict[str, Any]:
        return {"what": "setting", "estimator": self._settings[place], **self._common}

    def _key_of_scores(self) -> dict[str, Any]:
        return {"what": "scores", "estimators": self._settings, "test": self._test, **self._common}


def is_storable(contestant: Contestant) -> bool:
    """Whether another run could recognise the contestant: none of its parameters is a function, say."""
    try:
        for setting in contestant.settings():
            fingerprints.of_value(with_setting(contestant.estimator, setting))
    except fingerprints.Unrecognisable:
        return False
    return True


def _convention_key(convention: Convention) -> Any:
    return fingerprints.of_value(dataclasses.asdict(convention))


# --- The floor --------------------------------------------------------------------------------------------------------


def best_features_of(data: FoldData, rules: Rules, store: RunStore | None) -> list[SingleFeature]:
    """For each measure the feature that ranks the training queries of a fold best."""
    key = {}
    if store is not None:
        key = {
            "what": "best feature",
            "train": data.content["train"],
            "measures": [str(measure) for measure in rules.measures],
            "convention": _convention_key(rules.convention),
            "code": fingerprints.of_code(None),
        }
        stored = store.get(key)
        if stored is not None:
            return [SingleFeature(*one) for one in stored.values["features"]]
    features = best_single_features(rules.measures, _lists(data.train), rules.convention, data.train)
    if store is not None:
        store.put(key, {"features": [list(feature) for feature in features]})
    return features


def _lists(queries: Queries) -> JudgedLists:
    return JudgedLists(queries.labels, np.zeros(queries.n_docs), queries.indptr, ids=queries.ids)
