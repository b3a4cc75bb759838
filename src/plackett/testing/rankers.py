"""``check_ranker``: tests of an estimator with ``fit(X, y, qid=...)``, on small lists."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from joblib.externals.loky.backend.reduction import dumps  # as joblib sends objects to worker processes
from sklearn.base import clone

from plackett.data.datasets.synthetic import make_web_like
from plackett.data.queries import Queries
from plackett.evaluation.estimators import check_estimator, fit_copy, predict

EXACT, ROUNDED = 1e-5, 1e-3  # of the spread of the scores


def check_ranker(estimator: Any, *, random_state: int = 0) -> None:
    """Test your own ranker: everything that ``compare``, ``select`` and ``cross_validate`` expect of an estimator.

    - It has ``fit``, ``predict`` and ``get_params``; ``clone`` copies its parameters.
    - ``fit`` changes neither the data nor the parameters, and two fits give the same scores.
    - ``predict`` gives one finite score per row, in the order of the rows, for any order.
    - Rows of a query need not be adjacent, ids of queries may be texts, and a query may have one document.
    - Training rows of different queries may be mixed, which changes the scores by rounding only, unless the estimator
      has ``random_state`` and draws rows.
    - A fitted ranker can be pickled, as worker processes need.

    Parameters
    ----------
    estimator : estimator
        With ``fit(X, y, qid=...)`` or ``fit(queries)``, ``predict`` and ``get_params``. ``random_state=None`` is tested
        as 0.
    random_state : int, default=0
        Seed of the data.

    Raises
    ------
    AssertionError
        At the first test that fails; it says what came and what was expected.

    Examples
    --------
    >>> from plackett.testing import check_ranker
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> class ByFeature(BaseEstimator):
    ...     def __init__(self, column=0):
    ...         self.column = column
    ...
    ...     def fit(self, X, y, qid=None):
    ...         return self
    ...
    ...     def predict(self, X, qid=None):
    ...         return X[:, self.column]
    >>> check_ranker(ByFeature(column=2))
    """
    name = type(estimator).__name__
    try:
        check_estimator(estimator)
    except TypeError as error:
        raise AssertionError(str(error)) from error
    estimator = clone(estimator)
    if estimator.get_params().get("random_state", 0) is None:
        estimator.set_params(random_state=0)
    train, test = _data(random_state), _data(random_state + 1)
    fitted = _fitted(estimator, train)
    scores = _scores(fitted, test)
    if not np.array_equal(scores, _scores(_fitted(estimator, train), test)):
        raise AssertionError(
            f"two fits of {name} to the same data give different scores. Give it a fixed random_state."
        )

    def compare(found: np.ndarray, expected: np.ndarray, tolerance: float, why: str) -> None:
        if not _is_same(expected, found, tolerance):
            row = int(np.argmax(np.abs(found - expected)))
            change = f"the score of a document changed from {expected[row]:.9g} to {found[row]:.9g}"
            raise AssertionError(f"{name}: {change}. {why}".rstrip())

    order = np.random.default_rng(random_state).permutation(test.n_docs)
    found = _scores(fitted, _reordered(test, order), " with rows in another order")
    compare(found, scores[order], EXACT, "Scores must follow the rows, even if rows of different queries are mixed.")
    place = np.arange(train.n_docs) - train.indptr[train.query_of_row]
    mixed = np.lexsort((train.query_of_row, place))  # queries alternate, each with its rows in their order
    found = _scores(_fitted(estimator, _reordered(train, mixed), " with rows of different queries mixed"), test)
    if not (_is_same(scores, found, ROUNDED) or _draws_rows(estimator, train, test, scores)):
        why = "It treats adjacent rows of different queries as one list, or depends on the order of rows."
        compare(found, scores, ROUNDED, why)
    texts = Queries(train.X, train.y, np.array([f"query {key}" for key in train.qid]))
    found = _scores(_fitted(estimator, texts, " with texts as qid"), test)
    compare(found, scores, ROUNDED, "It depends on the ids of queries.")
    try:
        copied = pickle.loads(dumps(fitted))
    except Exception as error:
        raise AssertionError(f"a fitted {name} cannot be pickled, as worker processes need: {error}") from error
    compare(_scores(copied, test, " after pickling"), scores, EXACT, "")


def _draws_rows(estimator: Any, train: Queries, test: Queries, scores: np.ndarray) -> bool:
    """Return whether an estimator with ``random_state`` draws rows: scores change if queries are reordered."""
    if "random_state" not in estimator.get_params():
        return False
    reversed_ = _reordered(train, np.argsort(-train.query_of_row, kind="stable"))
    return not _is_same(scores, _scores(_fitted(estimator, reversed_), test), ROUNDED)


def _data(seed: int) -> Queries:
    """Return 30 queries of 1 to 12 documents, with ids of their own."""
    whole = make_web_like(30, 12, 4, random_state=seed)
    sizes = np.append(1, np.random.default_rng(seed).integers(2, 13, size=29))
    is_kept = np.arange(whole.n_docs) - whole.indptr[whole.query_of_row] < sizes[whole.query_of_row]
    return Queries(whole.X[is_kept], whole.labels[is_kept], whole.query_of_row[is_kept] + 1000 * seed)


def _reordered(queries: Queries, order: np.ndarray) -> Queries:
    return Queries(queries.X[order], queries.labels[order], queries.qid[order])


def _fitted(estimator: Any, train: Queries, when: str = "") -> Any:
    name, X, y = type(estimator).__name__, train.X.copy(), train.labels.copy()
    before = repr(clone(estimator).get_params())
    try:
        fitted = fit_copy(estimator, train)
    except Exception as error:
        raise AssertionError(f"{name}.fit failed{when}: {type(error).__name__}: {error}") from error
    if not (np.array_equal(X, train.X) and np.array_equal(y, train.labels)):
        raise AssertionError(f"{name}.fit changed X or y, which belong to the caller.")
    if repr(fitted.get_params()) != before:
        raise AssertionError(f"{name}.fit changed its parameters; store what it learns in attributes such as coef_.")
    return fitted


def _scores(fitted: Any, test: Queries, when: str = "") -> np.ndarray:
    try:
        return predict(fitted, test)
    except Exception as error:
        raise AssertionError(
            f"{type(fitted).__name__}.predict failed{when}: {type(error).__name__}: {error}"
        ) from error


def _is_same(expected: np.ndarray, found: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(found - expected).max() <= tolerance * max(float(np.ptp(expected)), 1e-300))
