"""Team draft interleaving and multileaving (radlinski2008, schuth2014)."""

from __future__ import annotations

from collections.abc import Sequence

from plackett.clicks.interleaving.method import AdditiveMethod, Basis, Draws, Lists, fill


class TeamDraftMultileave(AdditiveMethod):
    """Rounds in which every ranker picks its best document that is not shown yet, in random order.

    List: rounds until ``k`` documents are shown. Credit: a click belongs to the ranker that picked the document, less
    the mean over the rankers of the round. Test: the mean difference of two rankers per unit.

    If lists run out of documents, a pick is credited only if it succeeds in every order of the round, and rankers
    that have run out get nothing and lose nothing. Otherwise a longer list would win under random clicks.
    """

    name = "team-draft-multileave"

    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        n_rankers = len(lists)
        shown: list[str] = []
        basis: Basis = []
        taken: set[str] = set()
        next_of = [0] * n_rankers
        is_short = any(len(documents) < k for documents in lists)
        while len(shown) < k:
            waiting = []
            for ranker, documents in enumerate(lists):
                place = next_of[ranker]
                while place < len(documents) and documents[place] in taken:
                    place += 1
                next_of[ranker] = place
                if place < len(documents):
                    waiting.append(ranker)
            if len(waiting) < 2:
                for ranker in waiting:
                    fill(shown, lists[ranker], k)
                break
            n_sure = _sure_places([lists[ranker] for ranker in waiting], taken) if is_short else len(waiting)
            rest, place = list(waiting), 0
            while rest and len(shown) < k:
                ranker = rest.pop(draws.pick(len(rest)) if len(rest) > 1 else 0)
                documents, start = lists[ranker], next_of[ranker]
                while start < len(documents) and documents[start] in taken:
                    start += 1
                next_of[ranker] = start
                if start < len(documents):
                    shown.append(documents[start])
                    taken.add(documents[start])
                    basis.append(_credits(waiting, ranker, n_rankers) if place < n_sure else [0.0] * n_rankers)
                place += 1
        basis += [[0.0] * n_rankers for _ in range(len(shown) - len(basis))]
        return shown, basis


class TeamDraft(TeamDraftMultileave):
    """Team draft of two rankers: they pick in turn, and a coin flip decides which one begins each round.

    As ``TeamDraftMultileave``; with two rankers a click counts 1 for the ranker that picked the document.
    """

    name = "team-draft"
    takes_two = True


def _credits(waiting: Sequence[int], picker: int, n_rankers: int) -> list[float]:
    row, share = [0.0] * n_rankers, 1 / len(waiting)
    for ranker in waiting:
        row[ranker] = -share
    row[picker] = 1 - share
    return row


def _sure_places(lists: Lists, taken: set[str]) -> int:
    """Return the number of picks of a round that succeed in every order of the rankers."""
    left = [[document for document in documents if document not in taken] for documents in lists]
    for place in range(1, len(left)):
        for ranker, own in enumerate(left):
            # a ranker that picks before has at most its first ``place`` documents to choose from
            others = {d for other, documents in enumerate(left) if other != ranker for d in documents[:place]}
            if len(own) <= place and others.issuperset(own):
                return place
    return len(left)
