"""Optimised interleaving: a mixture of lists by a linear programme (radlinski2013)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.clicks.interleaving.method import AdditiveMethod, Basis, Draws, Lists
from plackett.validation import check_choice

CREDITS = ("linear", "inverse")
LARGEST_K = 10  # up to 2**k lists are allowed
LEAST_SHOWN = 0.01  # probability of each document to be shown, if the neutral mixtures allow it
PATTERNS = 4096  # kept solutions
UNEVEN, UNSEEN = 1e4, 1e2  # costs of bias and of documents that are not shown, against a sensitivity of at most 1


class Mixture(NamedTuple):
    """Lists with their chances, and the credit of the first ranker over the second for a click at each place."""

    lists: tuple[tuple[int, ...], ...]
    chances: tuple[float, ...]
    credits: tuple[tuple[float, ...], ...]


class Optimised(AdditiveMethod):
    """The most sensitive mixture of lists among those that are unbiased under random clicks.

    List: every place continues one of the two rankings, so at most 2**k lists are allowed; their probabilities maximise
    the expected sensitivity under the constraint that the expected credit at every place is 0. Each document that such
    a mixture can show is shown with a probability of at least .01 if possible. Credit: a function of the two ranks,
    with rank k + 1 for documents that are not among the first k. It is positive if and only if the first ranker ranks
    the document higher:

    * "linear": (rank by the second - rank by the first) / k
    * "inverse": 1 / rank by the first - 1 / rank by the second

    Test: the mean credit per unit. If no mixture is neutral, as for lists of different lengths below ``k``, the
    expected credit of each place is subtracted. Solutions are kept by pattern: the second ranking in terms of the
    first.
    """

    name = "optimised"
    takes_two = True

    def __init__(self, credit: str = "linear"):
        check_choice(credit, "credit", CREDITS)
        self.credit_name = credit

    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        first, second = ([*documents[:k]] for documents in lists)
        code = {document: place for place, document in enumerate(dict.fromkeys([*first, *second]))}
        names = list(code)
        mixture = solve(len(first), tuple([code[document] for document in second]), k, self.credit_name)
        drawn = draws.weighted(mixture.chances)
        halves = [[value / 2, -value / 2] for value in mixture.credits[drawn]]
        return [names[document] for document in mixture.lists[drawn]], halves


@lru_cache(maxsize=PATTERNS)
def solve(n_first: int, second: tuple[int, ...], k: int, credit: str) -> Mixture:
    """Return the mixture for the rankings ``0, 1, ... n_first - 1`` and ``second``."""
    with importing:
        from scipy.optimize import linprog

    first = tuple(range(n_first))
    allowed = np.array(_allowed(first, second, min(k, len({*first, *second}))), dtype=np.int64)
    n_lists, n_places = allowed.shape
    value = _credit_of(first, second, k, credit)[allowed]
    is_shown = np.zeros((n_lists, int(allowed.max()) + 1))
    np.put_along_axis(is_shown, allowed, 1.0, axis=1)
    n_docs = is_shown.shape[1]
    # variables: chances of lists, the positive and negative bias at each place, and the counted chance of documents
    cost = np.concatenate([-_sensitivity(value), np.full(2 * n_places, UNEVEN), np.full(n_docs, -UNSEEN)])
    bias = np.concatenate([value.T, np.eye(n_places), -np.eye(n_places), np.zeros((n_places, n_docs))], axis=1)
    total = np.concatenate([np.ones(n_lists), np.zeros(2 * n_places + n_docs)])[None, :]
    counted = np.concatenate([-is_shown.T, np.zeros((n_docs, 2 * n_places)), np.eye(n_docs)], axis=1)
    bounds = [(0, None)] * (n_lists + 2 * n_places) + [(0, LEAST_SHOWN)] * n_docs
    equal, limits = np.concatenate([bias, total]), np.append(np.zeros(n_places), 1.0)
    found = linprog(cost, counted, np.zeros(n_docs), equal, limits, bounds, method="highs")
    if found.x is None:  # the programme always has a solution
        raise RuntimeError(f"the linear programme of optimised interleaving failed: {found.message}")
    chances = np.maximum(found.x[:n_lists], 0.0)
    is_used = chances > 1e-12
    chances = chances[is_used] / chances[is_used].sum()
    expected = chances @ value[is_used]
    expected[np.abs(expected) < 1e-12] = 0.0
    rows = value[is_used] - expected
    rows /= max(1.0, float(np.abs(rows).max(initial=0.0)))  # centred credits may exceed 1
    return Mixture(
        tuple(map(tuple, allowed[is_used].tolist())), tuple(chances.tolist()), tuple(map(tuple, rows.tolist()))
    )


def _allowed(first: Sequence[int], second: Sequence[int], length: int) -> list[tuple[int, ...]]:
    """Return the lists whose every place continues one of the rankings."""
    lists: set[tuple[int, ...]] = {()}
    for _ in range(length):
        longer = set()
        for shown in lists:
            for ranking in (first, second):
                following = next((document for document in ranking if document not in shown), None)
                if following is not None:
                    longer.add((*shown, following))
        lists = longer
    return sorted(lists)


def _credit_of(first: Sequence[int], second: Sequence[int], k: int, credit: str) -> np.ndarray:
    """Return the credit of the first ranker over the second for a click on each document."""
    ranks = np.full((2, len({*first, *second})), k + 1.0)
    for row, ranking in zip(ranks, (first, second), strict=True):
        row[list(ranking)] = np.arange(1, len(ranking) + 1)
    return (ranks[1] - ranks[0]) / k if credit == "linear" else 1 / ranks[0] - 1 / ranks[1]


def _sensitivity(value: np.ndarray) -> np.ndarray:
    """Return for each list the share of decided clicks times the entropy of the winner; clicks fall as 1 / rank."""
    looked_at = 1 / np.arange(1, value.shape[1] + 1)
    shares = np.stack([(value > 0) @ looked_at, (value < 0) @ looked_at], axis=1) / looked_at.sum()
    decided = shares.sum(axis=1)
    won = shares / np.maximum(decided, 1e-300)[:, None]
    entropy = -np.where(won > 0, won * np.log(np.maximum(won, 1e-300)), 0.0).sum(axis=1) / math.log(2)
    return decided * entropy
