"""Pairwise losses: values and slopes, curvature, and one pass over X."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses import Loss, Pairwise, get_loss
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer

NAMES = ("hinge", "squared-hinge", "psi", "smoothed-hinge", "logistic", "exponential")
CURVED = ("squared-hinge", "smoothed-hinge", "logistic", "exponential")
SIZES = {"1500 lists of 20": (1500, 20), "300 lists of 100": (300, 100), "30 lists of 1000": (30, 1000)}


def _loss(name: str) -> Loss:
    return get_loss("listmle") if name == "listmle" else Pairwise(name, width=0.3 if name == "smoothed-hinge" else 1.0)


def _lists(n_queries: int, n_docs: int) -> tuple[QueryLists, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, n_queries * n_docs).astype(float)
    lists = QueryLists(labels, np.arange(0, labels.size + 1, n_docs))
    return lists, rng.normal(size=labels.size), rng.normal(size=labels.size)


def _evaluate(name: str, size: tuple[int, int]) -> Callable[[], object]:
    lists, scores, _ = _lists(*size)
    loss, slope = _loss(name), np.empty(lists.n_docs)
    return lambda: loss.query_values(scores, lists, slope)


def _multiply(name: str, size: tuple[int, int]) -> Callable[[], object]:
    lists, scores, direction = _lists(*size)
    product = _loss(name).curvature_at(scores, lists)
    return lambda: product(direction)


def _at_new_scores(name: str, size: tuple[int, int]) -> Callable[[], object]:
    lists, scores, direction = _lists(*size)
    loss = _loss(name)
    return lambda: loss.curvature_at(scores, lists)(direction)


def _diagonal(name: str, size: tuple[int, int]) -> Callable[[], object]:
    lists, scores, _ = _lists(*size)
    loss = _loss(name)
    return lambda: loss.diagonal_at(scores, lists)


def _strict_order(name: str) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    lists = QueryLists(rng.permutation(30_000).astype(float), np.array([0, 30_000]))
    loss, scores, slope = _loss(name), rng.normal(size=30_000), np.empty(30_000)
    return lambda: loss.query_values(scores, lists, slope)


def _dual_sums() -> Callable[[], object]:
    lists, scores, _ = _lists(300, 100)
    return lambda: Pairwise("hinge").dual_sums(scores, lists, 0.1)


def _objective(name: str) -> tuple[Objective, np.ndarray]:
    lists, _, _ = _lists(1200, 100)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(lists.n_docs, 136)).astype(np.float32)
    return Objective(_loss(name), LinearScorer(X), lists, L2(1e-3)), rng.normal(size=136) / 12


def _pass(name: str) -> Callable[[], object]:
    objective, coef = _objective(name)
    return lambda: objective.value_and_gradient(coef)


def _product_pass(name: str) -> Callable[[], object]:
    objective, coef = _objective(name)
    multiply = objective.curvature_at(coef)
    return lambda: multiply(coef)


CASES: dict[str, Callable[[], Callable[[], object]]] = {"dual sums": _dual_sums}
for _name in NAMES:
    for _text, _size in SIZES.items():
        CASES[f"{_name}, {_text}"] = lambda name=_name, size=_size: _evaluate(name, size)
    if _name != "logistic":
        CASES[f"{_name}, strict order of 30000"] = lambda name=_name: _strict_order(name)
for _name in CURVED:
    for _text, _size in SIZES.items():
        CASES[f"{_name}, product, {_text}"] = lambda name=_name, size=_size: _multiply(name, size)
    CASES[f"{_name}, first product"] = lambda name=_name: _at_new_scores(name, (300, 100))
    CASES[f"{_name}, diagonal"] = lambda name=_name: _diagonal(name, (300, 100))
for _name in ("listmle", *NAMES):
    CASES[f"{_name}, pass over X"] = lambda name=_name: _pass(name)
for _name in ("listmle", *CURVED):
    CASES[f"{_name}, product pass over X"] = lambda name=_name: _product_pass(name)
