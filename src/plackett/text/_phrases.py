"""Kernel of phrases."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def holds(numbers, bounds, docs, wanted):
    """Whether each document has the terms of ``wanted`` side by side; -1 in ``wanted`` stands for any one word."""
    answer = np.zeros(docs.size, dtype=np.bool_)
    for i in range(docs.size):
        for start in range(bounds[docs[i]], bounds[docs[i] + 1] - wanted.size + 1):
            is_here = True
            for offset in range(wanted.size):
                if wanted[offset] != -1 and numbers[start + offset] != wanted[offset]:
                    is_here = False
                    break
            if is_here:
                answer[i] = True
                break
    return answer
