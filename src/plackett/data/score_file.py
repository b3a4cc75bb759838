"""Files with one score per line, as svm_rank, RankLib's scripts and LETOR's evaluation tools write them."""

from __future__ import annotations

import os
from typing import IO

import numpy as np

from plackett.data.columns import as_numbers, collect, read_words
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes


def read_scores(source: str | os.PathLike | IO) -> np.ndarray:
    """One number per line, in the order of the rows they belong to; plain or compressed, ``"-"`` for standard input.

    Blank lines may stand at the end only: elsewhere they would shift all that follows.
    """
    name = name_of(source)
    with open_bytes(source) as file:
        lines, (words,) = collect(read_words(file, 1, name=name, expected="score"), (0,))
    is_shifted = lines != np.arange(1, lines.size + 1)
    if is_shifted.any():
        line = int(np.argmax(is_shifted)) + 1
        raise DataFormatError(name, line, "expected one number, found a blank line or a comment.")
    scores = as_numbers(words, np.float64, lines, name=name, what="score")
    missing = np.isnan(scores)
    if missing.any():
        raise DataFormatError(name, int(np.argmax(missing)) + 1, "a NaN has no place in an order; expected a number.")
    return scores
