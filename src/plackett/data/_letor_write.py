"""Compiled writing of LETOR text: short decimals first, then whole lines."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from plackett.data._letor_numbers import BLANK, COLON, DOT, HASH, MINUS, NEWLINE, POWERS_OF_TEN

AS_TEXT = -1  # in ``places``: the number stands among the texts
_EXACT = 2.0**53


@njit(cache=True, nogil=True, error_model="numpy")
def decimals(numbers, digits, places):
    """Each number as ``digits / 10**places`` with the fewest places that give it back, as the reader computes it.

    Where 53 bits of digits or 22 places are not enough, ``places`` is AS_TEXT; how many there are is returned.
    """
    n_texts = 0
    for k in range(numbers.size):
        number = numbers[k]
        places[k] = AS_TEXT
        size = abs(float(number))  # NaN and infinity leave the loop at once
        for place in range(POWERS_OF_TEN.size):
            shifted = size * POWERS_OF_TEN[place]
            if not shifted < _EXACT:
                break
            whole = math.floor(shifted + 0.5)
            numbers[k] = whole / POWERS_OF_TEN[place]  # rounded as an array of this type rounds
            if numbers[k] == abs(number):
                digits[k], places[k] = np.int64(whole), place
                break
        numbers[k] = number
        n_texts += places[k] == AS_TEXT
    return n_texts


@njit(cache=True, nogil=True)
def _put_digits(out, at, digits, n_least):
    """Write a whole number with at least that many digits."""
    n, rest = 1, digits
    while rest >= 10:
        rest //= 10
        n += 1
    n = max(n, n_least)
    for k in range(n):
        out[uint64(at + n - 1 - k)] = 48 + digits % 10
        digits //= 10
    return at + n


@njit(cache=True, nogil=True)
def _put_text(out, at, buffer, start, stop):
    for k in range(stop - start):
        out[uint64(at + k)] = buffer[uint64(start + k)]
    return at + stop - start


@njit(cache=True, nogil=True)
def _put_number(out, at, number, digits, places):
    if math.copysign(1.0, number) < 0:
        out[at] = MINUS
        at += 1
    if places == 0:
        return _put_digits(out, at, digits, 1)
    end = _put_digits(out, at, digits, places + 1)
    for k in range(places):
        out[uint64(end - k)] = out[uint64(end - k - 1)]
    out[end - places] = DOT
    return end + 1


@njit(cache=True, nogil=True)
def write_lines(labels, values, pair_ptr, index, query, ids, id_bounds, notes, note_bounds, out):
    """Write rows; how many bytes they are.

    ``pair_ptr`` bounds the pairs of each row, ``query`` says whose id it has; empty ``note_bounds``: no comments.
    """
    digits, places, numbers = values.digits, values.places, values.numbers
    at, label_text, value_text = 0, 0, 0
    for row in range(query.size):
        if labels.places[row] >= 0:
            at = _put_number(out, at, labels.numbers[row], labels.digits[row], labels.places[row])
        else:
            at = _put_text(out, at, labels.texts, labels.bounds[label_text], labels.bounds[label_text + 1])
            label_text += 1
        for c in (32, 113, 105, 100, 58):  # " qid:"
            out[at] = c
            at += 1
        at = _put_text(out, at, ids, id_bounds[query[row]], id_bounds[query[row] + 1])
        for pair in range(pair_ptr[row], pair_ptr[row + 1]):
            out[at] = BLANK
            at = _put_digits(out, at + 1, index[pair], 1)
            out[at] = COLON
            at += 1
            if places[pair] >= 0:
                at = _put_number(out, at, numbers[pair], digits[pair], places[pair])
            else:
                at = _put_text(out, at, values.texts, values.bounds[value_text], values.bounds[value_text + 1])
                value_text += 1
        if note_bounds.size and note_bounds[row + 1] > note_bounds[row]:
            out[at], out[at + 1] = BLANK, HASH
            at = _put_text(out, at + 2, notes, note_bounds[row], note_bounds[row + 1])
        out[at] = NEWLINE
        at += 1
    return at
