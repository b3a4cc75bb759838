"""Comparison of rankers on the same folds, with significance tests."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

import numpy as np

from plackett._progress import Progress, Reporter, is_bar
from plackett._tables import json_value
from plackett.data.judged import Columns
from plackett.data.queries import Queries
from plackett.data.tables.frames import is_frame
from plackett.evaluation.compare.comparison import BEST, Comparison, places_of
from plackett.evaluation.compare.contestants import as_contestants, installed, with_preparation
from plackett.evaluation.compare.folds import Criteria, Setup, best_features_of, prepare, run
from plackett.evaluation.compare.insight import FoldInsight, Insight, importance_problem, merged
from plackett.evaluation.compare.learning_curve import check_shares, learning_curves
from plackett.evaluation.compare.refit import refit as refit_best
from plackett.evaluation.evaluate import Evaluation, evaluate
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER, notes_on_sampling, random_values
from plackett.evaluation.splits import as_folds
from plackett.evaluation.store.keys import versions_of
from plackett.exceptions import ParameterError
from plackett.metrics.conventions import Convention
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.storage.remote import shown

DEFAULT_RANKERS = "ranksvm,listmle,adarank,lightgbm"  # linear by pairs and by lists, a boosted one, and trees


def compare(
    rankers: Any,
    data: Any = None,
    *,
    missing: Any = None,
    missing_indicator: bool | None = None,
    encoding: str | None = None,
    cv: Any = 5,
    metrics: Sequence[str | Measure] | str = ("ndcg@10", "map"),
    convention: str | Convention = "standard",
    select_by: str | Measure | None = None,
    baseline: str | None = None,
    refit: bool = False,
    explain: bool | Iterable[Any] = False,
    learning_curve: bool | Sequence[float] = False,
    folder: str | os.PathLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Reporter = None,
    **columns: Unpack[Columns],
) -> Comparison:
    """Fit rankers in every fold, choose hyperparameters on its validation queries, and evaluate on its test queries.

    A ranker that fails is reported, and the others continue. A candidate of a grid that fails is not chosen. Test
    queries are not used before all hyperparameters are chosen, and rankers never see their labels.

    Parameters
    ----------
    rankers : str, or sequence or mapping
        Names (``"listmle,adarank"`` or a list of them), each with its default grid; or a mapping of a name to a ranker,
        or to a tuple (ranker or name, grid). ``"lightgbm"``, ``"xgboost"`` and ``"catboost"`` are skipped with a note
        if they are not installed. A ranker may also be any estimator with the interface of scikit-learn: a regressor, a
        pipeline, an ``LGBMRanker`` or ``XGBRanker``. Its ``fit`` and ``predict`` get arrays, and ``qid`` if they accept
        it.
    data : Queries, data frame, path or str, default=None
        Queries; a data frame; a LETOR, CSV, TSV, Arrow or Parquet file; a folder of Parquet files, or one with S1.txt
        to S5.txt or Fold1, Fold2, ...; or the name of a known set. ``compare(data)``, without rankers, compares
        ``DEFAULT_RANKERS``.
    missing : str or transformer, default=None
        Rule for missing values of rankers with the parameter ``missing``, as in ``LinearRanker``; trees and RankBoost
        take missing values as they are. None fills them by the median of the training lists where a ranker cannot take
        them, and a note says so.
    missing_indicator : bool, default=None
        ``missing_indicator`` of the same rankers.
    encoding : {"one-hot", "target", "error"}, default=None
        Encoding of text and categories, for rankers with the parameter ``encoding``; trees take them as they are. None
        encodes them one-hot where a ranker cannot take them, and a note says so.
    cv : int, "letor", splitter or list of folds, default=5
        As for ``as_folds``. If folds have no validation queries and a ranker has several candidates, a quarter of the
        training queries is used for validation.
    metrics : sequence of str, Measure or callable, or text with commas, default=("ndcg@10", "map")
    convention : str or Convention, default="standard"
        As in ``evaluate``; also used to choose hyperparameters and for early stopping.
    select_by : str or Measure, default=None
        The measure that chooses hyperparameters, iterations and rounds on the validation queries; None takes the first
        of ``metrics``.
    baseline : str, default=None
        The contestant that the others are compared with in the summary; None takes the first. ``"best"`` takes the one
        with the best mean of the first measure. It is then chosen on the test queries, so p-values are corrected for
        all pairs instead of only its own; this preserves the significance level, with less power.
    refit : bool, default=False
        Whether to refit the best contestant by the first measure to all queries; ``best_`` of the result is the fitted
        ranker. Its hyperparameters are those that most folds chose; ties go to the best mean on the validation
        queries. A ranker that chose its iteration on validation queries in the folds (boosting, trees, nets, or with
        ``patience`` set) holds out a quarter of the queries for that.
    explain : bool or iterable of query ids, default=False
        Whether to keep, in ``insights``, which features matter to each ranker, and the reasons for the top ten
        documents of the 50 queries that changed most from the baseline to the best ranker; ids add further queries.
        Reports show them. Importance is measured by the ranker's own explanations, and by the drop of the first
        measure when a feature is shuffled within the test lists; this scores at most 2,000,000 documents per fold.
    learning_curve : bool or sequence of float, default=False
        Whether to also fit each ranker to a tenth, a quarter and half of the training queries of each fold, or to the
        given shares, with the hyperparameters that the fold chose; see ``learning_curves`` of the result.
    folder : path, default=None
        Folder in which every finished fit is stored, so that an interrupted run can resume, with the same result.
        Several runs may use it at the same time. None stores nothing.
    random_state : int, default=0
        Seed of rankers without their own ``random_state``, of randomisation tests and of bootstrap intervals.
    n_jobs : int, default=None
        Number of parallel fits, as in scikit-learn; ``joblib.parallel_config`` is respected. None runs them one after
        the other, each on all cores. Results are the same for any number.
    progress : bool or callable, default=None
        None shows a progress bar with the running fits and the time left, on standard error, in terminals and
        notebooks. True also writes a line after every contestant and fold where no bar would be seen, as in a log;
        False shows nothing. A callable is called with each line instead.
    **columns
        Columns of a data frame or table, as in ``from_frame``: ``qid``, ``label``, ``docid``, ``features``, ``drop``
        and ``categorical``.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> list(result.tables), result.n_folds
    (['regression', 'listmle'], 4)
    >>> result.differences()[0].wins + result.differences()[0].losses + result.differences()[0].ties
    40
    """
    if isinstance(rankers, Queries) or is_frame(rankers):
        rankers, data = DEFAULT_RANKERS if data is None else data, rankers
    contestants, notes = installed(as_contestants(rankers))
    contestants = [with_preparation(contestant, missing, missing_indicator, encoding) for contestant in contestants]
    names = [contestant.name for contestant in contestants]
    if baseline is None:
        baseline = names[0]
    if baseline != BEST and baseline not in names:
        raise ParameterError("baseline", baseline, f"it is not among the contestants {', '.join(names)}.")
    shares = check_shares(learning_curve)
    is_explained = explain is not False
    named = [] if isinstance(explain, bool) else list(explain)
    criteria = Criteria.of(metrics, convention, select_by, random_state)
    folds = as_folds(cv, data, **columns)
    setup = prepare(contestants, criteria, folds, folder, missing, encoding, is_explained=is_explained)
    contestants, notes = setup.contestants, notes + setup.notes
    places_of(setup.queries, named)  # raises for unknown ids, before the fits
    settings = _settings(setup, cv, data) | ({"refit": True} if refit else {})
    settings["date"] = _date(setup, settings)
    outcomes = run(setup, n_jobs=n_jobs, progress=progress)
    tables, scores, fits, failures, found = {}, {}, {}, {}, {}
    for contestant in contestants:
        name, of_folds = contestant.name, outcomes.pop(contestant.name)  # frees their scores, which are copied below
        fits[name] = [outcome.fit for outcome in of_folds if outcome.fit is not None]
        notes += setup.notes_on(contestant, of_folds)
        reasons = [outcome.reason for outcome in of_folds if outcome.error is not None]
        if reasons:
            failures[name] = reasons
            continue
        found[name] = [outcome.insight for outcome in of_folds if outcome.insight is not None]
        scores[name] = setup.scores_of(of_folds)
        tables[name] = evaluate(setup.queries, scores[name], metrics=setup.measures, convention=criteria.convention)
    notes += notes_on_sampling(criteria.measures, criteria.metrics)
    comparison = Comparison(
        metrics=criteria.metrics,
        measures=setup.measures,
        convention=criteria.convention.name,
        baseline=baseline,
        tables=tables,
        fold_of=setup.fold_of,
        queries=setup.queries,
        scores=scores,
        fits=fits,
        failures=failures,
        reference_scores=_reference_scores(setup),
        description=setup.queries.describe(with_findings=False).to_dict(),
        settings=settings,
        notes=notes,
    )
    if is_explained and comparison.tables:
        comparison.insights = _insights(setup, comparison, found, places_of(setup.queries, named))
        comparison.notes += [
            f"{name} has no feature importance, because shuffled features could not be scored: {problem}"
            for name, folds in found.items()
            if (problem := importance_problem(folds))
        ]
    if shares and comparison.tables:
        curves, problems = learning_curves(setup, shares, fits, scores, n_jobs=n_jobs, progress=progress)
        comparison.learning_curves = curves
        comparison.notes += problems
    if refit and comparison.tables:
        best = next(contestant for contestant in contestants if contestant.name == comparison.best())
        with Progress(f"fitting {best.name} to all queries", 1, is_shown=is_bar(progress)) as bar:
            comparison.refitted, note = refit_best(setup, best, fits[best.name])
            bar.advance()
        comparison.notes += [note]
    return comparison


def _insights(
    setup: Setup, comparison: Comparison, found: Mapping[str, list[FoldInsight]], named: list[int]
) -> dict[str, Insight]:
    """Return the insight of each contestant, with the reasons of the queries that reports show."""
    queries = setup.queries
    is_shown = np.zeros(queries.n_queries, dtype=bool)
    is_shown[[*comparison.most_changed(), *named]] = True
    kept = np.repeat(is_shown, np.diff(queries.indptr))
    starts = [setup.rows_of(fold.number).start for fold in setup.folds]
    return {name: merged(folds, starts, queries, kept, setup.criteria.random_state) for name, folds in found.items()}


def _date(setup: Setup, settings: Mapping[str, Any]) -> str:
    """Return the date of the run in UTC; a stored run that is resumed keeps the date of its start."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    key = {"what": "date", "data": [dict(fold.fingerprints) for fold in setup.folds], "settings": settings}
    stored = setup.store.get(key)
    if stored is None:
        setup.store.put(key, {"date": now})
    return now if stored is None else stored.values["date"]


def _reference_scores(setup: Setup) -> dict[str, Evaluation]:
    """Return the values of a random order, and of the feature that ranks the training queries of each fold best."""
    criteria, queries = setup.criteria, setup.queries
    lists = JudgedLists.of_queries(queries)
    table = functools.partial(Evaluation, criteria.metrics, queries.ids, convention=criteria.convention.name)
    measures, rules = criteria.measures, criteria.convention
    answer = {RANDOM_ORDER: table(random_values(measures, lists, rules))}
    if queries.n_features == len(queries.categories or ()):
        return answer
    store = setup.store.with_code("the best single feature", criteria.measures, criteria.convention)
    by_measure = zip(*(best_features_of(fold, criteria, store) for fold in setup.folds), strict=True)
    values, words = [], {}
    for metric, measure, features in zip(criteria.metrics, measures, by_measure, strict=True):
        parts = [feature.scores(fold.test) for feature, fold in zip(features, setup.folds, strict=True)]
        ranked = lists.with_scores(np.concatenate(parts))
        values.append(rules.table([measure], ranked, ties="average")[0][:, 0])
        words[metric] = "; ".join(dict.fromkeys(feature.in_words(queries) for feature in features))
    answer[BEST_FEATURE] = table(np.stack(values, axis=1), best_features=words)
    return answer


def _settings(setup: Setup, cv: Any, data: Any) -> dict[str, Any]:
    """Return how the comparison was run, as plain values."""
    packages = versions_of(*(contestant.estimator for contestant in setup.contestants))
    versions = {name: version.partition(" ")[0] for name, version in packages.items()}
    known = setup.queries if is_frame(data) else data
    return {
        "data": shown(data) if isinstance(data, (str, os.PathLike)) else repr(known),
        "cv": cv if isinstance(cv, (int, str)) else repr(cv) if hasattr(cv, "get_params") else type(cv).__name__,
        "n_folds": len(setup.folds),
        "metrics": setup.criteria.metrics,
        "convention": setup.criteria.convention.name,
        "select_by": str(setup.criteria.select_by),
        "random_state": setup.criteria.random_state,
        "rankers": {contestant.name: " ".join(repr(contestant.estimator).split()) for contestant in setup.contestants},
        "grids": json_value({contestant.name: contestant.grid for contestant in setup.contestants}),
        "versions": {**versions, "platform": platform.platform()},
    }
