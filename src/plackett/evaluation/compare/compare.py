"""Several rankers on the same folds: chosen on validation queries, measured on test queries, told apart from chance."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.evaluation.compare import all_folds
from plackett.evaluation.compare.all_folds import Progress, Setup
from plackett.evaluation.compare.comparison import BEST, Comparison
from plackett.evaluation.compare.contestants import as_contestants, installed
from plackett.evaluation.compare.one_fold import best_features_of
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER, random_values
from plackett.evaluation.store import fingerprints
from plackett.evaluation.store.store import not_kept
from plackett.evaluation.table import Evaluation
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure


def compare(
    rankers: Any,
    data: Any = None,
    *,
    cv: Any = 5,
    metrics: Sequence[str | Measure] | str = ("ndcg@10", "map"),
    convention: str | Convention = "standard",
    select_by: str | Measure | None = None,
    baseline: str | None = None,
    folder: str | os.PathLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Fit rankers in every fold, choose their settings on its validation queries, and measure them on its test queries.

    A ranker that fails is reported and stops nobody else; a setting of a grid that fails is not chosen. Test queries
    are not looked at before all settings are chosen, and rankers never get their labels.

    Parameters
    ----------
    rankers : str, or sequence or mapping
        Names (``"listmle,adarank"`` or a list of them), each with its default grid; or a mapping of a name to a ranker,
        or to a tuple (ranker or name, grid). ``"lightgbm"``, ``"xgboost"`` and ``"catboost"`` take part where they are
        installed, and are left out with a note where not. Besides the rankers of this library, a ranker is any
        estimator of scikit-learn's kind: a regressor, a pipeline, an ``LGBMRanker`` or ``XGBRanker``. They get arrays,
        and ``qid`` where they take it.
    data : Queries, path or str, default=None
        Queries; a LETOR or Parquet file; a folder of Parquet files, or one with S1.txt to S5.txt or Fold1, Fold2, ...;
        or the name of a known set.
    cv : int, "letor", splitter or list of folds, default=5
        As for ``as_folds``. Where folds have no validation queries and there is something to choose, a quarter of the
        training queries is held back.
    metrics : sequence of str or Measure, or text with commas, default=("ndcg@10", "map")
    convention : str or Convention, default="standard"
        As in ``evaluate``; also for choosing settings and for early stopping.
    select_by : str or Measure, default=None
        The measure that chooses on the validation queries, settings as well as iterations and rounds; None takes the
        first of ``metrics``.
    baseline : str, default=None
        The contestant to which the others are compared in the summary; None takes the first one named. ``"best"`` takes
        the one with the best mean of the first measure. It is then chosen on the test queries, and p-values are
        corrected for all pairs instead of the pairs with it, which holds the level but finds less.
    folder : path, default=None
        Where every finished fit is kept at once, so that a run that was ended goes on there, and ends with the same
        result. Several runs may use it at the same time. None keeps nothing.
    random_state : int, default=0
        For rankers that draw and have no seed of their own, and for randomisation tests and bootstrap intervals.
    n_jobs : int, default=None
        How many fits run side by side, as in scikit-learn; ``joblib.parallel_config`` counts. None is one after the
        other, each on all cores. Results are the same for any number.
    progress : callable, default=None
        Called with a line of text after every contestant and fold.

    Returns
    -------
    Comparison

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
    contestants, notes = installed(as_contestants(rankers))
    names = [contestant.name for contestant in contestants]
    if baseline is None:
        baseline = names[0]
    if baseline != BEST and baseline not in names:
        raise ValueError(f"baseline={baseline!r} is not among the contestants {', '.join(names)}.")
    setup = all_folds.prepare(
        contestants,
        data,
        cv=cv,
        metrics=metrics,
        convention=convention,
        select_by=select_by,
        folder=folder,
        random_state=random_state,
    )
    outcomes = all_folds.in_order(setup, all_folds.run(setup, n_jobs=n_jobs, progress=progress))
    tables, scores, fits, failures = {}, {}, {}, {}
    for contestant in contestants:
        name, folds = contestant.name, outcomes.pop(contestant.name)  # their scores are copied below, and given free
        fits[name] = [outcome.fit for outcome in folds if outcome.fit is not None]
        notes += all_folds.notes_on(contestant, folds)
        reasons = [outcome.reason for outcome in folds if outcome.error is not None]
        if reasons:
            failures[name] = reasons
            continue
        scores[name] = all_folds.scores_of(setup, folds)
        tables[name] = evaluate(setup.queries, scores[name], metrics=setup.metrics, convention=setup.rules.convention)
    if setup.store is not None:
        notes += [note for contestant in contestants for note in not_kept(contestant)]
    return Comparison(
        metrics=setup.metrics,
        convention=setup.rules.convention.name,
        baseline=baseline,
        tables=tables,
        fold_of=setup.fold_of,
        queries=setup.queries,
        scores=scores,
        fits=fits,
        failures=failures,
        floors=_floors(setup),
        description=setup.queries.describe().to_dict(),
        settings=_settings(setup, cv, data),
        notes=notes,
    )


def _floors(setup: Setup) -> dict[str, Evaluation]:
    """A random order, and the feature that ranked the training queries of each fold best."""
    rules, queries = setup.rules, setup.queries
    lists = JudgedLists.of_queries(queries)
    answer = {RANDOM_ORDER: _floor(setup, random_values(rules.measures, lists, rules.convention))}
    if queries.n_features == 0:
        return answer
    chosen = [best_features_of(fold, rules, setup.store) for fold in setup.folds]
    values = []
    for place, measure in enumerate(rules.measures):
        parts = [features[place].scores(fold.test) for features, fold in zip(chosen, setup.folds, strict=True)]
        ranked = lists.with_scores(np.concatenate(parts))
        values.append(rules.convention.table([measure], ranked, ties="average")[0][:, 0])
    words = {
        metric: "; ".join(dict.fromkeys(features[place].in_words(queries) for features in chosen))
        for place, metric in enumerate(setup.metrics)
    }
    answer[BEST_FEATURE] = _floor(setup, np.stack(values, axis=1), words)
    return answer


def _floor(setup: Setup, values: np.ndarray, best_features: dict[str, str] | None = None) -> Evaluation:
    return Evaluation(
        setup.metrics,
        setup.queries.ids,
        values,
        convention=setup.rules.convention.name,
        best_features=best_features,
    )


def _settings(setup: Setup, cv: Any, data: Any) -> dict[str, Any]:
    """How the comparison was run, in words and plain values."""
    packages: dict[str, str] = {}
    for contestant in setup.contestants:
        packages |= fingerprints.of_code(contestant.estimator)
    versions = {name: version.partition(" ")[0] for name, version in packages.items()}
    return {
        "data": os.fspath(data) if isinstance(data, (str, os.PathLike)) else repr(data),
        "cv": cv if isinstance(cv, (int, str)) else repr(cv) if hasattr(cv, "get_params") else type(cv).__name__,
        "n_folds": len(setup.folds),
        "metrics": setup.metrics,
        "convention": setup.rules.convention.name,
        "select_by": str(setup.rules.select_by),
        "random_state": setup.rules.random_state,
        "rankers": {one.name: " ".join(repr(one.estimator).split()) for one in setup.contestants},
        "grids": {one.name: _plain_grid(one.grid) for one in setup.contestants},
        "versions": {**versions, "platform": platform.platform()},
    }


def _plain_grid(grid: Any) -> Any:
    if isinstance(grid, (list, tuple)):
        return [_plain_grid(part) for part in grid]
    return {
        name: [
            value if value is None or isinstance(value, (bool, int, float, str)) else repr(value) for value in values
        ]
        for name, values in grid.items()
    }
