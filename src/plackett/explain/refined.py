"""Explanations of refined rankings: which weak classifiers changed the score of a document, and by how much."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett.explain.additive import Comparison
from plackett.explain.rows import ExplainedRows, largest_first, signed
from plackett.validation import count_of


class StumpMove(NamedTuple):
    """What one stump adds to the score of one document, relative to the mean of its list."""

    stump: str
    value: float
    weight: float
    contribution: float


class StumpDifference(NamedTuple):
    """What one stump adds to the lead of document a over document b."""

    stump: str
    value_a: float
    value_b: float
    difference: float


class QueryStumps(NamedTuple):
    """The distinct weak classifiers of a query, and their decisions on the documents of a list."""

    names: list[str]
    weights: np.ndarray
    decisions: np.ndarray  # of shape (n_docs, n_stumps)
    values: np.ndarray  # of the features that they use, of the same shape


class RefinedExplanation(ExplainedRows):
    """Which stumps changed the scores of documents, and by how much; made by ``explain`` of the refiners.

    A stump with weight α adds ``α (f - mean of f over the list)`` to a document, where f is 1 if the stump favours it
    and 0 otherwise. The contributions of a document sum to its score minus the mean score of its list; ties broken by
    the base ranker are not included. Methods take rows by their number in X.

    Attributes
    ----------
    moves : list of list of StumpMove
        For each row its moves, the largest first.
    scores, baseline : ndarray of shape (n_rows,)
        The score of each document, and the mean score of its list.
    rows : ndarray of shape (n_rows,)
        The row of X that each line explains.
    qid : ndarray of shape (n_rows,)
        The query id of each line.
    docid : list or None
        The document id of each line, if known.

    Examples
    --------
    >>> import plackett as pk
    >>> X, base = [[0.0], [1.0], [0.0], [1.0]], [9.0, 8.0, 7.0, 6.0]
    >>> refiner = pk.MultiplicativeRefiner().fit(X, [0, 1, float("nan"), float("nan")], base_score=base)
    >>> refiner.explain(X).top(1)[0].stump
    'column 0 > 0.5'
    """

    _part = StumpMove
    _parts_name = "moves"
    _headings = ("score", "mean of list", "strongest stumps")

    def __init__(self, *, moves: list[list[StumpMove]], **rows: Any):
        super().__init__(values=None, feature_names=[], **rows)
        self.moves = moves

    def top(self, row: int, n: int | None = 5) -> list[StumpMove]:
        """Return the ``n`` stumps that change the score of a document most; None returns all."""
        return self.moves[self._place_of(row)][:n]

    def why(self, a: int, b: int) -> RefinedComparison:
        """Return why row ``a`` ranks above row ``b`` of the same query; stumps that favour b are negative."""
        first, second = self._places_of_one_query(a, b)
        of_a = {move.stump: move for move in self.moves[first]}
        of_b = {move.stump: move for move in self.moves[second]}
        parts = []
        for stump in dict.fromkeys([*of_a, *of_b]):  # a stump that separates documents moves all of them
            one, other = of_a[stump], of_b[stump]
            parts.append(StumpDifference(stump, one.value, other.value, one.contribution - other.contribution))
        sizes = np.array([part.difference for part in parts])
        return RefinedComparison(
            **self._both(first, second), differences=[parts[place] for place in largest_first(sizes).tolist()]
        )

    @staticmethod
    def _name_of(part: StumpMove) -> str:
        return part.stump

    def __repr__(self) -> str:
        return f"RefinedExplanation({count_of(len(self), 'row')})"

    @staticmethod
    def _shown(part: StumpMove) -> str:
        return f"{part.stump} {signed(part.contribution)}"


class RefinedComparison(Comparison):
    """Why one document scores higher than another of its list; made by :meth:`RefinedExplanation.why`.

    Attributes
    ----------
    row_a, row_b : int
        The rows of X that are compared.
    name_a, name_b : str or None
        Ids of the documents, if known.
    score_a, score_b : float
        Their scores.
    total : float
        ``score_a - score_b``, the sum of the differences.
    differences : list of (stump, value_a, value_b, difference)
        The largest absolute value first, without stumps that make no difference.

    Examples
    --------
    >>> import plackett as pk
    >>> X, base = [[0.0], [1.0], [0.0], [1.0]], [9.0, 8.0, 7.0, 6.0]
    >>> refiner = pk.MultiplicativeRefiner().fit(X, [0, 1, float("nan"), float("nan")], base_score=base)
    >>> found = refiner.explain(X).why(1, 0)
    >>> found.differences[0].stump, found.total > 0
    ('column 0 > 0.5', True)
    """

    _part = StumpDifference
    _thing = "stump"


def moves_of(stumps: QueryStumps, docs: np.ndarray) -> list[list[StumpMove]]:
    """Return what the stumps of a query add to some of its documents, without stumps equal for all documents."""
    answer = []
    shares = stumps.decisions.mean(axis=0) if stumps.decisions.size else np.zeros(len(stumps.names))
    for doc in docs.tolist():
        amounts = stumps.weights * (stumps.decisions[doc] - shares)
        numbers = np.column_stack([stumps.values[doc], stumps.weights, amounts]).tolist()
        answer.append([StumpMove(stumps.names[place], *numbers[place]) for place in largest_first(amounts).tolist()])
    return answer
