"""ERR and DCG of labels in the order of a ranking, by loops."""

import numpy as np


def err_of(labels, largest):
    reached, total = 1.0, 0.0
    for place, label in enumerate(labels):
        stops = (2**label - 1) / 2**largest
        total, reached = total + reached * stops / (place + 1), reached * (1 - stops)
    return total


def dcg_of(labels):
    return sum((2**label - 1) / np.log2(2 + place) for place, label in enumerate(labels[:10]))
