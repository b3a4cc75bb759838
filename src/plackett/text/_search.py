"""Kernels of search: the best documents of a query, without adding up what cannot change them.

Postings lie as in ``_weighting``. Callers have checked everything.
"""

import numpy as np
from numba import njit

from plackett.text._weighting import add_postings, find_doc

BLOCK = 64  # documents that are passed over together when none of them is good enough
MANY = 0.5  # postings per document from which looking through all documents costs less than noting those met
FEW = 0.25  # documents met, of all, up to which they are noted in any case
LOOKUP = 50  # postings that are added in the time in which one is looked up


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
def _meet(indptr, docs, values, term, n_times, sums, is_met, met, n_met):
    """Add the postings of a term and note the documents that are new; returns how many there are then."""
    n_noted = np.uint64(n_met)
    for place in range(np.uint64(indptr[term]), np.uint64(indptr[term + 1])):
        doc = np.uint64(docs[place])
        sums[doc] += n_times * values[place]
        met[n_noted] = docs[place]
        n_noted += np.uint64(1 - is_met[doc])  # the entry stays only where the document is new
        is_met[doc] = 1
    return np.int64(n_noted)


@njit(cache=True, nogil=True)
def _add_to_met(indptr, docs, values, term, n_times, sums, is_met, met, n_met):
    """Add the postings of a term to the documents that are met, and to no others."""
    start, stop = indptr[term], indptr[term + 1]
    if n_met * LOOKUP < stop - start:
        for i in range(n_met):
            found = find_doc(docs, start, stop, met[i])
            if found >= 0:
                sums[np.uint64(met[i])] += n_times * values[found]
    else:
        for place in range(np.uint64(start), np.uint64(stop)):
            doc = np.uint64(docs[place])
            if is_met[doc]:
                sums[doc] += n_times * values[place]


@njit(cache=True, nogil=True)
def _score(total, doc, scale, base, prior, weight_of_prior):
    score = base + scale * total
    return score + weight_of_prior * prior[doc] if prior.size else score


@njit(cache=True, nogil=True)
def _best_of_met(met, n_met, sums, scale, base, prior, weight_of_prior, best_scores, best_docs):
    """The best of the documents that are met, as a heap; returns how many were kept."""
    n_kept = 0
    for i in range(n_met):
        doc = np.uint64(met[i])
        score = _score(sums[doc], doc, scale, base, prior, weight_of_prior)
        if n_kept < best_scores.size or score >= best_scores[0]:
            n_kept = _keep(score, met[i], n_kept, best_scores, best_docs)
    return n_kept


@njit(cache=True, nogil=True)
def _drop_hopeless(met, n_met, sums, is_met, scale, base, prior, weight_of_prior, needed):
    """Forget the documents whose score is below ``needed``; returns how many are left."""
    n_left = 0
    for i in range(n_met):
        doc = np.uint64(met[i])
        if _score(sums[doc], doc, scale, base, prior, weight_of_prior) >= needed:
            met[n_left] = met[i]
            n_left += 1
        else:
            sums[doc] = 0.0
            is_met[doc] = 0
    return n_left


@njit(cache=True, nogil=True)
def _best_of_all(sums, least, scale, base, prior, weight_of_prior, best_scores, best_docs):
    """The best of the documents with a sum above 0 and a score above ``least``, as a heap; returns how many."""
    n_kept = 0
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
                    score = _score(totals[i], start + i, scale, base, prior, weight_of_prior)
                    if score > least:
                        n_kept = _keep(score, start + i, n_kept, best_scores, best_docs)
                        if n_kept == best_scores.size:  # documents rise, so an equal score comes too late from now on
                            least = best_scores[0]
    return n_kept


@njit(cache=True, nogil=True)
def best(
    indptr, docs, values, highest, terms, times, scale, base, prior, weight_of_prior, lowest_prior, highest_prior, sums,
    is_met, met, best_scores, best_docs,
):  # fmt: skip
    """The documents with the highest scores among those that hold a term of the query; returns how many were found.

    The score is ``base + scale · sum + weight_of_prior · prior``, ``prior`` being empty where there is none. Terms come
    with the rarest first, and sums are taken in this order. ``highest`` has the highest value of every term; where it
    is empty, values may be negative or 0. Otherwise what is left of the query may be too little to bring up a document
    that has not been met yet (the "MaxScore" of Turtle and Flood); what the others hold is then added for the documents
    alone that can still be among the best.

    ``sums`` and ``is_met`` are all zero, one entry per document, and are zero again afterwards; ``met`` is one longer,
    and what it holds does not matter. The answer stands in the arrays ``best_*``, the highest first, equal scores by
    place in the collection.
    """
    k, n_docs, is_positive = best_scores.size, sums.size, highest.size > 0
    n_left, can_add = 0, 0.0  # postings that were not added yet, and the most that they can bring
    for q in range(terms.size):
        n_left += indptr[terms[q] + 1] - indptr[terms[q]]
        if is_positive:
            can_add += times[q] * highest[terms[q]]
    # more than rounding can change a score by
    largest = abs(base) + scale * can_add + weight_of_prior * max(abs(lowest_prior), abs(highest_prior))
    slack = 4.0e-16 * (terms.size + 8) * largest
    is_wide = is_positive and n_left > MANY * n_docs
    n_met, n_kept = 0, 0
    is_closed = False  # no other documents can come in
    least = -np.inf
    for q in range(terms.size):
        if is_positive and k <= n_met <= n_left:
            _best_of_met(met, n_met, sums, scale, base, prior, weight_of_prior, best_scores, best_docs)
            least = best_scores[0]
            needed = least - scale * can_add - slack
            is_closed = is_closed or base + weight_of_prior * highest_prior < needed
            if is_closed:
                n_met = _drop_hopeless(met, n_met, sums, is_met, scale, base, prior, weight_of_prior, needed)
        n_postings = indptr[terms[q] + 1] - indptr[terms[q]]
        if is_closed:
            _add_to_met(indptr, docs, values, terms[q], times[q], sums, is_met, met, n_met)
        elif is_wide and n_met + n_postings > FEW * n_docs:
            for i in range(n_met):
                is_met[np.uint64(met[i])] = 0
            add_postings(indptr, docs, values, terms[q:], times[q:], sums)
            # a document with the very score may be among the best: one step below it
            n_kept = _best_of_all(
                sums, np.nextafter(least, -np.inf), scale, base, prior, weight_of_prior, best_scores, best_docs
            )
            sums[:] = 0.0
            _sort(best_scores, best_docs, n_kept)
            return n_kept
        else:
            n_met = _meet(indptr, docs, values, terms[q], times[q], sums, is_met, met, n_met)
        n_left -= n_postings
        if is_positive:
            can_add -= times[q] * highest[terms[q]]
    n_kept = _best_of_met(met, n_met, sums, scale, base, prior, weight_of_prior, best_scores, best_docs)
    for i in range(n_met):
        sums[np.uint64(met[i])] = 0.0
        is_met[np.uint64(met[i])] = 0
    _sort(best_scores, best_docs, n_kept)
    return n_kept
