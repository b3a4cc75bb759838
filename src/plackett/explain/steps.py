"""Explanations of rankers that rank again after each step: how the rank of a document moved.

The effect of a feature depends on all earlier steps, so features have no additive contributions. The moves are
additive: before the first step all documents of a list share its mean rank, and the moves of a document sum to its rank
minus that mean. Ranks go from 1 to n, the number of documents in the list; n is the top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._tables import aligned
from plackett.explain.rows import PARTS_SHOWN, ComparedRows, ExplainedRows, dense_row, largest_first, number
from plackett.validation import count_of


class RankStep(NamedTuple):
    """One step of the model: the feature, its weight λ, and its input (a mixture has β of the ranking so far)."""

    step: int
    feature: str
    weight: float
    enters: str
    beta: float


class Move(NamedTuple):
    """How one step moved one document."""

    step: int
    feature: str
    weight: float
    value: float
    before: float
    after: float
    move: float


class LeadChange(NamedTuple):
    """How one step changed the lead, in ranks, of document a over document b."""

    step: int
    feature: str
    weight: float
    value_a: float
    value_b: float
    lead_before: float
    lead_after: float
    difference: float

    @property
    def is_turn(self) -> bool:
        """Whether the order of the two changed, including to or from a tie."""
        return bool(np.sign(self.lead_before) != np.sign(self.lead_after))


class RankSteps(ExplainedRows):
    """How the ranks of documents moved, step by step; made by ``FeatureRank.explain`` and ``BLFeatureRank.explain``.

    Methods take rows by their number in X, even if only some rows were explained. Steps are numbered from 1.

    Attributes
    ----------
    ranks : ndarray of shape (n_rows, n_steps + 1)
        The rank of each document before the first step (the mean rank of its list), and after every step; larger is
        better.
    steps : list of (step, feature, weight, enters, beta)
        The steps; ``enters`` is the input, ``"feature"``, ``"mixture"`` or ``"ranking so far"``.
    values : ndarray or CSR matrix of shape (n_rows, n_features)
        The features of the rows.
    scores, baseline : ndarray of shape (n_rows,)
        The last rank of each document, and the first; its moves sum to their difference.
    sizes : ndarray of shape (n_rows,)
        The number of documents in the list of each row, which is the top rank.
    feature_names : list of str
        Names of the features, in the order of the columns.
    rows : ndarray of shape (n_rows,)
        The row of X that each line explains.
    qid : ndarray of shape (n_rows,)
        The query id of each line.
    docid : list or None
        The document id of each line, if known.

    Examples
    --------
    >>> import plackett as pk
    >>> X = [[1.0, 0.0], [2.0, 3.0], [3.0, 1.0]]
    >>> explanation = pk.FeatureRank(discovery="linear").fit(X, [0, 1, 2]).explain(X)
    >>> explanation.ranks
    array([[2., 1., 1.],
           [2., 2., 2.],
           [2., 3., 3.]])
    """

    _part = Move
    _parts_name = "moves"
    _headings = ("rank", "top rank", "strongest steps")

    def __init__(self, *, ranks: np.ndarray, steps: list[RankStep], sizes: np.ndarray, **rows: Any):
        super().__init__(scores=ranks[:, -1], baseline=ranks[:, 0], **rows)
        self.ranks, self.steps, self.sizes = ranks, steps, sizes

    def top(self, row: int, n: int | None = 5) -> list[Move]:
        """Return the ``n`` steps that moved a document most, without those that did not move it.

        Parameters
        ----------
        row : int
        n : int, default=5
            None returns all.

        Returns
        -------
        list of (step, feature, weight, value, before, after, move), the largest first; ties in order
        """
        place = self._place_of(row)
        values, ranks = dense_row(self.values, place), self.ranks[place]
        moves = np.diff(ranks)
        return [
            Move(*self._step(t), self._value(values, t), float(ranks[t]), float(ranks[t + 1]), float(moves[t]))
            for t in largest_first(moves)[:n].tolist()
        ]

    def why(self, a: int, b: int) -> RankComparison:
        """Return why row ``a`` ranks above row ``b`` of the same query, step by step.

        Parameters
        ----------
        a, b : int

        Returns
        -------
        RankComparison
            Its differences are negative for steps that favour ``b``.
        """
        first, second = self._places_of_one_query(a, b)
        leads = self.ranks[first] - self.ranks[second]
        changes = np.diff(leads)
        values_a, values_b = dense_row(self.values, first), dense_row(self.values, second)
        return RankComparison(
            **self._both(first, second),
            size=int(self.sizes[first]),
            differences=[
                LeadChange(
                    *self._step(t),
                    self._value(values_a, t),
                    self._value(values_b, t),
                    float(leads[t]),
                    float(leads[t + 1]),
                    float(changes[t]),
                )
                for t in largest_first(changes).tolist()
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the steps, and each row's rank, mean rank of its list, and moves."""
        return {"steps": [step._asdict() for step in self.steps], **super().to_dict()}

    def __repr__(self) -> str:
        return f"RankSteps({count_of(len(self), 'row')} × {count_of(len(self.steps), 'step')})"

    def _step(self, t: int) -> tuple[int, str, float]:
        return self.steps[t].step, self.steps[t].feature, self.steps[t].weight

    def _value(self, values: np.ndarray, t: int) -> float:
        """Return the value of the feature of a step; steps cycle through the features."""
        return float(values[t % values.size])

    def _numbers(self, place: int) -> list[str]:
        return [_rank(self.scores[place]), _rank(self.sizes[place])]

    @staticmethod
    def _shown(part: Move) -> str:
        return f"{part.feature} {_rank(part.before)}→{_rank(part.after)}"


@dataclass(eq=False, repr=False, kw_only=True)
class RankComparison(ComparedRows):
    """Why one document ends above another of its list; made by :meth:`RankSteps.why`.

    Attributes
    ----------
    row_a, row_b : int
        The rows of X that are compared.
    name_a, name_b : str or None
        Ids of the documents, if known.
    score_a, score_b : float
        Their ranks after the last step; larger is better.
    total : float
        ``score_a - score_b``, the sum of the differences.
    size : int
        The number of documents in the list, which is the top rank.
    differences : list of (step, feature, weight, value_a, value_b, lead_before, lead_after, difference)
        The largest absolute value first, without steps that did not change the lead of a over b.

    Examples
    --------
    >>> import plackett as pk
    >>> X = [[1.0, 0.0], [2.0, 3.0], [3.0, 1.0]]
    >>> found = pk.FeatureRank(discovery="linear").fit(X, [0, 1, 2]).explain(X).why(2, 0)
    >>> found.score_a, found.score_b, found.total
    (3.0, 1.0, 2.0)
    """

    _part = LeadChange

    size: int

    @property
    def turns(self) -> list[LeadChange]:
        """The steps at which the order of the two changed, in sequence; the last one was decisive."""
        return sorted(part for part in self.differences if part.is_turn)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; ``"turns"`` are the numbers of the steps at which the order changed."""
        return {**super().to_dict(), "turns": [part.step for part in self.turns]}

    def to_text(self, n: int | None = PARTS_SHOWN) -> str:
        """Return a table for a terminal with the ``n`` largest changes by step, the others in one line."""
        a, b = self._labels()
        table = [["step", "feature", "weight", f"row {self.row_a}", f"row {self.row_b}", "lead", "change", ""]]
        shown, others = self.differences[:n], self.differences[len(self.differences[:n]) :]
        for part in sorted(shown):
            lead = f"{_lead(part.lead_before)}→{_lead(part.lead_after)}"
            numbers = map(number, (part.weight, part.value_a, part.value_b))
            table.append([str(part.step), part.feature, *numbers, lead, _lead(part.difference), self._turn(part, a, b)])
        if others:
            rest = math.fsum(part.difference for part in others)
            table.append(["", f"({count_of(len(others), 'other step')})", "", "", "", "", _lead(rest), ""])
        table.append(["", "total", "", "", "", "", _lead(self.total), ""])
        heading = f"{a} ends at rank {_rank(self.score_a)}, {b} at rank {_rank(self.score_b)} (top is {self.size})"
        return f"{heading}: {self._end(a, b)}\n{aligned(table, 'rlrrrrrl')}"

    def __repr__(self) -> str:
        return f"RankComparison(row {self.row_a} over row {self.row_b} by {_lead(self.total)})"

    def _end(self, a: str, b: str) -> str:
        if not self.total:
            return "neither leads"
        since = self.turns[-1]
        leader = a if self.total > 0 else b
        return f"{leader} leads by {_rank(abs(self.total))}, since step {since.step} ({since.feature})"

    @staticmethod
    def _turn(part: LeadChange, a: str, b: str) -> str:
        if not part.is_turn:
            return ""
        return "level" if not part.lead_after else f"{a if part.lead_after > 0 else b} ahead"

    def _total_record(self) -> list[Any]:
        return ["", "total", "", self.score_a, self.score_b, 0.0, self.total, self.total]


def _rank(value: float) -> str:
    """Return a rank with all its digits: ranks are multiples of one half."""
    return f"{value:.1f}".removesuffix(".0")


def _lead(value: float) -> str:
    return f"{value:+.1f}".removesuffix(".0") if value else "0"
