"""Probabilistic interleaving and multileaving (hofmann2011, schuth2015)."""

from __future__ import annotations

from functools import lru_cache

from plackett.clicks.interleaving.method import AdditiveMethod, Basis, Draws, Lists, fill

DECAY = 3.0  # of the probability by rank, as in the paper


class Probabilistic(AdditiveMethod):
    """Rankers that draw documents by their ranks, with credit for all assignments that could have made the list.

    List: for each place a ranker is drawn, all equally likely, and it draws one of its documents that are not shown
    yet, with probability proportional to 1 / rank³. Any document can be shown at any place. Credit: for a click on a
    document, each ranker gets the probability that the document came from it, given the list, less its share of the
    rankers. Test: the mean difference of two rankers per unit.
    """

    name = "probabilistic"

    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        n_rankers = len(lists)
        weights = [list(_weights(len(documents))) for documents in lists]  # 0 once shown
        place_of = [{document: place for place, document in enumerate(documents)} for documents in lists]
        n_left = [len(documents) for documents in lists]
        shown: list[str] = []
        basis: Basis = []
        while len(shown) < k:
            waiting = [ranker for ranker in range(n_rankers) if n_left[ranker]]
            if len(waiting) < 2:
                for ranker in waiting:
                    fill(shown, lists[ranker], k)
                break
            drawn = waiting[draws.pick(len(waiting))]
            document = lists[drawn][draws.weighted(weights[drawn])]
            chances = [0.0] * n_rankers
            for ranker in waiting:
                place = place_of[ranker].get(document)
                if place is not None:
                    chances[ranker] = weights[ranker][place] / sum(weights[ranker])
                    weights[ranker][place] = 0.0
                    n_left[ranker] -= 1
            total, share = sum(chances), 1 / len(waiting)
            row = [0.0] * n_rankers
            for ranker in waiting:
                row[ranker] = chances[ranker] / total - share
            shown.append(document)
            basis.append(row)
        basis += [[0.0] * n_rankers for _ in range(len(shown) - len(basis))]
        return shown, basis


@lru_cache(maxsize=1024)
def _weights(n: int) -> tuple[float, ...]:
    return tuple(rank**-DECAY for rank in range(1, n + 1))
