"""Kernel of the features that count terms; pairs, terms and counts lie as in ``_weighting.pair_counts``."""

import numpy as np
from numba import njit

# columns: covered terms, their idf, then sum, min, max, mean and variance of tf, of tf / length, and of tf · idf
N_COLUMNS = 17


@njit(cache=True, nogil=True)
def term_statistics(idf, lengths, terms, times, term_bounds, pairs, pair_bounds, count_bounds, counts, out):
    """Sums and moments over the terms of the query, each as often as it stands there; ``out`` begins with zeros."""
    for q in range(term_bounds.size - 1):
        place = count_bounds[q]
        n_terms = 0.0
        for t in range(term_bounds[q], term_bounds[q + 1]):
            n_terms += times[t]
        if n_terms == 0.0:
            continue
        for p in range(pair_bounds[q], pair_bounds[q + 1]):
            row = out[p]
            per_word = 1.0 / max(lengths[pairs[p]], 1)
            for kind in range(3):
                lowest, highest, total = np.inf, -np.inf, 0.0
                for t in range(term_bounds[q], term_bounds[q + 1]):
                    value = _value(kind, counts[place + t - term_bounds[q]], per_word, idf[terms[t]])
                    lowest, highest = min(lowest, value), max(highest, value)
                    total += times[t] * value
                mean = total / n_terms
                squares = 0.0
                for t in range(term_bounds[q], term_bounds[q + 1]):
                    value = _value(kind, counts[place + t - term_bounds[q]], per_word, idf[terms[t]])
                    squares += times[t] * (value - mean) ** 2
                first = 2 + 5 * kind
                row[first], row[first + 1], row[first + 2] = total, lowest, highest
                row[first + 3], row[first + 4] = mean, squares / n_terms
            for t in range(term_bounds[q], term_bounds[q + 1]):
                if counts[place]:
                    row[0] += times[t]
                    row[1] += times[t] * idf[terms[t]]
                place += 1


@njit(cache=True, nogil=True)
def _value(kind, tf, per_word, idf):
    if kind == 0:
        return float(tf)
    if kind == 1:
        return tf * per_word
    return tf * idf
