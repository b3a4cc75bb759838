"""Files with one score per line, as svm_rank, RankLib's scripts and LETOR's evaluation tools write them."""

from __future__ import annotations

import os
from typing import IO

import numpy as np

from plackett.data.columns import UTF8_MARK
from plackett.data.opening import name_of, open_bytes
from plackett.exceptions import DataFormatError


def read_scores(source: str | os.PathLike | IO) -> np.ndarray:
    """One number per line, in the order of the rows they belong to; plain or compressed, ``"-"`` for standard input.

    Blank lines may stand at the end only: elsewhere they would shift all that follows.
    """
    name = name_of(source)
    with open_bytes(source) as file:
        text = file.read().removeprefix(UTF8_MARK)
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if b"_" in text or b"\0" in text:  # Python reads 1_0 as ten, and numpy ends a text at a zero byte
        scores = _read_slowly(name, lines)
    else:
        try:
            scores = np.array(lines, dtype="S").astype(np.float64) if lines else np.zeros(0)
        except ValueError:
            scores = _read_slowly(name, lines)
    missing = np.isnan(scores)
    if missing.any():
        raise DataFormatError(name, int(np.argmax(missing)) + 1, "a NaN has no place in an order; expected a number.")
    return scores


def _read_slowly(name: str, lines: list[bytes]) -> np.ndarray:
    scores = np.empty(len(lines))
    for place, line in enumerate(lines):
        try:
            scores[place] = float(line.replace(b"_", b"?"))
        except ValueError:
            found = line.decode("utf-8", "replace").strip()[:60]
            raise DataFormatError(name, place + 1, f'expected one number, found "{found}".') from None
    return scores
