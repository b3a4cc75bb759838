"""Pairwise preference multileaving (oosterhuis2017)."""

from __future__ import annotations

from collections.abc import Sequence

from plackett.clicks.interleaving.method import Basis, Draws, Lists, Method

UNRANKED = float("inf")


class PairwisePreference(Method):
    """Lists of documents drawn from the best of all rankers, with credit for pairs of a clicked and a skipped document.

    List: place r shows one of the documents that some ranker has among its first r, all equally likely. Credit: a
    clicked document is preferred to each document above it that was not clicked, and to the next one below. Such
    a pair counts if each document could have been shown at the place of the other, divided by the probability of that;
    a ranker gains it if it ranks the clicked document higher and loses it if it ranks it lower. The sum is divided
    by the number of preferences and by the largest weight. Test: the mean difference of two rankers per unit.
    """

    name = "pairwise-preference"
    n_more = 2

    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        best: dict[str, int] = {}  # the best rank of each document
        for rank in range(1, max(map(len, lists)) + 1):
            for documents in lists:
                if rank <= len(documents):
                    best.setdefault(documents[rank - 1], rank)
        by_best = list(best)  # in the order of their best ranks
        # the number of documents to choose from at each place
        n_first, n_choices = 0, []
        shown: list[str] = []
        choices: list[str] = []
        while len(shown) < min(k, len(by_best)):
            while n_first < len(by_best) and best[by_best[n_first]] <= len(shown) + 1:
                choices.append(by_best[n_first])
                n_first += 1
            n_choices.append(len(choices))
            shown.append(choices.pop(draws.pick(len(choices)) if len(choices) > 1 else 0))
        rank_of = [{document: float(rank) for rank, document in enumerate(own, start=1)} for own in lists]
        # probability to be passed over at each place, by which pairs are weighted
        basis = [
            [float(best[document]), 1 - 1 / n_choices[place], *(ranks.get(document, UNRANKED) for ranks in rank_of)]
            for place, document in enumerate(shown)
        ]
        return shown, [[0.0 if number == UNRANKED else number for number in row] for row in basis]

    def credit(self, basis: Basis, clicked: Sequence[int], n_rankers: int) -> list[float]:
        credits, n_preferences = [0.0] * n_rankers, 0
        is_clicked = set(clicked)
        passed = [row[1] for row in basis]
        for place in clicked:
            for other in range(min(place + 2, len(basis))):
                if other in is_clicked:
                    continue
                n_preferences += 1
                first, last = sorted((int(basis[place][0]), int(basis[other][0])))
                if min(place, other) + 1 < last:
                    continue  # one of them could not have stood at the place of the other
                weight = _weight(passed, first, last)
                for ranker in range(n_rankers):
                    own, beaten = (basis[at][2 + ranker] or UNRANKED for at in (place, other))
                    credits[ranker] += weight * ((own < beaten) - (own > beaten))
        # the difference of two rankers is at most twice the largest weight
        return [credit / (2 * _largest_weight(passed) * max(1, n_preferences)) for credit in credits]


def _weight(passed: Sequence[float], first: int, last: int) -> float:
    """Return 1 over the probability that a document of best rank ``first`` is not shown above rank ``last``."""
    chance = 1.0
    for rank in range(first, last):
        chance *= passed[rank - 1]
    return 1 / chance if chance > 0 else 0.0


def _largest_weight(passed: Sequence[float]) -> float:
    chance, least = 1.0, 1.0
    for one in passed[:-1]:
        chance = chance * one if one > 0 else 1.0
        least = min(least, chance)
    return 1 / least
