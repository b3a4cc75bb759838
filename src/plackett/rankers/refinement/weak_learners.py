"""The rounds of ranking refinement for one query: with exact decision stumps, or with any classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from plackett import _native
from plackett.rankers.refinement.base_pairs import BasePairs
from plackett.rankers.refinement.judgements import QueryFeedback

TIE, LARGEST_SUM = _native.rankers.TIE, _native.rankers.LARGEST_SUM
MULTIPLICATIVE = -1.0  # in place of γ
N_COLUMNS = 6  # of a history: α, θ, μ, ν, err_w, err_t
DRAWS = 100  # of a sample, until both classes are in it


@dataclass
class Rounds:
    """What the rounds of a query found, and the scores that they give its documents, in the order of its rows.

    Row t of ``history`` is the state after t rounds: α, θ, μ and ν of the round, err_w and err_t after it.
    """

    history: np.ndarray
    scores: np.ndarray
    features: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    is_above: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    estimators: list = field(default_factory=list)

    @property
    def n(self) -> int:
        return self.history.shape[0] - 1


def boost_stumps(
    rows: np.ndarray, base: BasePairs, feedback: QueryFeedback, n_rounds: int, eta: float, gamma: float
) -> Rounds:
    """At most ``n_rounds`` rounds, each with the stump that has the largest θ of all."""
    n_docs = rows.shape[0]
    varying = np.flatnonzero(rows.min(axis=0) < rows.max(axis=0))  # of terms, say, most are in no document of a list
    if varying.size < rows.shape[1]:
        rows = rows[:, varying]
    columns = np.ascontiguousarray(rows[base.order].T, dtype=np.float64)
    order = np.empty(columns.shape, dtype=np.uint32)
    for feature, values in enumerate(columns):  # one by one, as places are twice as wide before they are stored
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
    return Rounds(history[: n + 1].copy(), scores, varying[features[:n]], thresholds[:n].copy(), is_above[:n].copy())


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
    """The same with a clone of ``estimator`` in every round, fitted to the signs of the documents' weights."""
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
    return Rounds(np.array(history), scores, estimators=estimators)


def votes(classifier: Any, rows: np.ndarray) -> np.ndarray:
    """Whether a fitted classifier puts each row into class 1; kernels trust that there is one answer per row."""
    classes = np.asarray(classifier.predict(rows))
    if classes.shape != (rows.shape[0],):
        raise ValueError(
            f"estimator={type(classifier).__name__} predicted an array of shape {classes.shape} for {rows.shape[0]} "
            "rows; one class per row is needed."
        )
    return classes == 1


def takes_weights(estimator: Any) -> bool:
    """Whether a classifier can be fitted to weighted documents."""
    return has_fit_parameter(estimator, "sample_weight")


def _fitted(estimator: Any, rows: np.ndarray, pulls: np.ndarray, sample_size: int | None, draws: Any) -> Any:
    fresh = clone(estimator)
    for name in sorted(fresh.get_params()):  # of its parts too: the answer is then the same for any number of threads
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
