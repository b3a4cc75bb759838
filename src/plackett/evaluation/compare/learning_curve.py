"""Learning curves by training size."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plackett._progress import Progress, Reporter, is_bar
from plackett.evaluation.compare.comparison import CurvePoint, FoldFit
from plackett.evaluation.compare.contestants import Contestant
from plackett.evaluation.compare.folds import Criteria, FoldData, Outcome, Setup, in_workers, run_fold_safely
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.select.grids import with_params
from plackett.evaluation.significance import bootstrap_interval
from plackett.evaluation.store.results import ResultStore
from plackett.metrics.judged_lists import mean_of_counted

SHARES = (0.1, 0.25, 0.5, 1.0)


def check_shares(shares: Any) -> tuple[float, ...]:
    """Return the shares of a learning curve, sorted; the whole is always included."""
    if shares is None or shares is False:
        return ()
    if shares is True:
        return SHARES
    try:
        wanted = {float(share) for share in shares}
    except (TypeError, ValueError):
        raise ValueError(f"learning_curve={shares!r}: pass True, or a list of shares such as [0.1, 0.5].") from None
    if not all(0.0 < share <= 1.0 for share in wanted):
        raise ValueError(f"learning_curve={shares!r}: pass shares of the training queries, above 0 and at most 1.")
    return tuple(sorted({*wanted, 1.0}))


def learning_curves(
    setup: Setup,
    shares: Sequence[float],
    fits: Mapping[str, Sequence[FoldFit]],
    scores: Mapping[str, np.ndarray],
    *,
    n_jobs: int | None,
    progress: Reporter,
) -> tuple[dict[str, list[CurvePoint]], list[str]]:
    """Return by contestant a point for each share, and notes on fits that failed.

    The training queries of a smaller share are among those of a larger one. Hyperparameters are those that the fold
    chose with all of its training queries; validation queries stay the same.
    """
    contestants = [contestant for contestant in setup.contestants if contestant.name in scores]
    smaller = [share for share in shares if share < 1.0]
    chosen = {
        (one.name, fit.fold): Contestant(one.name, with_params(one.estimator, fit.params), {})
        for one in contestants
        for fit in fits[one.name]
    }
    tasks = [
        (chosen[one.name, fold.number], fold, share, setup.criteria, setup.stores[one.name], os.getpid())
        for one in contestants
        for share in smaller
        for fold in setup.folds
    ]
    found = {(one.name, share): np.full(setup.queries.n_docs, np.nan) for one in contestants for share in smaller}
    problems: dict[str, str] = {}
    with Progress("learning curves", len(tasks), is_shown=is_bar(progress)) as bar:
        for task, outcome in zip(tasks, in_workers(_fit_share, tasks, n_jobs, is_ordered=True), strict=True):
            share = task[2]
            if outcome.error is not None:  # too few queries for this ranker, for example
                problems.setdefault(outcome.name, f"learning curve of {outcome.name}, {share:.0%}: {outcome.reason}")
            else:
                found[outcome.name, share][setup.rows_of(outcome.fold)] = outcome.scores
            bar.advance()
    found |= {(one.name, 1.0): scores[one.name] for one in contestants}
    curves = {
        one.name: [_point(setup, share, found[one.name, share]) for share in (*smaller, 1.0)] for one in contestants
    }
    return curves, list(problems.values())


def _point(setup: Setup, share: float, scores: np.ndarray) -> CurvePoint:
    size, criteria = float(np.mean([_n_kept(fold, share) for fold in setup.folds])), setup.criteria
    if np.isnan(scores).any():  # a fit failed
        return CurvePoint(share, size, math.nan, math.nan, math.nan)
    table = evaluate(setup.queries, scores, metrics=[criteria.measures[0]], convention=criteria.convention)
    values = table.values[:, 0]
    interval = bootstrap_interval(values, random_state=criteria.random_state)
    return CurvePoint(share, size, mean_of_counted(values), *interval)


def _fit_share(
    contestant: Contestant, data: FoldData, share: float, criteria: Criteria, store: ResultStore, parent: int
) -> Outcome:
    """Return the outcome of training on a share of the training queries."""
    # the same shuffled order for all shares, so that the smaller ones are parts of the larger ones
    order = np.random.default_rng(criteria.random_state).permutation(data.train.n_queries)
    part = replace(data, train=data.train[np.sort(order[: _n_kept(data, share)])], labels=None)
    return run_fold_safely(contestant, part, criteria, store.under(share=share, seed=criteria.random_state), parent)


def _n_kept(data: FoldData, share: float) -> int:
    return max(1, round(share * data.train.n_queries))
