"""Fidelity by enumeration: every outcome of the drawing code with its chance, for every pair of small lists."""

from itertools import combinations, permutations, product

import pytest

from plackett.clicks.interleaving.methods import METHODS, get_method
from plackett.clicks.interleaving.optimised import Optimised
from plackett.clicks.interleaving.pairwise import PairwisePreference
from plackett.clicks.interleaving.probabilistic import Probabilistic
from plackett.clicks.interleaving.team_draft import TeamDraft, TeamDraftMultileave
from tests.clicks.interleaving.enumeration import all_click_sets, credits_of, expected_credits, outcomes

NEUTRAL = [TeamDraft(), Probabilistic(), Optimised(), Optimised("inverse"), TeamDraftMultileave(), PairwisePreference()]
LOOKED_AT = (0.68, 0.61, 0.48, 0.34)


def name(method):
    return f"{method.name} {getattr(method, 'credit_name', '')}".strip()


def random_clicks(n):
    """Yield every set of clicks of users who look at ranks with these chances and know nothing of the documents."""
    for places in [[], *all_click_sets(n)]:
        chance = 1.0
        for place in range(n):
            chance *= LOOKED_AT[place] if place in places else 1 - LOOKED_AT[place]
        yield places, chance


def clicks_on_relevant(relevant):
    """Return users who look at ranks with these chances and click on all relevant documents that they see."""

    def of(shown):
        found = [place for place, document in enumerate(shown) if document in relevant]
        for is_seen in product((False, True), repeat=len(found)):
            chance = 1.0
            for place, one in zip(found, is_seen, strict=True):
                chance *= LOOKED_AT[place] if one else 1 - LOOKED_AT[place]
            yield [place for place, one in zip(found, is_seen, strict=True) if one], chance

    return of


def small_lists(alphabet, longest):
    return [list(some) for n in range(longest + 1) for some in permutations(alphabet, n)]


@pytest.mark.parametrize("method", NEUTRAL, ids=name)
def test_random_clicks_prefer_neither_ranker_whatever_they_click(method):
    """Also for each set of clicked places alone, and for lists of all lengths with the same and other documents."""
    for own in ("", "a", "ab", "abc"):
        for other in small_lists("abcd", 3) if own != "ab" else small_lists("abxy", 3):
            if not own and not other:
                continue
            for k in (1, 2, 3, 4):
                found = list(outcomes(method, [list(own), other], k))
                assert sum(chance for chance, _, _ in found) == pytest.approx(1, abs=1e-12)
                n = len(found[0][1])
                for clicked in all_click_sets(n):
                    expected = 0.0
                    for chance, shown, basis in found:
                        assert len(shown) == n == len(set(shown)) == min(k, len({*own, *other}))
                        first, second = method.credit(basis, clicked, 2)
                        assert -1 - 1e-12 <= first - second <= 1 + 1e-12
                        expected += chance * (first - second)
                    assert expected == pytest.approx(0, abs=1e-12), (own, other, k, clicked)


@pytest.mark.parametrize("method", [TeamDraftMultileave(), Probabilistic(), PairwisePreference()], ids=name)
@pytest.mark.parametrize("lists", [("abc", "bca", "cab"), ("abc", "bd", "dca"), ("a", "abc", "dbe"), ("ab", "", "cd")])
def test_random_clicks_prefer_none_of_three_rankers(method, lists):
    for k in (2, 4):
        credits = expected_credits(method, [list(own) for own in lists], k, lambda shown: random_clicks(len(shown)))
        assert credits == pytest.approx([0, 0, 0], abs=1e-12)


def dominated_pairs(k):
    """Yield two orders of the same documents, and sets of relevant ones by the ranker that should win.

    The winner ranks all of them at least as high and one of its first k higher, so that one can be shown.
    """
    own = "abcd"
    for other in permutations(own):
        for winner in (0, 1):
            sets = []
            for relevant in (some for size in range(1, 5) for some in combinations(own, size)):
                ranks = [(own.index(document), other.index(document)) for document in relevant]
                better = [(pair[winner], pair[1 - winner]) for pair in ranks]
                if all(one <= two for one, two in better) and any(one < two and one < k for one, two in better):
                    sets.append(relevant)
            yield [list(own), list(other)], winner, sets


@pytest.mark.parametrize("method", [Probabilistic(), Optimised(), Optimised("inverse")], ids=name)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_ranker_that_ranks_every_relevant_document_at_least_as_high_wins(method, k):
    for lists, winner, sets in dominated_pairs(k):
        found = list(outcomes(method, lists, k))
        for relevant in sets:
            credits = credits_of(method, found, 2, clicks_on_relevant(relevant))
            assert credits[winner] - credits[1 - winner] > 1e-6, (lists, relevant)


@pytest.mark.parametrize("method", [Optimised(), Optimised("inverse")], ids=name)
def test_the_better_ranker_wins_if_the_first_documents_differ(method):
    """Both lists have at least k documents; those of the other list may be new."""
    k = 3
    for other in permutations("abcdef", 3):
        ranks = {
            d: (k + 1 if d not in "abc" else "abc".index(d), k + 1 if d not in other else other.index(d))
            for d in "abcdef"
        }
        for relevant in [*combinations("abcdef", 1), *combinations("abcdef", 2)]:
            if all(ranks[d][0] <= ranks[d][1] for d in relevant) and any(ranks[d][0] < ranks[d][1] for d in relevant):
                first, second = expected_credits(method, [list("abc"), list(other)], k, clicks_on_relevant(relevant))
                assert first - second > 1e-6, (other, relevant)


@pytest.mark.parametrize("method", [TeamDraft(), PairwisePreference()], ids=name)
def test_team_draft_and_pairwise_preference_may_tie_but_never_prefer_the_worse_ranker(method):
    n_ties = 0
    for lists, winner, sets in dominated_pairs(3):
        for relevant in sets:
            credits = expected_credits(method, lists, 3, clicks_on_relevant(relevant))
            assert credits[winner] - credits[1 - winner] > -1e-12
            n_ties += credits[winner] - credits[1 - winner] < 1e-12
    assert n_ties


def test_team_draft_ties_though_one_ranker_is_better():
    """c is relevant and the second ranker has it above the first, but c is always shown last, by either of them."""
    found = list(outcomes(TeamDraft(), [list("abc"), list("bca")], 3))
    assert {"".join(shown) for _, shown, _ in found} == {"abc", "bac"}
    first, second = expected_credits(TeamDraft(), [list("abc"), list("bca")], 3, clicks_on_relevant("c"))
    assert first == second == 0


def test_credit_of_probabilistic_interleaving_is_that_of_all_assignments():
    """A literal sum over who contributed each place, as in the paper."""
    lists, k = [list("abc"), list("bda")], 3

    def chance_of(ranker, document, before):
        left = {d: 1 / rank**3 for rank, d in enumerate(lists[ranker], start=1) if d not in before}
        return left.get(document, 0.0) / sum(left.values())

    for _, shown, basis in outcomes(Probabilistic(), lists, k):
        clicked = [0, 2]
        total = score = 0.0
        for teams in product((0, 1), repeat=k):
            chance = 1.0
            for place, team in enumerate(teams):
                chance *= chance_of(team, shown[place], shown[:place])
            total += chance
            score += chance * sum(1 - 2 * teams[place] for place in clicked) / len(clicked)
        first, second = Probabilistic().credit(basis, clicked, 2)
        assert first - second == pytest.approx(score / total, abs=1e-12)


def test_lists_of_team_draft_are_those_of_captains_who_pick_in_turn():
    """With lists of at least k documents, by the loop of the paper."""
    for other in permutations("abcde", 4):
        lists = [list("abcd"), list(other)]
        found = {}
        for chance, shown, basis in outcomes(TeamDraft(), lists, 4):
            key = ("".join(shown), "".join("A" if row[0] > 0 else "B" for row in basis))
            found[key] = found.get(key, 0) + chance
        expected = {}
        for coins in product((0, 1), repeat=2):
            shown, teams = "", ""
            for first in coins:
                for team in (first, 1 - first):
                    shown += next(d for d in lists[team] if d not in shown)
                    teams += "AB"[team]
            expected[shown, teams] = expected.get((shown, teams), 0) + 1 / 4
        assert found == expected


@pytest.mark.parametrize("credit", ["linear", "inverse"])
def test_credit_of_optimised_interleaving_has_the_sign_of_the_ranks(credit):
    """Without correction: for lists with at least k documents some mixture is neutral at every place."""
    for other in permutations("abcdef", 3):
        for _, shown, basis in outcomes(Optimised(credit), [list("abc"), list(other)], 3):
            for document, (first, second) in zip(shown, basis, strict=True):
                ranks = ["abc".find(document) % 4, "".join(other).find(document) % 4]  # 3: not ranked
                expected = (ranks[1] - ranks[0]) / 3 if credit == "linear" else 1 / (ranks[0] + 1) - 1 / (ranks[1] + 1)
                assert first - second == pytest.approx(expected, abs=1e-12)


def test_pairwise_preference_shows_documents_that_some_ranker_has_so_high():
    lists = [list("abcd"), list("bdea")]
    for _, shown, _ in outcomes(PairwisePreference(), lists, 4):
        for place, document in enumerate(shown):
            assert any(document in own[: place + 1] for own in lists)


def test_weights_of_pairwise_preference_undo_the_chance_to_be_counted():
    """Every pair of documents is compared equally often, in expectation, whoever is clicked."""
    lists, k = [list("abc"), list("cba")], 3
    total = {}
    for chance, shown, basis in outcomes(PairwisePreference(), lists, k):
        for place in range(k):
            for other in range(k):
                best = [int(basis[at][0]) for at in (place, other)]
                if place != other and min(place, other) + 1 >= max(best):
                    passed = 1.0
                    for rank in range(min(best), max(best)):
                        passed *= basis[rank - 1][1]
                    pair = frozenset((shown[place], shown[other]))
                    total[pair] = total.get(pair, 0) + chance / passed
    assert {pair: round(value, 9) for pair, value in total.items()} == {
        frozenset(pair): 2.0 for pair in combinations("abc", 2)
    }


def test_unknown_methods_and_credits_are_refused():
    assert {type(get_method(name)) for name in METHODS} == set(METHODS.values())
    with pytest.raises(ValueError, match="team-draft"):
        get_method("team draft")
    with pytest.raises(ValueError, match='option of method="optimised"'):
        get_method("team-draft", "linear")
    with pytest.raises(ValueError, match="linear"):
        get_method("optimised", "binary")
