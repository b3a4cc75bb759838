"""Kernels of the measures that ask only whether a document is relevant. Conventions as in ``_graded``."""

from numba import njit

from plackett.metrics._graded import group_stop
from plackett.metrics._ranking import own_groups


@njit(cache=True, nogil=True)
def count_relevant(labels, indptr, relevant_from, first, last, values):
    for q in range(first, last):
        own = labels[indptr[q] : indptr[q + 1]]
        total = 0
        for i in range(own.size):
            total += int(own[i] >= relevant_from)
        values[q] = total


@njit(cache=True, nogil=True)
def _relevant_in(ranked, first, last, relevant_from):
    total = 0
    for p in range(first, last):
        total += int(ranked[p] >= relevant_from)
    return total


@njit(cache=True, nogil=True)
def hits(ranked, group_end, indptr, n_ranked, k, relevant_from, first, last, values):
    """(Expected) number of relevant documents among the first k."""
    for q in range(first, last):
        start, limit = indptr[q], min(k, n_ranked[q])
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        total = 0.0
        place = 0
        if groups.size == 0:
            total += _relevant_in(ranked, start, start + limit, relevant_from)
            place = limit
        while place < limit:
            stop = group_stop(groups, place)
            relevant = _relevant_in(ranked, start + place, start + stop, relevant_from)
            total += relevant if stop <= limit else relevant * (limit - place) / (stop - place)
            place = stop
        values[q] = total


@njit(cache=True, nogil=True)
def _sum_of_precisions(labels, relevant_from):
    """Without ties, and without branches: which documents are relevant cannot be predicted."""
    seen, even, odd = 0, 0.0, 0.0  # two sums, so that an addition need not wait for the one before
    p = 0
    while p + 1 < labels.size:
        is_first, is_second = int(labels[p] >= relevant_from), int(labels[p + 1] >= relevant_from)
        even += is_first * ((seen + 1) / (p + 1))
        seen += is_first + is_second
        odd += is_second * (seen / (p + 2))
        p += 2
    if p < labels.size:
        even += int(labels[p] >= relevant_from) * ((seen + 1) / (p + 1))
    return even + odd


@njit(cache=True, nogil=True)
def average_precision(
    ranked, group_end, indptr, n_ranked, n_relevant, k, relevant_from, is_together, first, last, values
):
    """Σ over relevant documents of the precision where they stand, before the division by their number.

    In a tie group of d documents, r of them relevant, that starts behind s documents, R of them relevant, place s + i
    holds a relevant document with probability r/d; then R + 1 + (i − 1)(r − 1)/(d − 1) relevant ones stand up to it.
    ``is_together``: tied documents arrive at once, so all r have the precision at the end of the group.
    """
    for q in range(first, last):
        start, limit = indptr[q], min(k, n_ranked[q])
        if n_relevant[q] == 0:
            continue
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        total = 0.0
        seen = place = 0
        if groups.size == 0:
            total = _sum_of_precisions(ranked[start : start + limit], relevant_from)
            place = limit
        while place < limit:
            stop = group_stop(groups, place)
            size, relevant = stop - place, _relevant_in(ranked, start + place, start + stop, relevant_from)
            if relevant > 0:
                if size == 1:
                    total += (seen + 1) / (place + 1)
                elif is_together:
                    total += relevant * (seen + relevant) / stop
                else:
                    growth = (relevant - 1) / (size - 1)
                    for p in range(place, min(stop, limit)):
                        total += relevant / size * (seen + 1 + (p - place) * growth) / (p + 1)
            seen += relevant
            place = stop
        values[q] = total


@njit(cache=True, nogil=True)
def reciprocal_rank(ranked, group_end, indptr, n_ranked, n_relevant, k, relevant_from, first, last, values):
    """One over the (random) place of the first relevant document, 0 beyond k."""
    for q in range(first, last):
        start, limit = indptr[q], min(k, n_ranked[q])
        if n_relevant[q] == 0:
            continue
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        total = 0.0
        place = 0
        while place < limit:
            stop = group_stop(groups, place)
            relevant = _relevant_in(ranked, start + place, start + stop, relevant_from)
            if relevant > 0:
                still_none = 1.0  # probability that no relevant document stood at the group's earlier places
                for p in range(place, min(stop, limit)):
                    here = still_none * relevant / (stop - p)
                    total += here / (p + 1)
                    still_none -= here
                    if still_none <= 0.0:
                        break
                break
            place = stop
        values[q] = total
