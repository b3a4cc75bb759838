"""Balanced interleaving (joachims2003)."""

from __future__ import annotations

from collections.abc import Sequence

from plackett.clicks.interleaving.draws import Draws
from plackett.clicks.interleaving.method import Basis, Lists, Method

MISSING = 0.0  # instead of a rank


class Balanced(Method):
    """Two rankers whose best documents are always shown to the same depth. Biased; kept for comparison.

    List: a coin flip decides which ranker begins; then the ranker whose list was used less deeply is next. Credit: let
    ``d`` be the lowest clicked document and ``j`` its better rank; the ranker with more clicks in its first ``j`` wins
    the list. Test: the mean of wins less losses per unit.

    Random clicks prefer the ranker that has more documents above their places in the other list: on abc against bca
    the second one wins by 1/3.
    """

    name = "balanced"
    takes_two = True

    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        first = draws.pick(2)
        shown: dict[str, None] = {}
        next_of = [0, 0]
        while len(shown) < k:
            ranker = first if next_of[0] == next_of[1] else int(next_of[1] < next_of[0])
            if next_of[ranker] >= len(lists[ranker]):
                ranker = 1 - ranker
            if next_of[ranker] >= len(lists[ranker]):
                break
            shown.setdefault(lists[ranker][next_of[ranker]])
            next_of[ranker] += 1
        rank_of = [{document: float(rank) for rank, document in enumerate(own, start=1)} for own in lists]
        return list(shown), [[ranks.get(document, MISSING) for ranks in rank_of] for document in shown]

    def credit(self, basis: Basis, clicked: Sequence[int], n_rankers: int) -> list[float]:
        depth = min(rank for rank in basis[clicked[-1]] if rank != MISSING)
        hits = [sum(0 < basis[place][ranker] <= depth for place in clicked) for ranker in range(n_rankers)]
        won = (hits[0] > hits[1]) - (hits[0] < hits[1])
        return [won / 2, -won / 2]
