"""The compiled check of sparse matrices that :func:`plackett.validation.check_csr` runs. One pass, no copies."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def is_rising(indptr):
    falls = 0
    for row in range(indptr.size - 1):
        falls += indptr[row] > indptr[row + 1]
    return falls == 0


@njit(cache=True, nogil=True)
def bounds(indices):
    """Return the smallest and the largest of the indices; there must be at least one."""
    low = high = indices[0]
    for place in range(indices.size):
        index = indices[place]
        low = index if index < low else low
        high = index if index > high else high
    return low, high
