"""Losses of one list as slow loops, straight from their equations, and derivatives by differences."""

from __future__ import annotations

import math

import numpy as np

from plackett.data.queries import QueryLists

NODES = np.polynomial.legendre.leggauss(200)


def lists_of(*queries):
    """QueryLists from the labels of each query."""
    labels = np.array([label for query in queries for label in query], dtype=float)
    return QueryLists(labels, np.cumsum([0, *(len(query) for query in queries)]))


def split(queries):
    """Lists and scores from (label, score) of each document of each query."""
    lists = lists_of(*([label for label, _ in query] for query in queries))
    return lists, np.array([score for query in queries for _, score in query], dtype=float)


def shuffled(queries, random):
    """The queries with rows and queries in another order, and the row that each row was before."""
    ends = np.cumsum([0, *(len(query) for query in queries)])
    rows = [[(int(ends[q]) + i, doc) for i, doc in enumerate(query)] for q, query in enumerate(queries)]
    for query in rows:
        random.shuffle(query)
    random.shuffle(rows)
    before = np.array([row for query in rows for row, _ in query], dtype=int)
    return [[doc for _, doc in query] for query in rows], before


def values_of(loss, scores, lists):
    """The loss of each query, after the checks."""
    loss.check_labels(lists)
    return loss.query_values(np.asarray(scores, dtype=float), lists, np.empty(lists.n_docs))


def difference_slope(loss, scores, lists, step=1e-5):
    """Slope by central differences."""
    moves = step * np.eye(lists.n_docs)
    return np.array(
        [np.sum(values_of(loss, scores + move, lists) - values_of(loss, scores - move, lists)) for move in moves]
    ) / (2 * step)


def difference_hessian(loss, scores, lists, step=1e-5):
    """Second derivative by central differences of slopes."""
    moves = step * np.eye(lists.n_docs)
    return np.array(
        [
            loss.value_and_slope(scores + move, lists)[1] - loss.value_and_slope(scores - move, lists)[1]
            for move in moves
        ]
    ) / (2 * step)


def hessian(loss, scores, lists):
    """Second derivative from curvature products."""
    return np.array([loss.curvature_product(scores, lists, unit) for unit in np.eye(lists.n_docs)])


def softmax(values):
    largest = max(values)
    powers = [math.exp(value - largest) for value in values]
    return [power / sum(powers) for power in powers]


def phi_of(name):
    return {
        "exp": math.exp,
        "linear": lambda x: x,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "probit": lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))),
    }.get(name, name)


def listnet(scores, labels, phi="exp"):
    """Cross entropy of the top-one probabilities."""
    phi = phi_of(phi)
    of_labels, of_scores = [phi(label) for label in labels], [phi(score) for score in scores]
    loss = 0.0
    for i in range(len(scores)):
        loss -= of_labels[i] / sum(of_labels) * math.log(of_scores[i] / sum(of_scores))
    return loss


def rankcosine(scores, labels, phi="linear"):
    phi = phi_of(phi)
    if len(scores) < 2:
        return 0.0
    a, b = [phi(label) for label in labels], [phi(score) for score in scores]
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return 0.5 * (1 - (sum(x * z for x, z in zip(a, b, strict=True)) / lengths if lengths else 0.0))


def relevance_gain(label):
    return 2**label - 1 if label > 0 else 0.0


def place_of(j, labels):
    return 1 + sum(label > labels[j] for label in labels)


def ideal_dcg(labels, k):
    places = [place_of(j, labels) for j in range(len(labels))]
    return sum(
        relevance_gain(label) / math.log2(1 + place) for label, place in zip(labels, places, strict=True) if place <= k
    )


def drops(labels, k):
    """A_j: what document j loses by one place."""
    drop = []
    for j, label in enumerate(labels):
        g = place_of(j, labels)
        steepness = math.log(2) / ((1 + g) * math.log(1 + g) ** 2) if g <= k else 0.0
        drop.append(relevance_gain(label) * steepness)
    return drop


def cslistmle(scores, labels, k=None):
    n = len(labels)
    k = n if k is None else k
    ideal, drop = ideal_dcg(labels, k), drops(labels, k)
    if ideal == 0:
        return 0.0
    loss = 0.0
    for j in range(n):
        pairs = {t: drop[j] + drop[t] for t in range(n) if labels[t] < labels[j]}
        beta = sum(pairs.values())
        if beta > 0:
            loss += beta * math.log2(1 + sum(w / beta * math.exp(scores[t] - scores[j]) for t, w in pairs.items()))
    return loss / ideal


def cslistmle_constant(labels, k):
    """C₂ of the bound L + C₂ ≥ 1 − NDCG@k."""
    drop = drops(labels, k)
    constant = sum(relevance_gain(label) for label in labels) / math.log2(1 + k)
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            if labels[i] == labels[j]:
                constant += drop[i] + drop[j]
    return constant / ideal_dcg(labels, k)


def cslistmle_by_label(scores, labels):
    """The appendix of the thesis, for labels of at least 0: beta = y / Σ y, alpha = (y_j − y_t) / y_j."""
    n, total, ideal = len(labels), sum(labels), ideal_dcg(labels, len(labels))
    if total == 0:
        return 0.0
    loss = 0.0
    for j in range(n):
        if labels[j] == 0:
            continue
        inner = 0.0
        for t in range(n):
            if labels[j] > labels[t]:
                inner += (labels[j] - labels[t]) / labels[j] * math.exp(scores[t] - scores[j])
        loss += labels[j] / total * math.log2(1 + inner)
    return loss / ideal


def squared(scores, labels):
    return sum((score - label) ** 2 for score, label in zip(scores, labels, strict=True)) / 2


def binary_cross_entropy(scores, labels):
    return sum(
        -label * math.log(1 / (1 + math.exp(-score))) - (1 - label) * math.log(1 / (1 + math.exp(score)))
        for score, label in zip(scores, labels, strict=True)
    )


def softmax_loss(scores, labels):
    """Cross entropy with the labels as they are."""
    return -sum(label * math.log(p) for label, p in zip(labels, softmax(scores), strict=True))


def unique_softmax(scores, labels):
    loss = 0.0
    for score, label in zip(scores, labels, strict=True):
        lower = sum(math.exp(other - score) for other, low in zip(scores, labels, strict=True) if low < label)
        loss += relevance_gain(label) * math.log(1 + lower)
    return loss


def poly1_softmax(scores, labels, epsilon=1.0):
    total = sum(labels)
    share = [label / total if total else 1 / len(labels) for label in labels]
    mean = sum(a * b for a, b in zip(share, softmax(scores), strict=True))
    return softmax_loss(scores, labels) + epsilon * (1 - mean)


def xe_ndcg(scores, labels, nodes=NODES):
    """The mean over γ by quadrature: φ is a (2^y − 1) + b, where a is the mean of 1 / Σ (2^y − γ)."""
    n, total = len(labels), sum(relevance_gain(label) for label in labels)
    if total == 0 or n == 1:
        a = 0.0
    else:  # 1/x = ∫ e^(−x t) dt, and γ are independent
        s = 0.5 * (nodes[0] + 1)
        t = s / (1 - s)
        a = float(np.sum(0.5 * nodes[1] / (1 - s) ** 2 * np.exp(-total * t) * (-np.expm1(-t) / t) ** n))
    target = [a * relevance_gain(label) + (1 - a * total) / n for label in labels]
    return -sum(share * math.log(p) for share, p in zip(target, softmax(scores), strict=True))
