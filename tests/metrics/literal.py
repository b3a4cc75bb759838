"""Every measure once more, as slow literal loops over one list in a given order, straight from the definitions."""

import math
from itertools import pairwise, permutations, product


def gain_of(label, gain):
    if label <= 0:
        return 0.0
    return 2.0**label - 1 if gain == "exponential" else float(label)


def discount_of(position, discount):
    if discount == "log2":
        return 1 / math.log2(position + 1)
    return 1.0 if position <= 2 else 1 / math.log2(position)


def dcg(ranked, k=None, gain="exponential", discount="log2"):
    return _dcg(ranked, k, gain, discount) if max(ranked) > 0 else math.nan


def _dcg(ranked, k, gain, discount):
    top = ranked if k is None else ranked[:k]
    return sum(gain_of(label, gain) * discount_of(i, discount) for i, label in enumerate(top, 1))


def ndcg(ranked, k=None, gain="exponential", discount="log2"):
    ideal = _dcg(sorted(ranked, reverse=True), k, gain, discount)
    return _dcg(ranked, k, gain, discount) / ideal if ideal > 0 else math.nan


def mean_ndcg(ranked, gain="exponential", discount="log2"):
    return sum(ndcg(ranked, k, gain, discount) for k in range(1, len(ranked) + 1)) / len(ranked)


def precision(ranked, k=None, relevant_from=1):
    if not any(label >= relevant_from for label in ranked):
        return math.nan
    k = len(ranked) if k is None else k
    return sum(label >= relevant_from for label in ranked[:k]) / k


def recall(ranked, k=None, relevant_from=1):
    total = sum(label >= relevant_from for label in ranked)
    return (
        sum(label >= relevant_from for label in ranked[: len(ranked) if k is None else k]) / total
        if total
        else math.nan
    )


def average_precision(ranked, k=None, relevant_from=1):
    total = sum(label >= relevant_from for label in ranked)
    if not total:
        return math.nan
    found = 0.0
    for i, label in enumerate(ranked if k is None else ranked[:k], 1):
        if label >= relevant_from:
            found += sum(other >= relevant_from for other in ranked[:i]) / i
    return found / total


def reciprocal_rank(ranked, k=None, relevant_from=1):
    if not any(label >= relevant_from for label in ranked):
        return math.nan
    for i, label in enumerate(ranked if k is None else ranked[:k], 1):
        if label >= relevant_from:
            return 1 / i
    return 0.0


def err(ranked, k=None, *, max_label):
    if max(ranked) <= 0:
        return math.nan
    total = 0.0
    for i, label in enumerate(ranked if k is None else ranked[:k], 1):
        chance = gain_of(label, "exponential") / 2.0**max_label
        for earlier in ranked[: i - 1]:
            chance *= 1 - gain_of(earlier, "exponential") / 2.0**max_label
        total += chance / i
    return total


def mre(ranked):
    n = len(ranked)
    if n < 2:
        return math.nan
    wrong = sum(ranked[i] < ranked[j] for i in range(n) for j in range(i + 1, n))
    return wrong / (n * (n - 1) / 2)


kendall = mre  # of an order without ties


def persistence(ranked, k):
    """Over all true orders that the labels allow, the mean share of the true top k kept in the first k places."""
    places = range(len(ranked))
    shares = []
    for true_order in permutations(places):
        if all(ranked[a] >= ranked[b] for a, b in pairwise(true_order)):
            shares.append(len(set(true_order[:k]) & set(places[:k])) / min(k, len(ranked)))
    return sum(shares) / len(shares)


def exact(ranked):
    return float(all(a >= b for a, b in pairwise(ranked)))


def sharp_ndcg(ranked, gain="exponential"):
    n = len(ranked)

    def total(order):
        return sum((n - i) * gain_of(label, gain) for i, label in enumerate(order, 1))

    ideal = total(sorted(ranked, reverse=True))
    return total(ranked) / ideal if ideal > 0 else math.nan


def orders_of_ties(labels, scores):
    """The labels in every order that the scores allow."""
    levels = sorted(set(scores), reverse=True)
    groups = [[label for label, score in zip(labels, scores, strict=True) if score == level] for level in levels]
    for choice in product(*(permutations(group) for group in groups)):
        yield [label for group in choice for label in group]


def wpd(ranked, gain="exponential"):
    return wpd_of_scores(ranked, range(len(ranked), 0, -1), gain)


def wpd_of_scores(labels, scores, gain="exponential"):
    """Pair by pair as printed, where a tie counts as wrong; gains relative to the largest."""
    largest = max(gain_of(label, gain) for label in labels)
    if largest == 0 or len(labels) < 2:
        return math.nan
    return sum(
        (gain_of(a, gain) - gain_of(b, gain)) / largest
        for a, s in zip(labels, scores, strict=True)
        for b, t in zip(labels, scores, strict=True)
        if a > b and s <= t
    )


def success(ranked, k=None, relevant_from=1):
    if not any(label >= relevant_from for label in ranked):
        return math.nan
    return float(any(label >= relevant_from for label in ranked[:k]))


def r_precision(ranked, relevant_from=1):
    total = sum(label >= relevant_from for label in ranked)
    return sum(label >= relevant_from for label in ranked[:total]) / total if total else math.nan


def rbp(ranked, k=None, p=0.8, relevant_from=1):
    if not any(label >= relevant_from for label in ranked):
        return math.nan
    return (1 - p) * sum(p ** (i - 1) for i, label in enumerate(ranked[:k], 1) if label >= relevant_from)


def auc(ranked, relevant_from=1):
    n = len(ranked)
    is_relevant = [label >= relevant_from for label in ranked]
    pairs = [(i, j) for i in range(n) for j in range(n) if is_relevant[i] and not is_relevant[j]]
    return sum(i < j for i, j in pairs) / len(pairs) if pairs else math.nan


def average_rank(ranked, relevant_from=1):
    places = [i for i, label in enumerate(ranked, 1) if label >= relevant_from]
    return sum(places) / len(places) if places else math.nan


def bpref(ranked, relevant_from=1):
    """Negative labels mean that a document was not judged."""
    n_relevant = sum(label >= relevant_from for label in ranked)
    n_others = sum(0 <= label < relevant_from for label in ranked)
    total = 0.0
    for i, label in enumerate(ranked):
        if label >= relevant_from:
            above = sum(0 <= other < relevant_from for other in ranked[:i])
            total += 1 - min(above, n_relevant) / min(n_others, n_relevant) if above else 1.0
    return total / n_relevant if n_relevant else math.nan


def infap(ranked, relevant_from=1):
    """Negative labels mean that a document is in the pool, but was not judged; None that it is not in the pool."""
    n_relevant = sum(label is not None and label >= relevant_from for label in ranked)
    total = 0.0
    for i, label in enumerate(ranked, 1):
        if label is not None and label >= relevant_from:
            total += 1 / i
            above = [other for other in ranked[: i - 1] if other is not None]
            relevant = sum(other >= relevant_from for other in above)
            judged = sum(other >= 0 for other in above)
            if i > 1:
                total += (i - 1) / i * (len(above) / (i - 1)) * (relevant + 1e-5) / (judged + 2e-5)
    return total / n_relevant if n_relevant else math.nan
