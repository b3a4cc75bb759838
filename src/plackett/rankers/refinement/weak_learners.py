"""Boosting rounds of a refiner for one query, with exact decision stumps or any classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from plackett import _native
from plackett.rankers.refinement.judgements import QueryFeedback

TIE, LARGEST_SUM = _native.rankers.TIE, _native.rankers.LARGEST_SUM
MULTIPLICATIVE = -1.0  # in place of γ
CLASSIFIER_FIELDS = [("weight", np.float64)]
STUMP_FIELDS = [("feature", np.int64), *CLASSIFIER_FIELDS, ("threshold", np.float64), ("is_above", np.bool_)]
N_COLUMNS = 6  # of a history: α, θ, μ, ν, err_w, err_t
DRAWS = 100  # of a sample, until both classes are in it
TOP = 10  # documents that set the scale of the base scores
NO_SPREAD = 1e-12  # of computed scores, relative to their size: rounding errors


def confidence_of(base: np.ndarray, *, is_column: bool = False) -> float:
    """Return λ: one over the standard deviation of the ten best base scores; 0 if these are equal.

    Values of a column are compared exactly; other scores are sums, which may differ by rounding.
    """
    best = np.partition(base, base.size - TOP)[-TOP:] if base.size > TOP else base
    best = 0.5 * best  # so that the difference of two huge scores does not overflow
    size = np.abs(best).max()
    if best.max() - best.min() <= (0.0 if is_column else NO_SPREAD * size):
        return 0.0
    deviation = float(size * np.std((best - best.max()) / size))  # without overflow or underflow
    return 0.5 / deviation if deviation > 1e-300 else 0.0


class BasePairs:
    """The probabilities W of the pairs of one query's documents, without a matrix over pairs.

    ``W_ij = 1 / (1 + exp(-λ (g_i - g_j)))`` is, for g_j above g_i, a sum of 20 decaying exponentials of their distance,
    with a relative error below 1e-15; ``powers`` are the factors of each from one document to the next, in ``order`` by
    ascending base score. A product ``W v`` is then one sweep up and one down the sorted scores, in time and memory
    O(n). Compared with the matrix, rounding included, products of positive vectors have an error below 1e-14 for 1,000
    documents and 1e-12 for 100,000.

    λ is ``confidence``; None takes that of :func:`confidence_of`, for which ``is_column`` says whether the base scores
    are values of a column of X.
    """

    def __init__(self, base: np.ndarray, confidence: float | None = None, *, is_column: bool = False):
        self.confidence = confidence_of(base, is_column=is_column) if confidence is None else float(confidence)
        self.order = np.argsort(base, kind="stable")
        steps = np.zeros(base.size)
        with np.errstate(over="ignore", invalid="ignore"):
            steps[1:] = np.diff(base[self.order])
            if self.confidence:
                steps *= self.confidence
            else:
                steps[:] = 0.0  # distances may be infinite
        self.powers = np.empty((base.size, _native.rankers.N_TERMS))
        _native.rankers.fill_powers(steps, self.powers)


class Rounds(NamedTuple):
    """The steps of a query, and the scores of its documents in the order of its rows.

    Row t of ``history`` is the state after t rounds: α, θ, μ and ν of the round, err_w and err_t after it.
    """

    history: np.ndarray
    scores: np.ndarray
    steps: np.ndarray
    estimators: Sequence[Any] = ()


def boost_stumps(
    rows: np.ndarray, base: BasePairs, feedback: QueryFeedback, n_rounds: int, eta: float, gamma: float
) -> Rounds:
    """Run at most ``n_rounds`` rounds, each with the stump of the largest θ."""
    n_docs = rows.shape[0]
    varying = np.flatnonzero(rows.min(axis=0) < rows.max(axis=0))  # most terms are in no document of a list
    if varying.size < rows.shape[1]:
        rows = rows[:, varying]
    columns = np.ascontiguousarray(rows[base.order].T, dtype=np.float64)
    order = np.empty(columns.shape, dtype=np.uint32)
    for feature, values in enumerate(columns):  # one by one: argsort returns int64, twice the size of order
        order[feature] = np.argsort(values)
    is_step = np.empty(order.shape, dtype=np.bool_)
    _native.rankers.mark_steps(columns, order, is_step)
    features, thresholds = np.zeros(n_rounds, dtype=np.int64), np.empty(n_rounds)
    is_above, history = np.zeros(n_rounds, dtype=np.bool_), np.empty((n_rounds + 1, N_COLUMNS))
    sorted_scores = np.empty(n_docs)
    n = _native.rankers.boost_stumps(
        n_rounds, columns, order, is_step, base.powers, *feedback, eta, gamma,
        features, thresholds, is_above, history, sorted_scores,
    )  # fmt: skip
    scores = np.empty(n_docs)
    scores[base.order] = sorted_scores
    steps = np.empty(n, dtype=STUMP_FIELDS)
    steps["feature"], steps["weight"] = varying[features[:n]], history[1 : n + 1, 0]
    steps["threshold"], steps["is_above"] = thresholds[:n], is_above[:n]
    return Rounds(history[: n + 1].copy(), scores, steps)


def boost_classifier(
    rows: np.ndarray,
    base: BasePairs,
    feedback: QueryFeedback,
    n_rounds: int,
    eta: float,
    gamma: float,
    *,
    estimator: Any,
    sample_size: int | None,
    draws: np.random.Generator,
) -> Rounds:
    """Run rounds with a clone of ``estimator`` in each, fitted to the signs of the documents' weights."""
    rows, n_docs = rows[base.order], rows.shape[0]
    up, down, pulls = np.ones(n_docs), np.ones(n_docs), np.empty(n_docs)
    base_up, base_down, parts = np.empty(n_docs), np.empty(n_docs), np.empty((4, n_docs))
    _native.rankers.multiply_base_pairs(base.powers, up, down, base_up, base_down)
    sorted_scores, shift = np.zeros(n_docs), 0.0
    history: list[np.ndarray] = [np.zeros(N_COLUMNS)]
    estimators: list[Any] = []
    while True:
        of_w, of_t, err_w, err_t = _native.rankers.weigh_documents(
            up, down, base_up, base_down, *feedback, eta, gamma, pulls
        )
        history[-1][4:] = err_w * np.exp(-shift), err_t * np.exp(-shift)
        if len(estimators) == n_rounds or shift > LARGEST_SUM or np.abs(pulls).max() <= TIE:
            break
        fitted = _fitted(estimator, rows, pulls, sample_size, draws)
        is_up = votes(fitted, rows)
        mu, nu, alpha = _native.rankers.boost_refiner(
            is_up, base.powers, up, down, base_up, base_down, *feedback, eta, of_w, of_t, parts
        )
        whole = of_w * err_w + of_t * err_t
        if alpha <= 0.0 or mu - nu <= TIE * whole:
            break
        scale = 1.0 if gamma == MULTIPLICATIVE else np.exp(-shift)
        history.append(np.array([alpha, (mu - nu) * scale, mu * scale, nu * scale, 0.0, 0.0]))
        estimators.append(fitted)
        sorted_scores[is_up] += alpha
        shift += alpha
    scores = np.empty(n_docs)
    scores[base.order] = sorted_scores
    steps = np.array([(one[0],) for one in history[1:]], dtype=CLASSIFIER_FIELDS)
    return Rounds(np.array(history), scores, steps, estimators)


def votes(classifier: Any, rows: np.ndarray) -> np.ndarray:
    """Return whether a fitted classifier predicts class 1 for each row; raise unless it has one answer per row."""
    classes = np.asarray(classifier.predict(rows))
    if classes.shape != (rows.shape[0],):
        raise ValueError(
            f"estimator={type(classifier).__name__} predicted an array of shape {classes.shape} for {rows.shape[0]} "
            "rows; one class per row is needed."
        )
    return classes == 1


def _fitted(estimator: Any, rows: np.ndarray, pulls: np.ndarray, sample_size: int | None, draws: Any) -> Any:
    fresh = clone(estimator)
    for name in sorted(fresh.get_params()):  # of nested estimators, too: results do not depend on the number of threads
        if name == "random_state" or name.endswith("__random_state"):
            fresh.set_params(**{name: int(draws.integers(2**31 - 1))})
    weights, classes = np.abs(pulls), (pulls > 0.0).astype(np.int64)
    if sample_size is None:
        return fresh.fit(rows, classes, sample_weight=weights * (pulls.size / weights.sum()))
    for _ in range(DRAWS):
        drawn = draws.choice(pulls.size, size=sample_size, p=weights / weights.sum())
        if classes[drawn].min() < classes[drawn].max():
            break
    return fresh.fit(rows[drawn], classes[drawn])
