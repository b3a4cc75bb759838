"""The rankers literally, one document at a time."""

from __future__ import annotations

from collections import Counter
from math import log, sqrt

from plackett.text import BM25, Dirichlet, JelinekMercer, VectorSpace


def slow_score(ranker, query, doc, docs):
    """The formulas literally, one document at a time; documents and query are lists of terms."""
    n, lengths = len(docs), [len(other) for other in docs]
    total, mean = sum(lengths), sum(lengths) / len(docs)
    tf, dl, u = Counter(doc), len(doc), len(set(doc))
    df = {term: sum(term in other for other in docs) for term in query}
    p = {term: sum(other.count(term) for other in docs) / max(total, 1) for term in query}
    known = [term for term in query if df[term]]
    if isinstance(ranker, BM25):
        score = 0.0
        for term in known:
            odds = (n - df[term] + 0.5) / (df[term] + 0.5)
            idf = log(1 + odds) if ranker.idf == "lucene" else log(odds)
            below = tf[term] + ranker.k1 * (1 - ranker.b + ranker.b * dl / mean)
            score += idf * tf[term] * (ranker.k1 + 1) / below if tf[term] else 0.0
        return score
    if isinstance(ranker, VectorSpace):

        def idf(term):
            count = sum(term in other for other in docs)
            return log((1 + n) / (1 + count)) + 1 if ranker.idf == "smooth" else log(n / (1 + count))

        ours = {term: times * idf(term) for term, times in Counter(known).items()}
        theirs = {term: times * idf(term) for term, times in tf.items()}
        norms = sqrt(sum(w * w for w in ours.values())) * sqrt(sum(w * w for w in theirs.values()))
        return sum(w * theirs.get(term, 0) for term, w in ours.items()) / norms if norms else 0.0
    if dl == 0:
        return sum(log(p[term]) for term in known)
    if isinstance(ranker, JelinekMercer):
        return sum(log((1 - ranker.lam) * tf[term] / dl + ranker.lam * p[term]) for term in known)
    if isinstance(ranker, Dirichlet):
        return sum(log((tf[term] + ranker.mu * p[term]) / (dl + ranker.mu)) for term in known)
    delta = ranker.delta
    return sum(log(max(tf[term] - delta, 0) / dl + delta * u / dl * p[term]) for term in known)
