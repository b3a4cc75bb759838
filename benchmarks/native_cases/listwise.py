"""Linear scores, listwise losses and the objective's pass over X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from plackett.data.query_lists import QueryLists
from plackett.losses import CSListMLE, ListMLE, ListNet, PListMLE, RankCosine, Squared
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer

LOSSES = {
    "listmle": ListMLE(), "listmle, efron": ListMLE(ties="efron"), "p-listmle": PListMLE(), "listnet": ListNet(),
    "rankcosine": RankCosine(), "cs-listmle": CSListMLE(), "cs-listmle, all places": CSListMLE(k=None),
    "squared": Squared(),
}  # fmt: skip


def _lists(n_docs: int, per_query: int = 100, n_grades: int = 5) -> QueryLists:
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.geometric(0.5, size=n_docs) - 1, n_grades - 1).astype(float)
    return QueryLists(labels, np.arange(0, n_docs + 1, per_query))


def _rows(n_docs: int, n_columns: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n_docs, n_columns), dtype=np.float32).astype(dtype)


def _objective(loss: Any, X: Any, **lists: int) -> Objective:
    scorer = LinearScorer(X, has_intercept=not loss.ignores_shifts)
    return Objective(loss, scorer, _lists(X.shape[0], **lists), L2(1e-3, n_free=int(scorer.has_intercept)))


def _gradient(loss: Any, make_rows: Callable[[], Any], **lists: int) -> Callable:
    def set_up() -> Callable[[], object]:
        objective = _objective(loss, make_rows(), **lists)
        coef = np.random.default_rng(2).normal(size=objective.size) * 0.1
        return lambda: objective.value_and_gradient(coef)

    return set_up


def _product(loss: Any, make_rows: Callable[[], Any]) -> Callable:
    def set_up() -> Callable[[], object]:
        objective = _objective(loss, make_rows())
        coef = np.random.default_rng(2).normal(size=objective.size) * 0.1
        multiply = objective.curvature_at(coef)
        return lambda: multiply(coef)

    return set_up


def _alone(loss: Any, what: str, n_docs: int = 200_000, **options: int) -> Callable:
    def set_up() -> Callable[[], object]:
        lists = _lists(n_docs, **options)
        scores, slope = np.random.default_rng(3).normal(size=n_docs), np.empty(n_docs)
        if what == "slope":
            return lambda: loss.query_values(scores, lists, slope)
        if what == "product":
            product, direction = loss.curvature_at(scores, lists), np.random.default_rng(4).normal(size=n_docs)
            return lambda: product(direction)
        return lambda: loss.diagonal_at(scores, lists)

    return set_up


def _sparse(n_docs: int, index: Any) -> sparse.csr_matrix:
    X = sparse.random(n_docs, 500, density=0.05, format="csr", random_state=0, dtype=np.float32)
    X.indices = X.indices.astype(index)
    return X


def _scores(X: np.ndarray) -> Callable[[], object]:
    scorer, coef = LinearScorer(X), np.ones(X.shape[1])
    return lambda: scorer.scores(coef)


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "gradient, 1.2 M × 136 float32, listmle": _gradient(ListMLE(), lambda: _rows(1_200_000, 136)),
    **{f"gradient, 200 k × 136 float32, {name}": _gradient(loss, lambda: _rows(200_000, 136))
       for name, loss in LOSSES.items()},
    **{f"gradient, 200 k × 10 float32, {name}": _gradient(loss, lambda: _rows(200_000, 10))
       for name, loss in LOSSES.items()},
    "gradient, 200 k × 136 float64, listmle": _gradient(ListMLE(), lambda: _rows(200_000, 136, np.float64)),
    "gradient, 200 k × 137 float32, listmle": _gradient(ListMLE(), lambda: _rows(200_000, 137)),
    "gradient, 200 k × 136 float32, listmle, strict": _gradient(
        ListMLE(), lambda: _rows(200_000, 136), per_query=20, n_grades=10**9),
    "gradient, 200 k × 500 sparse, listmle": _gradient(ListMLE(), lambda: _sparse(200_000, np.int32)),
    "gradient, 200 k × 500 sparse, cs-listmle": _gradient(CSListMLE(), lambda: _sparse(200_000, np.int32)),
    "gradient, 100 × 10, listmle": _gradient(ListMLE(), lambda: _rows(100, 10, np.float64), per_query=10),
    "gradient, 100 × 10, listnet": _gradient(ListNet(), lambda: _rows(100, 10, np.float64), per_query=10),
    "gradient, 5000 × 46, listmle": _gradient(ListMLE(), lambda: _rows(5000, 46, np.float64), per_query=10),
    **{f"curvature, 200 k × {n} float32, {name}": _product(LOSSES[name], lambda n=n: _rows(200_000, n))
       for n in (136, 10) for name in ("listmle", "listnet", "cs-listmle", "squared")},
    "curvature, 200 k × 500 sparse, listmle": _product(ListMLE(), lambda: _sparse(200_000, np.int32)),
    **{f"{what} alone, {name}": _alone(loss, what) for what in ("slope", "diagonal") for name, loss in LOSSES.items()},
    **{f"product alone, {name}": _alone(LOSSES[name], "product") for name in ("listmle", "listnet", "cs-listmle")},
    "slope alone, listmle, drawn": _alone(ListMLE(ties="random"), "slope"),
    "slope alone, listnet, sigmoid": _alone(ListNet("sigmoid"), "slope"),
    "slope alone, rankcosine, exp": _alone(RankCosine("exp"), "slope"),
    "scores, 1 M × 50 float32": lambda: _scores(_rows(1_000_000, 50)),
    "scores, 100 × 50 float64": lambda: _scores(_rows(100, 50, np.float64)),
}  # fmt: skip
