"""Kernels of search: what a posting is worth, sums over the postings of a query, and the best of them.

A posting is a document that holds a term, and how often (``tf``). What it adds to the score of its document has one of
three forms in a number of the term and a number of the document; ``weighting.py`` fills these in. Postings lie term by
term (``indptr``, ``docs`` rising, ``tf``). Callers have checked everything.
"""

import numpy as np
from numba import njit

PRODUCT = 0  # tf · term · doc
SATURATED = 1  # term · tf / (tf + doc)
LOGARITHM = 2  # log(1 + max(tf − discount, 0) · term · doc)

BLOCK = 64  # documents that are passed over together when none of them is good enough


@njit(cache=True, nogil=True)
def impact(form, tf, of_term, of_doc, discount):
    """What a posting adds to the score of its document."""
    if form == SATURATED:
        return of_term * tf / (tf + of_doc)
    if form == PRODUCT:
        return tf * of_term * of_doc
    return np.log1p(max(tf - discount, 0.0) * of_term * of_doc)


@njit(cache=True, nogil=True)
def impacts(form, discount, indptr, docs, tf, of_term, of_doc, first, last, out):
    """The impact of every posting of the terms ``first`` to ``last``, each in its place of ``out``."""
    for term in range(first, last):
        for place in range(np.uint64(indptr[term]), np.uint64(indptr[term + 1])):
            out[place] = impact(form, float(tf[place]), of_term[term], of_doc[np.uint64(docs[place])], discount)


@njit(cache=True, nogil=True)
def add_postings(indptr, docs, values, terms, times, sums):
    """Add the values of the postings of the query's terms, ``times`` each, to ``sums`` (one number per document)."""
    for q in range(terms.size):
        n_times = times[q]
        for place in range(np.uint64(indptr[terms[q]]), np.uint64(indptr[terms[q] + 1])):
            sums[np.uint64(docs[place])] += n_times * values[place]


@njit(cache=True, nogil=True)
def _is_worse(score, doc, other_score, other_doc):
    """Whether the first is below the second: by score, equal scores by place in the collection."""
    return score < other_score or (score == other_score and doc > other_doc)


@njit(cache=True, nogil=True)
def _sift_down(scores, places, start, size):
    score, doc = scores[start], places[start]
    hole = start
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and _is_worse(scores[child + 1], places[child + 1], scores[child], places[child]):
            child += 1
        if not _is_worse(scores[child], places[child], score, doc):
            break
        scores[hole], places[hole] = scores[child], places[child]
        hole = child
    scores[hole], places[hole] = score, doc


@njit(cache=True, nogil=True)
def _keep(score, doc, n_kept, best_scores, best_docs):
    """Put a document among the best, once full a heap with the worst on top; returns how many there are."""
    k = best_scores.size
    if n_kept < k:
        best_scores[n_kept], best_docs[n_kept] = score, doc
        n_kept += 1
        if n_kept == k:
            for start in range(k // 2 - 1, -1, -1):
                _sift_down(best_scores, best_docs, start, k)
    elif _is_worse(best_scores[0], best_docs[0], score, doc):
        best_scores[0], best_docs[0] = score, doc
        _sift_down(best_scores, best_docs, 0, k)
    return n_kept


@njit(cache=True, nogil=True)
def _sort(best_scores, best_docs, n_kept):
    """The best from the heap to falling order."""
    if n_kept < best_scores.size:
        for start in range(n_kept // 2 - 1, -1, -1):
            _sift_down(best_scores, best_docs, start, n_kept)
    for size in range(n_kept - 1, 0, -1):  # the worst goes to the end, again and again
        best_scores[0], best_scores[size] = best_scores[size], best_scores[0]
        best_docs[0], best_docs[size] = best_docs[size], best_docs[0]
        _sift_down(best_scores, best_docs, 0, size)


@njit(cache=True, nogil=True)
def best_of_many(indptr, docs, values, terms, times, scale, base, prior, weight_of_prior, sums, best_scores, best_docs):
    """As ``best``, for queries that a good part of the documents hold; all values must be above 0."""
    add_postings(indptr, docs, values, terms, times, sums)
    n_kept = 0
    least = -np.inf  # of the best, once there are enough; documents rise, so an equal score comes too late
    for start in range(0, sums.size, BLOCK):
        totals = sums[start : start + BLOCK]
        n_above = 0  # counting has no branches and becomes vector instructions
        if prior.size:
            priors = prior[start : start + BLOCK]
            for i in range(totals.size):
                n_above += base + scale * totals[i] + weight_of_prior * priors[i] > least
        else:
            for i in range(totals.size):
                n_above += base + scale * totals[i] > least
        if n_above:
            for i in range(totals.size):
                if totals[i] > 0.0:
                    score = base + scale * totals[i]
                    if prior.size:
                        score += weight_of_prior * prior[start + i]
                    if score > least:
                        n_kept = _keep(score, start + i, n_kept, best_scores, best_docs)
                        least = best_scores[0] if n_kept == best_scores.size else -np.inf
    sums[:] = 0.0
    _sort(best_scores, best_docs, n_kept)
    return n_kept


@njit(cache=True, nogil=True)
def best(indptr, docs, values, terms, times, scale, base, prior, weight_of_prior, sums, is_met, best_scores, best_docs):
    """The documents with the highest scores among those that hold a term of the query; returns how many were found.

    The score is ``base + scale · sum + weight_of_prior · prior``, ``prior`` being empty where there is none. ``sums``
    and ``is_met`` are all zero, one entry per document, and are zero again afterwards. The answer stands in the arrays
    ``best_*``, the highest first, equal scores by place in the collection.
    """
    at_most = 0
    for q in range(terms.size):
        at_most += indptr[terms[q] + 1] - indptr[terms[q]]
    met = np.empty(at_most, dtype=np.int32)
    n_met = np.uint64(0)
    for q in range(terms.size):
        n_times = times[q]
        for place in range(np.uint64(indptr[terms[q]]), np.uint64(indptr[terms[q] + 1])):
            doc = np.uint64(docs[place])
            sums[doc] += n_times * values[place]
            met[n_met] = docs[place]
            n_met += np.uint64(1 - is_met[doc])  # the entry stays only where the document is new
            is_met[doc] = 1
    n_kept = 0
    for i in range(n_met):
        doc = np.uint64(met[i])
        score = base + scale * sums[doc]
        if prior.size:
            score += weight_of_prior * prior[doc]
        sums[doc] = 0.0
        is_met[doc] = 0
        if n_kept < best_scores.size or score >= best_scores[0]:
            n_kept = _keep(score, met[i], n_kept, best_scores, best_docs)
    _sort(best_scores, best_docs, n_kept)
    return n_kept


@njit(cache=True, nogil=True)
def find_doc(docs, start, stop, doc):
    """The place of ``doc`` among the postings ``start`` to ``stop``, or -1."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if docs[middle] < doc:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and docs[low] == doc else -1


@njit(cache=True, nogil=True)
def pair_counts(indptr, docs, tf, terms, term_bounds, pairs, pair_bounds, count_bounds, counts):
    """How often each document of a query holds each of the query's terms.

    Query ``q`` owns ``terms[term_bounds[q]:term_bounds[q + 1]]`` and the documents ``pairs[pair_bounds[q]:...]``; its
    counts begin at ``count_bounds[q]``, document by document, and term by term within.
    """
    for q in range(term_bounds.size - 1):
        place = count_bounds[q]
        for p in range(pair_bounds[q], pair_bounds[q + 1]):
            for t in range(term_bounds[q], term_bounds[q + 1]):
                found = find_doc(docs, indptr[terms[t]], indptr[terms[t] + 1], pairs[p])
                counts[place] = tf[found] if found >= 0 else 0
                place += 1


@njit(cache=True, nogil=True)
def pair_sums(
    form, discount, of_term, of_doc, terms, times, term_bounds, pairs, pair_bounds, count_bounds, counts, out
):
    """The sum of impacts over the terms of the query, for each pair of ``pair_counts``."""
    for q in range(term_bounds.size - 1):
        place = count_bounds[q]
        for p in range(pair_bounds[q], pair_bounds[q + 1]):
            total = 0.0
            for t in range(term_bounds[q], term_bounds[q + 1]):
                if counts[place]:
                    worth = impact(form, float(counts[place]), of_term[terms[t]], of_doc[pairs[p]], discount)
                    total += times[t] * worth
                place += 1
            out[p] = total
