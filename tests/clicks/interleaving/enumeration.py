"""Every outcome of a method with its chance: the randomness of the real code is replaced by all choices in turn."""

from itertools import combinations


class AllChoices:
    """Follows a prefix of choices, then takes the first one each time, and notes what else could be chosen."""

    def __init__(self, prefix):
        self.prefix, self.made, self.chance = prefix, [], 1.0

    def _choose(self, chances):
        place = len(self.made)
        choice = self.prefix[place] if place < len(self.prefix) else next(i for i, c in enumerate(chances) if c > 0)
        self.made.append((choice, chances))
        self.chance *= chances[choice]
        return choice

    def pick(self, n):
        return self._choose([1 / n] * n)

    def weighted(self, weights):
        return self._choose([weight / sum(weights) for weight in weights])


def outcomes(method, lists, k):
    """Yield the chance, the shown documents and the basis of every sequence of choices."""
    prefixes = [[]]
    while prefixes:
        draws = AllChoices(prefixes.pop())
        shown, basis = method.draw(lists, k, draws)
        yield draws.chance, shown, basis
        for place in range(len(draws.prefix), len(draws.made)):
            choice, chances = draws.made[place]
            before = [made for made, _ in draws.made[:place]]
            prefixes += [[*before, i] for i in range(choice + 1, len(chances)) if chances[i] > 0]


def expected_credits(method, lists, k, chance_of_clicks):
    """Return the expected credit of each ranker; ``chance_of_clicks(shown)`` yields places and their chance."""
    return credits_of(method, list(outcomes(method, lists, k)), len(lists), chance_of_clicks)


def credits_of(method, found, n_rankers, chance_of_clicks):
    """Return the expected credit of each ranker over these outcomes."""
    total = [0.0] * n_rankers
    for chance, shown, basis in found:
        for clicked, chance_of_these in chance_of_clicks(shown):
            credits = method.credit(basis, clicked, n_rankers) if clicked else [0.0] * n_rankers
            total = [sum_ + chance * chance_of_these * one for sum_, one in zip(total, credits, strict=True)]
    return total


def all_click_sets(n):
    """Return every set of clicked places of a list of n documents, except the empty one."""
    return [list(places) for size in range(1, n + 1) for places in combinations(range(n), size)]
