"""Fit of the best contestant to all queries of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation import estimators
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.contestants import Contestant
from plackett.evaluation.compare.folds import Setup
from plackett.evaluation.select.grids import error_line, seeded, with_params
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.splits import Fold, with_validation
from plackett.validation import count_of


def refit(setup: Setup, contestant: Contestant, fits: Sequence[FoldFit]) -> tuple[Any, str]:
    """Return the contestant fitted to all queries, and a note on how; None and the error if the fit fails.

    The hyperparameters are those that most folds chose; ties go to the best mean on the validation queries. A ranker
    that chose its iteration on validation queries in the folds holds out a quarter of the queries for that.
    """
    criteria, queries, name = setup.criteria, _all_queries(setup), contestant.name
    params, n_chosen = _most_chosen(fits, higher_is_better=criteria.select_by.higher_is_better)
    estimator = seeded(with_params(contestant.estimator, params), criteria.random_state)
    fold = Fold(queries, None, queries)
    if any(fold.validation is not None for fold in setup.folds) and estimators.uses_validation(estimator):
        fold = with_validation(fold, random_state=criteria.random_state)
    metric = criteria.select_by.under(criteria.convention)
    try:
        ranker = estimators.fit_copy(estimator, fold.train, fold.validation, metric)
    except Exception as error:  # a failed refit must not lose the comparison
        return None, f"the refit of {name} failed: {error_line(error)}"
    how = f"best ranker: {name}, fitted to {count_of(fold.train.n_queries, 'query', 'queries')}"
    if fold.validation is not None:
        how += f", with {count_of(fold.validation.n_queries, 'query', 'queries')} held back for early stopping"
    if params:
        how += f"; chosen in {n_chosen} of {count_of(len(fits), 'fold')}: {in_words(params)}"
    return ranker, how


def _most_chosen(fits: Sequence[FoldFit], *, higher_is_better: bool) -> tuple[dict[str, Any], int]:
    """Return the parameters that most folds chose, and how many did."""
    sign = 1.0 if higher_is_better else -1.0

    def rank(fit: FoldFit) -> tuple[int, float]:
        values = [one.validation for one in fits if repr(one.params) == repr(fit.params)]
        return len(values), float(np.nan_to_num(sign * np.mean(values), nan=-np.inf))

    best = max(fits, key=rank)
    return best.params, rank(best)[0]


def _all_queries(setup: Setup) -> Queries:
    """Return the test queries of all folds, and queries that no fold tests on."""
    parts, seen = [setup.queries], set(setup.queries.ids.tolist())
    for queries in (part for fold in setup.folds for part in (fold.train, fold.validation) if part is not None):
        is_new = np.array([qid not in seen for qid in queries.ids.tolist()], dtype=bool)
        if is_new.any():
            parts.append(queries[is_new])
            seen.update(queries.ids[is_new].tolist())
    return setup.queries if len(parts) == 1 else Queries.concat(parts)
