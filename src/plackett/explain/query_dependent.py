"""Explanations of query-dependent rankers: neighbours of a query, and how its coefficients differ from those of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._tables import MISSING, aligned, plain_id
from plackett.explain.explanation import Explanation, PairExplanation, Records, number, signed
from plackett.validation import count_of, plain

FEATURES_SHOWN = 10
NEIGHBORS_SHOWN = 20


@dataclass(frozen=True, eq=False)
class NeighborTable(Records):
    """The training queries of a query's model, the nearest first.

    Attributes
    ----------
    query : hashable or None
        Id of the query, if known.
    ids : ndarray
        Ids of the training queries.
    weights : ndarray
        Their weights; the weights of all training queries sum to the number of training queries.
    distances : ndarray
        Distances between the query features; NaN if they were not compared.

    Examples
    --------
    >>> import plackett as pk
    >>> from plackett.reproductions.qsvm.draws import make_query_dependent
    >>> data = make_query_dependent(2, "II", random_state=0)
    >>> ranker = pk.QueryDependentRanker(l2=0.01).fit(data.queries, query_features=data.query_features)
    >>> ranker.neighbors(1).ids[:3]
    array([ 1,  5, 10])
    """

    _columns = ("query", "weight", "distance")

    query: Any
    ids: np.ndarray
    weights: np.ndarray
    distances: np.ndarray

    def __len__(self) -> int:
        return self.ids.size

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "query": plain_id(self.query),
            "neighbors": [dict(zip(self._columns, row, strict=True)) for row in self._records()],
        }

    def __str__(self) -> str:
        table = [
            [str(key), number(weight), MISSING if distance is None else number(distance)]
            for key, weight, distance in self._records()[:NEIGHBORS_SHOWN]
        ]
        more = len(self) - NEIGHBORS_SHOWN
        rest = [f"… and {count_of(more, 'more query', 'more queries')}"] if more > 0 else []
        return "\n".join([aligned([self._columns, *table], "lrr"), *rest])

    def _records(self) -> list[tuple[Any, float, float | None]]:
        numbers = zip(self.ids.tolist(), self.weights.tolist(), self.distances.tolist(), strict=True)
        return [(plain_id(key), weight, None if np.isnan(distance) else distance) for key, weight, distance in numbers]


class CoefficientDifference(NamedTuple):
    """A feature's coefficient in the model of a query and in that of all queries."""

    feature: str
    coefficient: float
    uniform: float
    difference: float


@dataclass(eq=False, repr=False)
class QueryExplanation(Records):
    """How the model of a query differs from that of all queries, and how it scores documents.

    Attributes
    ----------
    query : hashable
        Id of the query.
    neighbors : NeighborTable
        The training queries that the model of the query was learned from.
    coef, uniform_coef : ndarrays of shape (n_features,)
        Coefficients of the query's own model, and of the model in which all queries have the same weight.
    feature_names : list of str
        Names of the features, in the order of the coefficients.
    documents : Explanation or None
        What each feature adds to the scores of the documents, if there are any.

    Examples
    --------
    >>> import plackett as pk
    >>> from plackett.reproductions.qsvm.draws import make_query_dependent
    >>> data = make_query_dependent(2, "II", random_state=0)
    >>> ranker = pk.QueryDependentRanker(l2=0.01).fit(data.queries, query_features=data.query_features)
    >>> explanation = ranker.explain(query=1)
    >>> [one.feature for one in explanation.differences(2)]
    ['column 1', 'column 2']
    """

    _columns = CoefficientDifference._fields

    query: Any
    neighbors: NeighborTable
    coef: np.ndarray
    uniform_coef: np.ndarray
    feature_names: list[str]
    documents: Explanation | None

    def differences(self, n: int | None = None) -> list[CoefficientDifference]:
        """Return the ``n`` features whose coefficients differ most from those of all queries, the largest first."""
        columns = np.stack([self.coef, self.uniform_coef, self.coef - self.uniform_coef])
        order = np.argsort(-np.abs(columns[2]), kind="stable")[:n]
        return [CoefficientDifference(self.feature_names[j], *columns[:, j].tolist()) for j in order.tolist()]

    def top(self, row: int, n: int | None = 5) -> list:
        """Return the largest contributions to a document, as in :meth:`Explanation.top`."""
        return self._explained_documents().top(row, n)

    def why(self, a: int, b: int) -> PairExplanation:
        """Return why one document ranks above another, as in :meth:`Explanation.why`."""
        return self._explained_documents().why(a, b)

    def _explained_documents(self) -> Explanation:
        if self.documents is None:
            raise ValueError("no documents were given. Pass them to explain as X.")
        return self.documents

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        coefficients = [one._asdict() for one in self.differences()]
        answer = {"query": plain_id(self.query), "coefficients": coefficients}
        answer["neighbors"] = self.neighbors.to_dict()["neighbors"]
        return answer if self.documents is None else {**answer, **self.documents.to_dict()}

    def _records(self) -> list[CoefficientDifference]:
        return self.differences()

    def __repr__(self) -> str:
        return f"QueryExplanation(query {plain(self.query)!r}, {count_of(self.coef.size, 'feature')})"

    def __str__(self) -> str:
        table = [["feature", "this query", "all queries", "difference"]]
        for feature, own, uniform, difference in self.differences(FEATURES_SHOWN):
            table.append([feature, number(own), number(uniform), signed(difference)])
        learned = f"query {plain(self.query)}, learned from {count_of(len(self.neighbors), 'query', 'queries')}"
        more = self.coef.size - FEATURES_SHOWN
        rest = [f"… and {count_of(more, 'more feature')}"] if more > 0 else []
        documents = [] if self.documents is None else ["", str(self.documents)]
        return "\n".join([learned, "", aligned(table, "lrrr"), *rest, *documents])
