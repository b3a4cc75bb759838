"""One contestant in one fold: validation queries choose a setting, its fit scores the test documents.

The test queries come without labels, so that nothing here could look at them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import set_n_threads
from plackett._warnings import recorded
from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.contestants import Contestant
from plackett.evaluation.compare.cost import measured
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.reference_scores import SingleFeature, best_single_features
from plackett.evaluation.select import estimators
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.store import fingerprints, recognition
from plackett.evaluation.store.runs import Record, RunStore
from plackett.evaluation.store.settings import fit_setting, in_one_line, seeded, with_setting
from plackett.evaluation.store.store import Shelf, convention_key
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import is_better
from plackett.storage.mapped import travelling

WARM_UP_QUERIES = 8


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

    def __reduce__(self) -> tuple:
        """On the way to a worker; rows that are mapped from a file go by the place where they lie."""
        fields = tuple(getattr(self, field.name) for field in dataclasses.fields(self))
        return FoldData, tuple(map(travelling, fields))


@dataclass(frozen=True)
class Outcome:
    """What became of one contestant in one fold: a fit and its test scores, or an error and the reason in one line.

    ``failed`` has a line for every setting that could not be fitted.
    """

    name: str
    fold: int
    fit: FoldFit | None = None
    scores: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    error: Exception | None = None
    reason: str = ""
    is_stored: bool = False


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
    return queries.replace(y=None, comments=None)


def attempt(
    contestant: Contestant, data: FoldData, rules: Rules, store: RunStore | None, n_threads: int | None, parent: int
) -> Outcome:
    """`run_fold` with any error as part of the outcome; in a process other than ``parent`` on ``n_threads`` threads."""
    is_worker = os.getpid() != parent
    if is_worker:
        set_n_threads(n_threads)  # the cores are shared with the other workers
    try:
        outcome = run_fold(contestant, data, rules, store)
    except Exception as error:  # anything may go wrong in a ranker; it shall stop nobody else
        outcome = _failure(contestant, data, error)
    if outcome.error is None or not is_worker:
        return outcome
    return dataclasses.replace(outcome, error=_that_travels(outcome.error))


def _failure(contestant: Contestant, data: FoldData, error: Exception, failed: Sequence[str] = ()) -> Outcome:
    words = in_one_line(error) if len(failed) < 2 else f"all {len(failed)} settings failed, the first with {failed[0]}"
    reason = f"fold {data.number}: {words}"
    return Outcome(contestant.name, data.number, failed=tuple(failed), error=error, reason=reason)


def _that_travels(error: Exception) -> Exception:
    """The error made anew from its words if it is one of Python's own; otherwise another one with the same words.

    Nobody knows what other classes of errors need to be made again in another process.
    """
    if type(error).__module__ == "builtins" and all(isinstance(part, (str, int, float)) for part in error.args):
        return type(error)(*error.args)
    return RuntimeError(f"{type(error).__name__}: {error}")


def run_fold(contestant: Contestant, data: FoldData, rules: Rules, store: RunStore | None) -> Outcome:
    """Try every setting on the validation queries, and score the test documents by the first of the best.

    A setting that fails never wins; when all do, the error of the first is the outcome. With a store, whatever is
    finished there is taken from it, and whatever is finished here is put there at once. The fits do not depend on each
    other, so that it makes no difference which of them were there. What failed is tried again.
    """
    settings = contestant.settings()
    candidates = [seeded(with_setting(contestant.estimator, setting), rules.random_state) for setting in settings]
    shelf = Shelf(
        store,
        candidates,
        fold=data.number,
        content=data.content,
        select_by=rules.select_by,
        convention=rules.convention,
    )
    failed: list[str] = []
    left = list(range(len(settings)))
    record = shelf.scores(left, data.test.n_docs)
    is_stored = record is not None
    if record is None:
        tried = _try_all(candidates, shelf, data, rules)
        failed = [f"{in_words(settings[place])}: {in_one_line(error)}" for place, error in tried.errors.items()]
        if not tried.trials:
            return _failure(contestant, data, tried.errors[0], failed)
        left = list(tried.trials)
        record = shelf.scores(left, data.test.n_docs) if failed else None
        is_stored = record is not None
    if record is None:
        record = _score(candidates, tried, data, rules)
        shelf.put_scores(left, record)
    chosen = settings[left[record.values["chosen"]]]
    fit = FoldFit(data.number, chosen, n_settings=len(settings), **record.values["fit"])
    told = tuple(record.values["warnings"])
    return Outcome(contestant.name, data.number, fit, record.array, told, tuple(failed), is_stored=is_stored)


class _Trial(NamedTuple):
    """One setting: what it reached on the validation queries, what it cost, what was said about it."""

    validation: float
    seconds: float
    warnings: list[str]


class _Tried(NamedTuple):
    """All settings, by place: trials of those that could be fitted, and errors of the others.

    ``fitted`` is the fit of the best; None where only its trial was at hand.
    """

    trials: dict[int, _Trial]
    errors: dict[int, Exception]
    best: int
    fitted: Any


def _try_all(candidates: Sequence[Any], shelf: Shelf, data: FoldData, rules: Rules) -> _Tried:
    trials: dict[int, _Trial] = {}
    errors: dict[int, Exception] = {}
    best, fitted = -1, None
    for place, candidate in enumerate(candidates):
        ranker, stored = None, shelf.trial(place)
        if stored is None:
            try:
                ranker, trial = _try(candidate, data, rules)
            except Exception as error:  # other settings may be right
                errors[place] = error
                continue
            shelf.put_trial(place, trial._asdict())
        else:
            trial = _Trial(**stored)
        trials[place] = trial
        so_far = trials[best].validation if best >= 0 else math.nan
        if best < 0 or is_better(trial.validation, None if math.isnan(so_far) else so_far, rules.select_by):
            best, fitted = place, ranker  # the one before is given free
    return _Tried(trials, errors, best, fitted)


def _try(estimator: Any, data: FoldData, rules: Rules) -> tuple[Any, _Trial]:
    validation = math.nan
    with recorded() as caught:
        _warm_up(estimator, data, rules)
        caught.clear()
        with measured() as cost:
            ranker = _fit(estimator, data, rules)
        if data.validation is not None:
            scores = estimators.predict(ranker, data.validation)
            table = evaluate(data.validation, scores, metrics=[rules.select_by], convention=rules.convention)
            validation = table.mean()[str(rules.select_by)]
    told = [f"{one.category.__name__}: {one.message}" for one in caught]
    return ranker, _Trial(validation, cost.seconds, told)


_warm: set[type] = set()  # classes of rankers that were fitted in this process


def _warm_up(estimator: Any, data: FoldData, rules: Rules) -> None:
    """Fit a class for the first time, to a few queries: that imports modules and starts threads, and is not timed.

    Only our own rankers: other estimators may do anything in ``fit``, and are called as often as they must be.
    """
    if type(estimator) in _warm or not type(estimator).__module__.startswith("plackett."):
        return
    _warm.add(type(estimator))
    few = dataclasses.replace(data, train=data.train[:WARM_UP_QUERIES])
    with contextlib.suppress(Exception):  # so few queries may be too few; the fit that counts will tell
        _fit(estimator, few, rules)


def _fit(estimator: Any, data: FoldData, rules: Rules) -> Any:
    # early stopping chooses by the rules by which settings are chosen
    return fit_setting(estimator, {}, data.train, data.validation, rules.select_by.under(rules.convention))


def _score(candidates: Sequence[Any], tried: _Tried, data: FoldData, rules: Rules) -> Record:
    """The test scores of the best setting, and how it came to be chosen."""
    trials, best, fitted = list(tried.trials.values()), tried.trials[tried.best], tried.fitted
    with recorded():  # and dropped: those of the fit are kept, and scores are made as before
        if fitted is None:  # its value was stored, the ranker was not; the same fit gives the same ranker
            fitted = _fit(candidates[tried.best], data, rules)
        scores = estimators.predict(fitted, data.test)
    fit = {
        "validation": best.validation,
        "seconds": sum(trial.seconds for trial in trials),
        "history": history_of(fitted),
    }
    told = best.warnings  # those about settings that lose concern nobody
    return Record({"chosen": list(tried.trials).index(tried.best), "fit": fit, "warnings": told}, scores)


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


# --- The floor --------------------------------------------------------------------------------------------------------


def best_features_of(data: FoldData, rules: Rules, store: RunStore | None) -> list[SingleFeature]:
    """For each measure the feature that ranks the training queries of a fold best."""
    key = {}
    if store is not None:
        key = {
            "what": "best feature",
            "train": data.content["train"],
            "measures": [recognition.of_value(measure) for measure in rules.measures],
            "convention": convention_key(rules.convention),
            "code": fingerprints.of_code(None),
        }
        stored = store.get(key, {"features": list})
        if stored is not None and _are_features(stored.values["features"], len(rules.measures), data.train.n_features):
            return [SingleFeature(*one) for one in stored.values["features"]]
    features = best_single_features(rules.measures, JudgedLists.of_queries(data.train), rules.convention, data.train)
    if store is not None:
        store.put(key, {"features": [list(feature) for feature in features]})
    return features


def _are_features(values: list, n_measures: int, n_features: int) -> bool:
    """Whether a stored list holds, for each measure, a column, a sign and a mean."""
    return len(values) == n_measures and all(
        isinstance(one, list)
        and len(one) == 3
        and isinstance(one[0], int)
        and one[0] in range(n_features)
        and all(isinstance(part, float) for part in one[1:])
        for one in values
    )
