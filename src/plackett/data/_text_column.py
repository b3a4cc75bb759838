"""Compiled search for document names in comments."""

from __future__ import annotations

import numpy as np
from numba import njit

_DOCID = np.frombuffer(b"docid", dtype=np.uint8)
_EQUALS = 61


@njit(cache=True, nogil=True)
def _is_blank(byte):
    """White space as ``str.strip`` knows it among the ASCII characters."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@njit(cache=True, nogil=True)
def _after_docid(buffer, start, stop):
    """The word behind ``docid =`` in a text without blanks around it; the whole text where there is none."""
    for k in range(_DOCID.size):
        if start + k >= stop or buffer[start + k] != _DOCID[k]:
            return start, stop
    at = start + _DOCID.size
    while at < stop and _is_blank(buffer[at]):
        at += 1
    if at == stop or buffer[at] != _EQUALS:
        return start, stop
    at += 1
    while at < stop and _is_blank(buffer[at]):
        at += 1
    if at == stop:
        return start, stop
    end = at
    while end < stop and not _is_blank(buffer[end]):
        end += 1
    return at, end


@njit(cache=True, nogil=True)
def docid_spans(buffer, bounds, spans):
    """Where in each text the document name stands; the start -1 for texts with other than ASCII characters.

    Returns the length of the longest name.
    """
    longest = 0
    for row in range(bounds.size - 1):
        start, stop = bounds[row], bounds[row + 1]
        spans[row, 0] = spans[row, 1] = -1
        is_ascii = True
        for k in range(start, stop):
            is_ascii = is_ascii and buffer[k] < 128
        if not is_ascii:
            continue
        while start < stop and _is_blank(buffer[start]):
            start += 1
        while stop > start and _is_blank(buffer[stop - 1]):
            stop -= 1
        start, stop = _after_docid(buffer, start, stop)
        spans[row, 0], spans[row, 1] = start, stop
        longest = max(longest, stop - start)
    return longest


@njit(cache=True, nogil=True)
def copy_spans(buffer, spans, characters):
    """Copy each span to its row of ``characters``, one code point per cell."""
    for row in range(spans.shape[0]):
        for k in range(spans[row, 1] - spans[row, 0]):
            characters[row, k] = buffer[spans[row, 0] + k]
