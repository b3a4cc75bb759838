"""Lists for the rankers that go feature by feature, and the ranking in a feature as literal loops."""

import itertools

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.boosting.discovery import find_signs


def make_data(seed, *, is_tied=False, lengths=(9, 1, 2, 3, 14), n_features=4):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = rng.normal(size=(n, n_features))
    X[:, 1] = rng.integers(0, 3, n)
    y = X[:, 0] - X[:, -1] ** 2 + rng.normal(size=n)
    y = np.round(y) if is_tied else y
    return X, y, np.repeat(np.arange(len(lengths)), lengths)


def damage(ranker, name, value):
    """Set an attribute, or a field of the first step, to something that no fit sets."""
    if name.endswith("_"):
        setattr(ranker, name, value)
    else:
        ranker.steps_[name][:1] = value


def slow_h(X, y, qid, ranker):
    """Ranks of every feature, list by list: a list of arrays (n_features, n)."""
    indptr = np.concatenate([[0], np.cumsum(np.unique(qid, return_counts=True)[1])])
    keys = []
    for m in range(X.shape[1]):
        centres = slow_centres(X[:, m], y, indptr, ranker.n_intervals, ranker.centre)
        if ranker.discovery == "linear":
            sign = find_signs(X[:, [m]], Queries(X, y, qid).lists)[0]
            keys.append([(0, sign * value) for value in X[:, m]])
        else:
            keys.append(slow_keys(X[:, m], centres))
    return [
        (np.array([slow_ranks(keys[m][a:b]) for m in range(X.shape[1])]), y[a:b]) for a, b in itertools.pairwise(indptr)
    ]


def training_of(ranker, X, y, qid):
    """The training of a fitted ranker, before its first step, and the rows in its order."""
    queries = Queries(X, y, qid)
    return ranker._training(queries, None), queries.lists.order


def slow_centres(column, labels, indptr, n_parts, centre):
    """Place by place, document by document."""
    totals, counts = [0.0] * n_parts, [0.0] * n_parts
    for q in range(len(indptr) - 1):
        values, own = column[indptr[q] : indptr[q + 1]], labels[indptr[q] : indptr[q + 1]]
        n = len(own)
        ascending = sorted(range(n), key=lambda i: own[i])
        for k in range(n_parts):
            places = [p for p in range(n) if p * n_parts // n == k]
            third = -(-len(places) // 3)
            if len(places) >= 3 and centre == "prior":
                places = places[-third:]
            elif len(places) >= 3 and centre == "posterior":
                places = places[:third]
            elif len(places) >= 3 and centre == "middle":
                skipped = (len(places) - third) // 2
                places = places[skipped : skipped + third]
            for p in places:
                level = [i for i in range(n) if own[i] == own[ascending[p]]]
                for i in level:
                    totals[k] += values[i] / len(level)
                    counts[k] += 1 / len(level)
    return np.array([t / c if c > 0 else np.nan for t, c in zip(totals, counts, strict=True)])


def slow_keys(column, centres):
    known = [k for k in range(len(centres)) if not np.isnan(centres[k])]
    centres = list(centres)
    by_value = sorted(known, key=lambda k: centres[k])
    gaps = [centres[b] - centres[a] for a, b in itertools.pairwise(by_value)]
    for at, gap in enumerate(gaps):
        if gap < 1e-10:  # equal but for rounding
            centres[by_value[at + 1]] = centres[by_value[at]]
    keys = []
    for value in column:
        part = min(known, key=lambda k: (abs(value - centres[k]), k))
        at = known.index(part)
        if len(known) == 1:
            sign = 1.0
        elif at > 0:
            sign = np.sign(centres[part] - centres[known[at - 1]])
        else:
            sign = np.sign(centres[known[1]] - centres[part])
        keys.append((part + 1, value * sign))
    return keys


def slow_ranks(keys):
    """Ranks 1..n of a list of (part, value) or of sums; ties share their mean rank.

    Values tie where they are equal, sums where they are closer than 1e-10 to the next.
    """
    tie = 0.0 if isinstance(keys[0], tuple) else 1e-10
    keys = [key if isinstance(key, tuple) else (0, key) for key in keys]
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    ranks = np.empty(len(keys))
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order):
            one, other = keys[order[stop - 1]], keys[order[stop]]
            if one[0] != other[0] or (other[1] != one[1] and other[1] - one[1] >= tie):
                break
            stop += 1
        ranks[order[start:stop]] = (start + 1 + stop) / 2
        start = stop
    return ranks


def slow_pairs(ranks, labels):
    right = wrong = 0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                right += ranks[i] > ranks[j]
                wrong += ranks[i] < ranks[j]
    return right, wrong
