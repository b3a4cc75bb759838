"""Kernels of weighting: what a posting is worth, and sums over the postings of a query.

A posting is a document that holds a term, and how often (``tf``). What it adds to the score of its document has one of
three forms in a number of the term and a number of the document; ``weighting.py`` fills these in. Postings lie term by
term (``indptr``, ``docs`` rising, ``tf``). Callers have checked everything.
"""

import numpy as np
from numba import njit

PRODUCT = 0  # tf · term · doc
SATURATED = 1  # term · tf / (tf + doc)
LOGARITHM = 2  # log(1 + max(tf − discount, 0) · term · doc)


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
def find_doc(docs, start, stop, doc):
    """The place of ``doc`` among the postings ``start`` to ``stop``, or -1."""
    if start >= stop:
        return -1
    first, size = start, stop - start
    while size > 1:  # without branches, which would be guessed wrong every second time
        half = size >> 1
        first += half * (docs[first + half - 1] < doc)
        size -= half
    return first if docs[first] == doc else -1


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
